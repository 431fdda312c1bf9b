"""How runs end, and how they come back: skip, miss, cancel, redrive, triggers."""

from dataclasses import replace

import pytest

from cronce import limits
from cronce.adapters.items import job_pk, run_sk
from cronce.domain.instants import epoch_seconds
from cronce.domain.run import ATTENTION, Run
from cronce.ports import Changed, DueRun, Refused, Result
from support import samples as s
from support.stores import Engine

KEY = s.a_key()
ALL_SHARDS = range(s.SHARDS)


def run_of(result: Result) -> Run:
    assert isinstance(result, Changed), result
    return result.run


def row(engine: Engine, run: Run) -> dict[str, object]:
    found = engine.rows.get(job_pk(run.key.job_id), run_sk(run.key))
    assert found is not None
    return found


class TestUnrun:
    @pytest.mark.parametrize("status", ["skipped", "missed", "cancelled"])
    def test_ends_without_ever_having_been_claimed(self, engine: Engine, status: str) -> None:
        e, now = s.an_ending("late", "too late"), s.after(9)
        moves = {
            "skipped": lambda: engine.store.skip(KEY, s.after(1), e, now=now),
            "missed": lambda: engine.store.miss(KEY, s.after(1), e, now=now),
            "cancelled": lambda: engine.store.cancel(KEY, s.after(1), e, by_request=False, now=now),
        }
        run = run_of(moves[status]())
        assert run == Run(
            KEY,
            status,  # type: ignore[arg-type]
            due=s.after(1),
            finished_at=now,
            code="late",
            detail="too late",
            expires_at=epoch_seconds(now) + s.HISTORY,
        )
        assert engine.store.claim(KEY, s.a_claim(), now=now) == Refused(run)

    @pytest.mark.parametrize("move", ["skip", "miss"])
    def test_only_what_nobody_began(self, engine: Engine, move: str) -> None:
        held = run_of(engine.store.claim(KEY, s.a_claim(), now=s.AT))
        write = getattr(engine.store, move)
        assert write(KEY, s.AT, s.an_ending("late"), now=s.after(99)) == Refused(held)

    def test_pending_row_keeps_its_due_time(self, engine: Engine) -> None:
        key = s.a_key(trigger="b-fill")
        engine.store.trigger(key, triggered_by="somebody", now=s.after(7))
        run = run_of(engine.store.skip(key, s.AT, s.an_ending("late"), now=s.after(9)))
        assert (run.due, run.triggered_by) == (s.after(7), "somebody")


class TestCancel:
    @pytest.mark.parametrize(
        ("by_request", "seconds", "done"),
        [(False, 29.999, False), (False, 30, True), (True, 1, True)],
    )
    def test_from_under_a_live_owner_only_by_request(
        self, engine: Engine, *, by_request: bool, seconds: float, done: bool
    ) -> None:
        engine.store.claim(KEY, s.a_claim(lease=30), now=s.AT)
        result = engine.store.cancel(
            KEY, s.AT, s.an_ending("gone"), by_request=by_request, now=s.after(seconds)
        )
        assert isinstance(result, Changed) is done

    @pytest.mark.parametrize("in_index", [False, True])
    def test_from_retrying(self, engine: Engine, *, in_index: bool) -> None:
        engine.store.claim(KEY, s.a_claim(), now=s.AT)
        engine.store.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(9000), in_index=in_index)
        e = s.an_ending("gone")
        run = run_of(engine.store.cancel(KEY, s.AT, e, by_request=False, now=s.after(2)))
        assert (run.status, run.retry_at, run.indexed_at) == ("cancelled", None, None)
        assert list(engine.store.due(ALL_SHARDS, s.after(9999))) == []

    def test_an_ended_run_stays_as_it_ended(self, engine: Engine) -> None:
        engine.store.claim(KEY, s.a_claim(), now=s.AT)
        done = run_of(engine.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(1)))
        e = s.an_ending("gone")
        late = engine.store.cancel(KEY, s.AT, e, by_request=True, now=s.after(2))
        assert late == Refused(done)


