"""Many at once: exactly one wins, and the loser sees who did."""

import threading
from collections.abc import Callable
from dataclasses import replace

from cronce.domain.overlap import Lock
from cronce.domain.plan import Due
from cronce.domain.run import Run
from cronce.ports import Changed, Refused, Result
from support import samples as s
from support.stores import Engine

MANY = 24
KEY = s.a_key()


def at_once(work: Callable[[int], object], count: int = MANY) -> list[object]:
    gate = threading.Barrier(count)
    results: list[object] = [None] * count
    errors: list[BaseException] = []

    def run(n: int) -> None:
        try:
            gate.wait(30)
            results[n] = work(n)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    return results


def winner(results: list[object]) -> Run:
    """The one Changed; everybody else was shown the same row."""
    won = [r.run for r in results if isinstance(r, Changed)]
    assert len(won) == 1
    assert [r for r in results if isinstance(r, Refused)] == [Refused(won[0])] * (len(results) - 1)
    return won[0]


def test_one_of_many_claims_a_run(racing: Engine) -> None:
    results = at_once(lambda n: racing.store.claim(KEY, s.a_claim(f"owner-{n}"), now=s.AT))
    run = winner(results)
    assert run.attempt == 1
    assert racing.store.read_run(KEY) == run


def test_one_of_many_takes_an_expired_run_over(racing: Engine) -> None:
    first = racing.store.claim(KEY, s.a_claim(), now=s.AT).run
    assert first is not None
    results = at_once(
        lambda n: racing.store.take_over(
            KEY, s.a_claim(f"late-{n}", lease=99), seen=first, now=s.after(30)
        )
    )
    assert winner(results).attempt == 2


def test_zombie_against_the_one_who_takes_over(racing: Engine) -> None:
    """At the edge of the lease either may win, never both."""
    for n in range(20):
        key = s.a_key(n)
        seen = racing.store.claim(key, s.a_claim(), now=s.AT).run
        assert seen is not None
        c = s.a_claim("owner-2", lease=99)

        def work(i: int, key: object = key, seen: Run = seen, c: object = c) -> Result:
            if i:
                return racing.store.take_over(key, c, seen=seen, now=s.after(30))  # type: ignore[arg-type]
            return racing.store.succeed(key, "owner-1", s.an_ending(), now=s.after(30))  # type: ignore[arg-type]

        results = at_once(work, 2)
        winner(results)


def test_one_of_many_edits_a_version(racing: Engine) -> None:
    racing.store.create_job(s.a_job(), s.a_definition())
    edited = s.a_job(version=2)
    results = at_once(
        lambda n: racing.store.edit_job(
            s.a_job(), edited, s.a_definition(timeout=n + 1), replan=False
        )
    )
    assert results.count(True) == 1
    found = racing.store.read_job("report")
    assert found is not None
    assert found.definition.timeout == results.index(True) + 1


def test_edits_and_advances_lose_nothing_of_each_other(racing: Engine) -> None:
    """B61: each writes its own fields of the row."""
    racing.store.create_job(s.a_job(), s.a_definition())
    steps = 12

    def edit() -> int:
        done = 0
        while done < steps:
            found = racing.store.read_job("report")
            assert found is not None
            job = replace(found.job, version=found.job.version + 1, group=f"group-{done}")
            done += racing.store.edit_job(found.job, job, found.definition, replan=False)
        return done

    def advance() -> int:
        done = 0
        while done < steps:
            found = racing.store.read_job("report")
            assert found is not None
            assert found.job.next is not None
            at = s.after(60 * (done + 1))
            done += racing.store.advance(s.due_job(found.job), Due(at, at), runs_planned=done + 1)
        return done

    assert at_once(lambda n: advance() if n else edit(), 2) == [steps, steps]
    found = racing.store.read_job("report")
    assert found is not None
    job = found.job
    assert (job.version, job.group) == (1 + steps, f"group-{steps - 1}")
    assert (job.next, job.runs_planned) == (Due(s.after(60 * steps), s.after(60 * steps)), steps)


def test_many_creations_converge_on_one(racing: Engine) -> None:
    """B59: whoever is not first is told of the job that is."""
    results = at_once(
        lambda n: racing.store.create_job(s.a_job(uid=f"uid{n:05d}"), s.a_definition())
    )
    assert results.count(None) == 1
    found = racing.store.read_job("report")
    assert found is not None
    assert {job.uid for job in results if job} == {found.job.uid}  # type: ignore[attr-defined]


def test_many_triggers_of_one_client_id_converge_on_one(racing: Engine) -> None:
    results = at_once(
        lambda n: racing.store.trigger(
            s.a_key(n, trigger="m-once"), triggered_by=f"caller-{n}", now=s.after(n)
        )
    )
    run = winner(results)
    listed = racing.store.list_runs("report", limit=100).items
    assert list(listed) == [run]


def test_one_of_many_leads(racing: Engine) -> None:
    for slice_, now in ((0, 0), (0, 45), (1, 0)):
        leases = at_once(
            lambda n, slice_=slice_, now=now: racing.store.acquire_lease(
                slice_, f"tick-{now}-{n}", now=s.after(now), expires_at=s.after(now + 45), shards=16
            )
        )
        assert sum(lease is not None for lease in leases) == 1


def test_claims_noted_by_many_keep_the_latest(racing: Engine) -> None:
    lease = racing.store.acquire_lease(0, "tick-1", now=s.AT, expires_at=s.after(45), shards=16)
    assert lease is not None
    at_once(lambda n: racing.store.note_claimed(lease, s.after(n * 7 % MANY)))
    again = racing.store.acquire_lease(
        0, "tick-2", now=s.after(60), expires_at=s.after(99), shards=16
    )
    assert again is not None
    assert again.claimed_up_to == s.after(MANY - 1)


def test_one_of_many_writes_the_lock(racing: Engine) -> None:
    for version in (1, 2):
        locks = [Lock(s.UID, s.a_key(n), version=version) for n in range(MANY)]
        found = racing.store.read_lock("report")
        results = at_once(lambda n, f=found, k=locks: racing.store.write_lock("report", f, k[n]))
        assert results.count(True) == 1
        assert racing.store.read_lock("report") == locks[results.index(True)]


def test_attempts_of_many_workers_are_numbered_without_gaps(racing: Engine) -> None:
    """Everybody claims, fails and lets the next one try; the numbers are those of the claims."""
    attempts: list[int] = []
    note = threading.Lock()

    def work(n: int) -> None:
        for turn in range(200):
            owner = f"owner-{n}-{turn}"
            result = racing.store.claim(KEY, s.a_claim(owner), now=s.after(1))
            if isinstance(result, Changed):
                with note:
                    attempts.append(result.run.attempt)
                entry = s.an_entry(result.run.attempt)
                racing.store.retry(KEY, owner, entry, retry_at=s.after(1), in_index=False)
            if len(attempts) >= 30:
                return

    at_once(work, 6)
    assert sorted(attempts) == list(range(1, len(attempts) + 1))
    assert len(attempts) >= 30
