"""Who owns an attempt: B01, B04, B06, B11, and the edge of the lease."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cronce.domain.identity import RunKey
from cronce.domain.instants import epoch_seconds
from cronce.domain.run import Entry, Run
from cronce.ports import Changed, Refused, Result
from support import samples as s
from support.stores import Engine

KEY = s.a_key()
MS = 0.001


def run_of(result: Result) -> Run:
    assert isinstance(result, Changed), result
    return result.run


def claimed(engine: Engine, owner: str = "owner-1", lease: float = 30) -> Run:
    return run_of(engine.store.claim(KEY, s.a_claim(owner, lease=lease), now=s.AT))


def test_first_claim_makes_the_row(engine: Engine) -> None:
    run = claimed(engine)
    c = s.a_claim()
    assert run == Run(
        KEY,
        "running",
        due=s.AT,
        attempt=1,
        owner="owner-1",
        message_id=c.message_id,
        lease_expires_at=s.after(30),
        started_at=s.AT,
        log=c.log,
    )
    assert engine.store.read_run(KEY) == run


def test_second_claimant_sees_who_was_first(engine: Engine) -> None:
    first = claimed(engine)
    assert engine.store.claim(KEY, s.a_claim("owner-2"), now=s.after(1)) == Refused(first)
    assert engine.store.read_run(KEY) == first


def test_claim_never_takes_a_running_row_even_expired(engine: Engine) -> None:
    """Only `take_over` does, which the worker runs alone, after the rest of its batch."""
    first = claimed(engine)
    refused = engine.store.claim(KEY, s.a_claim("owner-2"), now=s.after(3600))
    assert refused == Refused(first)


def test_claim_leaves_an_ended_run_alone(engine: Engine) -> None:
    """B06: what makes a run unique is its row, which outlives every lease."""
    claimed(engine)
    ended = run_of(engine.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(1)))
    assert engine.store.claim(KEY, s.a_claim("owner-2"), now=s.after(2)) == Refused(ended)


def test_row_past_its_expiry_is_still_a_row(engine: Engine) -> None:
    """B11: the table removes what has expired some day; until then it is as ended as before."""
    claimed(engine)
    ended = run_of(engine.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(1)))
    assert ended.expires_at == epoch_seconds(s.after(1)) + s.HISTORY
    late = s.after(s.HISTORY + 7200)
    assert engine.store.claim(KEY, s.a_claim("owner-2"), now=late) == Refused(ended)


@pytest.mark.parametrize(
    ("seconds", "taken"), [(30 - MS, False), (30, True), (30 + MS, True)], ids=str
)
def test_lease_has_expired_at_the_very_instant_it_ends(
    engine: Engine, seconds: float, *, taken: bool
) -> None:
    seen = claimed(engine, lease=30)
    c = s.a_claim("owner-2", lease=90)
    result = engine.store.take_over(KEY, c, seen=seen, now=s.after(seconds))
    assert isinstance(result, Changed) is taken
    row = engine.store.read_run(KEY)
    assert row is not None
    assert (row.attempt, row.owner) == ((2, "owner-2") if taken else (1, "owner-1"))


@pytest.mark.parametrize(("seconds", "claims"), [(10 - MS, False), (10, True)], ids=str)
def test_retry_is_due_at_the_very_instant(engine: Engine, seconds: float, *, claims: bool) -> None:
    claimed(engine)
    engine.store.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(10), in_index=False)
    result = engine.store.claim(KEY, s.a_claim("owner-2", lease=60), now=s.after(seconds))
    assert isinstance(result, Changed) is claims


def test_take_over_notes_the_lost_attempt(engine: Engine) -> None:
    seen = claimed(engine)
    run = run_of(
        engine.store.take_over(KEY, s.a_claim("owner-2", lease=90), seen=seen, now=s.after(31))
    )
    assert (run.attempt, run.started_at) == (2, s.after(31))
    assert [(e.attempt, e.outcome) for e in run.entries] == [(1, "lost")]
    assert (run.entries[0].started_at, run.entries[0].finished_at) == (s.AT, s.after(31))


def test_take_over_of_the_attempt_that_was_seen_only(engine: Engine) -> None:
    """Two workers saw the first lease expire; the slower one must not take the second attempt."""
    seen = claimed(engine)
    second = run_of(
        engine.store.take_over(KEY, s.a_claim("owner-2", lease=60), seen=seen, now=s.after(31))
    )
    late = engine.store.take_over(KEY, s.a_claim("owner-3", lease=99), seen=seen, now=s.after(61))
    assert late == Refused(second)


def test_take_over_needs_a_row(engine: Engine) -> None:
    seen = replace(Run(KEY, "running", s.AT), attempt=1, lease_expires_at=s.AT)
    result = engine.store.take_over(KEY, s.a_claim(), seen=seen, now=s.after(1))
    assert result == Refused(None)


def test_renewal_moves_the_lease(engine: Engine) -> None:
    seen = claimed(engine)
    renewed = run_of(engine.store.renew(KEY, "owner-1", s.after(60)))
    assert renewed == replace(seen, lease_expires_at=s.after(60))
    late = engine.store.take_over(KEY, s.a_claim("owner-2"), seen=seen, now=s.after(31))
    assert late == Refused(renewed)


def test_zombie_changes_nothing(engine: Engine) -> None:
    """B04: the old worker wakes up after its lease was taken over; the row stays byte-equal."""
    store, seen = engine.store, claimed(engine)
    store.take_over(KEY, s.a_claim("owner-2", lease=99), seen=seen, now=s.after(31))
    before = engine.rows.all()
    held = store.read_run(KEY)
    now = s.after(40)
    writes = [
        store.renew(KEY, "owner-1", s.after(120)),
        store.succeed(KEY, "owner-1", s.an_ending(), now=now),
        store.fail(KEY, "owner-1", s.an_entry(), s.an_ending("http_500"), now=now),
        store.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(50), in_index=False),
        store.concede(KEY, "owner-1", s.an_ending("missed"), now=now),
        store.lose(KEY, s.an_ending("lost"), seen=seen, now=now),
        store.cancel(KEY, s.AT, s.an_ending("gone"), by_request=False, now=now),
    ]
    assert writes == [Refused(held)] * len(writes)
    assert engine.rows.all() == before
    won = run_of(store.succeed(KEY, "owner-2", s.an_ending(), now=now))
    assert (won.status, won.attempt) == ("succeeded", 2)


def test_zombie_is_refused_where_the_other_ended_it_alike(engine: Engine) -> None:
    """What it finds looks like what it would have written, and is not its own."""
    store = engine.store
    for n, status in enumerate(("succeeded", "failed", "retrying", "missed")):
        key, now = s.a_key(n), s.after(40)
        seen = run_of(store.claim(key, s.a_claim(), now=s.AT))
        store.take_over(key, s.a_claim("owner-2", lease=99), seen=seen, now=s.after(31))

        def end(owner: str, key: RunKey = key, now: datetime = now, status: str = status) -> Result:
            e, entry = s.an_ending("code"), s.an_entry(2)
            if status == "succeeded":
                return store.succeed(key, owner, e, now=now)
            if status == "failed":
                return store.fail(key, owner, entry, e, now=now)
            if status == "missed":
                return store.concede(key, owner, e, now=now)
            return store.retry(key, owner, entry, retry_at=now, in_index=False)

        ended = run_of(end("owner-2"))
        assert ended.status == status
        assert end("owner-1") == Refused(ended)


def test_other_endings_are_told_apart(engine: Engine) -> None:
    """Without an owner: by what was written, to the millisecond."""
    store, e = engine.store, s.an_ending("late", "too late")
    first = run_of(store.skip(KEY, s.AT, e, now=s.after(1)))
    assert store.skip(KEY, s.AT, e, now=s.after(1)) == Changed(first)
    others = [
        store.skip(KEY, s.AT, e, now=s.after(1.001)),
        store.skip(KEY, s.AT, s.an_ending("late", "later"), now=s.after(1)),
        store.skip(KEY, s.AT, s.an_ending("old", "too late"), now=s.after(1)),
        store.miss(KEY, s.AT, e, now=s.after(1)),
        store.cancel(KEY, s.AT, e, by_request=True, now=s.after(1)),
    ]
    assert others == [Refused(first)] * len(others)


def test_other_redrives_are_told_apart(engine: Engine) -> None:
    store = engine.store
    claimed(engine)
    store.fail(KEY, "owner-1", s.an_entry(), s.an_ending("no"), now=s.after(1))
    first = run_of(store.redrive(KEY, triggered_by="somebody", now=s.after(2)))
    assert store.redrive(KEY, triggered_by="another", now=s.after(2)) == Refused(first)
    assert store.redrive(KEY, triggered_by="somebody", now=s.after(3)) == Refused(first)


@pytest.mark.parametrize("owner", ["", "owner"])
def test_token_must_be_the_whole_token(engine: Engine, owner: str) -> None:
    held = claimed(engine)
    assert engine.store.succeed(KEY, owner, s.an_ending(), now=s.after(1)) == Refused(held)


def test_cancelled_run_has_no_owner_that_could_complete(engine: Engine) -> None:
    claimed(engine)
    e = s.an_ending("request")
    gone = run_of(engine.store.cancel(KEY, s.AT, e, by_request=True, now=s.after(2)))
    assert (gone.status, gone.owner) == ("cancelled", "")
    assert engine.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(3)) == Refused(gone)
    assert engine.store.succeed(KEY, "", s.an_ending(), now=s.after(3)) == Refused(gone)
    assert engine.store.renew(KEY, "owner-1", s.after(60)) == Refused(gone)


def test_due_time_of_the_row_outlives_the_messages(engine: Engine) -> None:
    """A message sent for a redrive says when that was due, not the run."""
    claimed(engine)
    engine.store.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(10), in_index=False)
    c = s.a_claim("owner-2", lease=60, due=s.after(10))
    assert run_of(engine.store.claim(KEY, c, now=s.after(10))).due == s.AT


def test_sub_millisecond_leases_are_kept_in_milliseconds(engine: Engine) -> None:
    c = replace(s.a_claim(), lease_expires_at=s.after(30) + timedelta(microseconds=900))
    run = run_of(engine.store.claim(KEY, c, now=s.AT + timedelta(microseconds=999)))
    assert (run.lease_expires_at, run.started_at) == (s.after(30), s.AT)


def test_attempts_go_on_through_everything(engine: Engine) -> None:
    """The fence never sees a number twice, whatever happens to a run."""
    store, attempts, owners = engine.store, [], iter(map(str, range(20)))
    at = 0.0

    def take(seen: Run | None = None) -> Run:
        c = replace(s.a_claim(next(owners)), lease_expires_at=s.after(at + 30))
        now = s.after(at)
        result = (
            store.take_over(KEY, c, seen=seen, now=now) if seen else store.claim(KEY, c, now=now)
        )
        attempts.append(run_of(result).attempt)
        return run_of(result)

    run = take()
    at = 30
    run = take(seen=run)
    store.retry(KEY, run.owner, s.an_entry(2), retry_at=s.after(40), in_index=False)
    at = 40
    run = take()
    store.fail(KEY, run.owner, s.an_entry(3), s.an_ending("http_500"), now=s.after(41))
    redriven = run_of(store.redrive(KEY, triggered_by="somebody", now=s.after(50)))
    assert (redriven.attempt, redriven.base) == (3, 3)
    at = 50
    take()
    assert attempts == [1, 2, 3, 4]


def test_entries_are_the_last_twenty(engine: Engine) -> None:
    store = engine.store
    for n in range(1, 24):
        store.claim(KEY, s.a_claim(f"owner-{n}"), now=s.after(n))
        entry = Entry(n, "failed", "http_500", "x" * 512, s.after(n), s.after(n))
        store.retry(KEY, f"owner-{n}", entry, retry_at=s.after(n), in_index=False)
    run = store.read_run(KEY)
    assert run is not None
    assert [e.attempt for e in run.entries] == list(range(4, 24))
    last = store.claim(KEY, s.a_claim("owner-24"), now=s.after(30))
    entry = s.an_entry(24)
    done = run_of(store.fail(KEY, "owner-24", entry, s.an_ending("no"), now=s.after(31)))
    assert run_of(last).attempt == 24
    assert [e.attempt for e in done.entries] == list(range(5, 25))