class TestAttention:
    """What an operator looks for lies in an index; a success pays nothing for it."""

    def test_has_a_day_when_it_ended_badly(self, engine: Engine) -> None:
        store, now = engine.store, s.after(5)
        runs = {}
        for n, status in enumerate(("succeeded", "failed", "skipped", "missed", "cancelled")):
            key = s.a_key(n)
            if status in ("succeeded", "failed"):
                store.claim(key, s.a_claim(), now=s.AT)
            runs[status] = {
                "succeeded": lambda k: store.succeed(k, "owner-1", s.an_ending(), now=now),
                "failed": lambda k: store.fail(
                    k, "owner-1", s.an_entry(), s.an_ending("no"), now=now
                ),
                "skipped": lambda k: store.skip(k, s.AT, s.an_ending("late"), now=now),
                "missed": lambda k: store.miss(k, s.AT, s.an_ending("old"), now=now),
                "cancelled": lambda k: store.cancel(
                    k, s.AT, s.an_ending("gone"), by_request=False, now=now
                ),
            }[status](key)
        for status, result in runs.items():
            item = row(engine, run_of(result))
            assert ("day" in item) is (status in ATTENTION), status
            assert item["finished_at"] == "2026-11-30T10:00:05.000Z"
            assert isinstance(item["expires_at"], int)

    def test_redrive_takes_it_out_again(self, engine: Engine) -> None:
        engine.store.claim(KEY, s.a_claim(), now=s.AT)
        engine.store.fail(KEY, "owner-1", s.an_entry(), s.an_ending("no"), now=s.after(1))
        run = run_of(engine.store.redrive(KEY, triggered_by="somebody", now=s.after(9)))
        item = row(engine, run)
        assert {"day", "finished_at", "expires_at", "code", "detail"}.isdisjoint(item)
        assert run == Run(
            KEY,
            "retrying",
            due=s.AT,
            attempt=1,
            base=1,
            owner="owner-1",
            message_id=s.a_claim().message_id,
            retry_at=s.after(9),
            started_at=s.AT,
            entries=(s.an_entry(),),
            log=s.a_claim().log,
            triggered_by="somebody",
            redriven_at=s.after(9),
            indexed_at=s.after(9),
            shard=s.a_job().shard,
        )
        assert list(engine.store.due(ALL_SHARDS, s.after(9))) == [DueRun(KEY, s.after(9))]

    @pytest.mark.parametrize("status", ["running", "succeeded", "skipped"])
    def test_only_a_failed_run_is_redriven(self, engine: Engine, status: str) -> None:
        if status == "skipped":
            engine.store.skip(KEY, s.AT, s.an_ending("late"), now=s.after(1))
        else:
            engine.store.claim(KEY, s.a_claim(), now=s.AT)
        if status == "succeeded":
            engine.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(1))
        result = engine.store.redrive(KEY, triggered_by="somebody", now=s.after(9))
        assert isinstance(result, Refused)
        assert result.run is not None
        assert result.run.status == status


class TestExpiry:
    def test_nothing_open_ever_has_one(self, engine: Engine) -> None:
        """B11: epoch seconds, from the end of a run on."""
        store = engine.store
        store.create_job(s.a_job(), s.a_definition())
        store.put_record(s.a_record())
        store.acquire_lease(0, "tick-1", now=s.AT, expires_at=s.after(45), shards=16)
        store.trigger(s.a_key(1, trigger="b-fill"), triggered_by="somebody", now=s.AT)
        store.claim(KEY, s.a_claim(), now=s.AT)
        store.claim(s.a_key(2), s.a_claim("owner-2"), now=s.AT)
        store.retry(s.a_key(2), "owner-2", s.an_entry(), retry_at=s.after(9), in_index=True)
        rows = engine.rows.all()
        assert len(rows) == 7
        assert [r for r in rows if "expires_at" in r] == []

    def test_of_a_record_begins_when_its_last_run_has_ended(self, engine: Engine) -> None:
        record = s.a_record()
        engine.store.put_record(record)
        done = replace(record, runs=(), counts={"succeeded": 1}, looks=1, next_run=None)
        assert engine.store.update_record(record, done)
        assert record.next_run is not None
        item = engine.rows.get("DISPATCH#0", record.record_id)
        assert item is not None
        assert item["expires_at"] == epoch_seconds(record.next_run) + limits.HISTORY_DEFAULT


class TestTrigger:
    def test_lies_in_the_index_from_its_first_write(self, engine: Engine) -> None:
        key = s.a_key(trigger="m-once")
        run = run_of(engine.store.trigger(key, triggered_by="somebody", now=s.after(3.5)))
        assert (run.status, run.due, run.indexed_at) == ("pending", s.after(3.5), s.after(3.5))
        assert list(engine.store.due(ALL_SHARDS, s.after(4))) == [DueRun(key, s.after(3.5))]

    def test_same_client_id_finds_the_first_run(self, engine: Engine) -> None:
        first = s.a_key(trigger="m-once")
        run = run_of(engine.store.trigger(first, triggered_by="somebody", now=s.AT))
        again = engine.store.trigger(
            s.a_key(5, trigger="m-once"), triggered_by="another", now=s.after(300)
        )
        assert again == Refused(run)
        assert engine.store.read_run(s.a_key(5, trigger="m-once")) is None

    def test_finds_it_as_it_is_by_now(self, engine: Engine) -> None:
        key = s.a_key(trigger="m-once")
        engine.store.trigger(key, triggered_by="somebody", now=s.AT)
        engine.store.claim(key, s.a_claim(), now=s.after(1))
        done = run_of(engine.store.succeed(key, "owner-1", s.an_ending(), now=s.after(2)))
        again = engine.store.trigger(
            s.a_key(1, trigger="m-once"), triggered_by="somebody", now=s.after(60)
        )
        assert again == Refused(done)

    def test_client_id_is_forgotten_at_its_expiry_whether_removed_or_not(
        self, engine: Engine
    ) -> None:
        """B11: the condition looks at the expiry, since the row may lie about for days."""
        first, second = s.a_key(trigger="m-once"), s.a_key(5, trigger="m-once")
        engine.store.trigger(first, triggered_by="somebody", now=s.AT)
        kept = limits.HISTORY[0]
        at_last = engine.store.trigger(second, triggered_by="x", now=s.after(kept - 1))
        assert isinstance(at_last, Refused)
        forgotten = engine.store.trigger(second, triggered_by="x", now=s.after(kept))
        assert isinstance(forgotten, Changed)

    def test_of_another_uid_is_another(self, engine: Engine) -> None:
        first = s.a_key(trigger="m-once")
        engine.store.trigger(first, triggered_by="somebody", now=s.AT)
        other = replace(first, uid="another1")
        assert isinstance(engine.store.trigger(other, triggered_by="somebody", now=s.AT), Changed)

    def test_backfill_has_a_run_for_each_occurrence(self, engine: Engine) -> None:
        keys = [s.a_key(n, trigger="b-may") for n in range(3)]
        for key in keys:
            run_of(engine.store.trigger(key, triggered_by="somebody", now=s.AT))
        again = engine.store.trigger(keys[0], triggered_by="another", now=s.after(9))
        assert isinstance(again, Refused)
        assert again.run is not None
        assert again.run.triggered_by == "somebody"

    def test_claim_takes_it_out_of_the_index(self, engine: Engine) -> None:
        key = s.a_key(trigger="m-once")
        engine.store.trigger(key, triggered_by="somebody", now=s.AT)
        run = run_of(engine.store.claim(key, s.a_claim(), now=s.after(1)))
        assert (run.indexed_at, run.shard) == (None, None)
        assert list(engine.store.due(ALL_SHARDS, s.after(60))) == []

    def test_dispatched_takes_it_out_at_that_instant_only(self, engine: Engine) -> None:
        key = s.a_key(trigger="m-once")
        engine.store.trigger(key, triggered_by="somebody", now=s.AT)
        assert not engine.store.dispatched(DueRun(key, s.after(1)))
        assert list(engine.store.due(ALL_SHARDS, s.AT)) == [DueRun(key, s.AT)]
        assert engine.store.dispatched(DueRun(key, s.AT))
        assert list(engine.store.due(ALL_SHARDS, s.after(60))) == []
        run = engine.store.read_run(key)
        assert run is not None
        assert run.status == "pending"
