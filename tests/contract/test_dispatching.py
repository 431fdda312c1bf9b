"""The index, the lease and the records of the dispatcher."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.adapters.job_items import job_to_item
from cronce.adapters.wire import encode_item
from cronce.domain.identity import shard_of
from cronce.domain.job import Job
from cronce.domain.plan import Due
from cronce.ports import DueJob, DueRecord, DueRun, Lease
from cronce.testing.memory import MemoryStore
from support import calls
from support import samples as s
from support.stores import PAGE, Engine, memory_engine

ALL_SHARDS = range(s.SHARDS)


def put_jobs(engine: Engine, count: int, *, shard: int | None = None) -> list[Job]:
    """Rows as they would be, a millisecond apart in reverse order of their ids."""
    jobs = []
    for n in range(count):
        at = s.AT + timedelta(seconds=count - n)
        job = s.a_job(f"job-{n:05d}", next=Due(at, at))
        jobs.append(job if shard is None else replace(job, shard=shard))
        engine.rows.put(job_to_item(jobs[-1]))
    return jobs


class TestDue:
    def test_of_all_shards_oldest_first(self, engine: Engine) -> None:
        jobs = put_jobs(engine, 40)
        assert len({job.shard for job in jobs}) > 5
        found = list(engine.store.due(ALL_SHARDS, s.after(100)))
        assert found == [s.due_job(job) for job in reversed(jobs)]

    def test_up_to_and_including_the_instant(self, engine: Engine) -> None:
        job = s.a_job()
        engine.store.create_job(job, s.a_definition())
        before = s.AT - timedelta(milliseconds=1)
        assert list(engine.store.due(ALL_SHARDS, before)) == []
        assert list(engine.store.due(ALL_SHARDS, s.AT)) == [s.due_job(job)]

    def test_of_the_shards_asked_for(self, engine: Engine) -> None:
        jobs = put_jobs(engine, 40)
        mine = (0, 3, 7)
        found = {i.job_id for i in engine.store.due(mine, s.after(100)) if isinstance(i, DueJob)}
        assert found == {job.job_id for job in jobs if job.shard in mine}
        assert found

    def test_due_time_counts_and_not_the_occurrence(self, engine: Engine) -> None:
        job = s.a_job(next=Due(s.AT, s.after(29)))
        engine.store.create_job(job, s.a_definition())
        assert list(engine.store.due(ALL_SHARDS, s.after(28))) == []
        assert list(engine.store.due(ALL_SHARDS, s.after(29))) == [s.due_job(job)]

    def test_one_list_for_jobs_runs_and_records(self, engine: Engine) -> None:
        store = engine.store
        job = s.a_job(next=Due(s.after(3), s.after(3)))
        store.create_job(job, s.a_definition())
        store.trigger(s.a_key(trigger="m-1"), triggered_by="somebody", now=s.after(1))
        store.claim(s.a_key(1), s.a_claim(), now=s.AT)
        store.retry(s.a_key(1), "owner-1", s.an_entry(), retry_at=s.after(2), in_index=True)
        record = replace(s.a_record(), next_run=s.after(4))
        store.put_record(record)
        assert list(store.due(ALL_SHARDS, s.after(9))) == [
            DueRun(s.a_key(trigger="m-1"), s.after(1)),
            DueRun(s.a_key(1), s.after(2)),
            s.due_job(job),
            DueRecord(0, record.record_id, s.after(4)),
        ]

    def test_every_page_of_a_shard(self, engine: Engine) -> None:
        """B54: more than a page, and exactly a page, in one shard."""
        count = PAGE * 2
        jobs = put_jobs(engine, count, shard=5)
        for until in (PAGE, PAGE + 1, count):
            found = list(engine.store.due((5,), s.after(until)))
            assert found == [s.due_job(job) for job in reversed(jobs)][:until]

    def test_page_without_rows_is_not_the_last(self, table: Engine) -> None:
        """B54: an empty page with a key goes on; an empty key is none."""
        jobs = put_jobs(table, 3, shard=5)
        at = "2026-11-30T10:00:01.000Z"
        key = {"pk": "JOB#job-00002", "sk": "JOB", "shard": 5, "next_run": at}
        empty = {"Items": [], "LastEvaluatedKey": encode_item(key)}
        last = {"Items": [], "LastEvaluatedKey": {}}
        with calls.answering(table.client, "Query", empty, None) as given:
            found = list(table.store.due((5,), s.after(100)))
        assert len(given) == 1
        assert found == [s.due_job(job) for job in reversed(jobs[:2])]
        with calls.answering(table.client, "Query", last) as given:
            assert list(table.store.due((5,), s.after(100))) == []
        assert len(given) == 1

    def test_asks_each_shard_once_when_nothing_is_due(self, table: Engine) -> None:
        put_jobs(table, 30)
        with calls.logged(table.client) as made:
            assert list(table.store.due(ALL_SHARDS, s.AT)) == []
        assert [name for name, _ in made] == ["Query"] * s.SHARDS

    def test_page_is_fetched_when_its_turn_comes(self, table: Engine) -> None:
        put_jobs(table, PAGE + 2, shard=5)
        with calls.logged(table.client) as made:
            items = table.store.due(ALL_SHARDS, s.after(1000))
            for _ in range(PAGE):
                next(items)
            asked = len(made)
            rest = list(items)
        assert (asked, len(made), len(rest)) == (s.SHARDS, s.SHARDS + 1, 2)

    def test_row_that_moves_on_meanwhile_is_judged_by_the_row(self, engine: Engine) -> None:
        """B03: a stale index costs a refused write and nothing else."""
        job = s.a_job()
        engine.store.create_job(job, s.a_definition())
        [seen] = engine.store.due(ALL_SHARDS, s.AT)
        assert isinstance(seen, DueJob)
        assert engine.store.advance(seen, Due(s.after(60), s.after(60)), runs_planned=1)
        moved = Due(s.after(120), s.after(120))
        assert not engine.store.advance(seen, moved, runs_planned=1)


class TestLaggingIndex:
    """What no emulator shows, the store in memory does."""

    def test_shows_the_past_and_writes_the_present(self) -> None:
        engine = memory_engine()
        assert isinstance(engine.store, MemoryStore)
        engine.store.lag = timedelta(seconds=2)
        job = s.a_job()
        engine.store.create_job(job, s.a_definition())
        assert list(engine.store.due(ALL_SHARDS, s.AT)) == []
        engine.clock.advance(2)
        then = Due(s.after(60), s.after(60))
        assert engine.store.advance(s.due_job(job), then, runs_planned=1)
        assert list(engine.store.due(ALL_SHARDS, s.AT)) == [s.due_job(job)]
        found = engine.store.read_job("report")
        assert found is not None
        assert found.job.next == then
        engine.clock.advance(2)
        assert list(engine.store.due(ALL_SHARDS, s.AT)) == []

    def test_batch_reads_lag_too(self) -> None:
        engine = memory_engine()
        assert isinstance(engine.store, MemoryStore)
        engine.store.lag = timedelta(seconds=2)
        engine.store.claim(s.a_key(), s.a_claim(), now=s.AT)
        assert engine.store.read_runs([s.a_key()]) == {}
        assert engine.store.read_run(s.a_key()) is not None
        engine.clock.advance(2)
        assert set(engine.store.read_runs([s.a_key()])) == {s.a_key()}


class TestLease:
    def take(
        self, engine: Engine, owner: str, seconds: float, *, shards: int = 16, length: float = 45
    ) -> Lease | None:
        return engine.store.acquire_lease(
            0, owner, now=s.after(seconds), expires_at=s.after(seconds + length), shards=shards
        )

    def test_one_leader_until_its_very_end(self, engine: Engine) -> None:
        assert self.take(engine, "tick-1", 0) == Lease(0, "tick-1", 16)
        assert self.take(engine, "tick-2", 44.999) is None
        assert self.take(engine, "tick-2", 45) == Lease(0, "tick-2", 16)
        assert self.take(engine, "tick-1", 46) is None

    def test_that_ends_later_than_any_may_holds_nobody(self, engine: Engine) -> None:
        """B10: a dispatcher whose clock was eight hours ahead."""
        ahead = 8 * 3600
        assert self.take(engine, "tick-1", ahead)
        assert self.take(engine, "tick-2", 0) == Lease(0, "tick-2", 16)
        assert self.take(engine, "tick-3", 1) is None
        assert self.take(engine, "tick-4", 45, length=60) == Lease(0, "tick-4", 16)
        assert self.take(engine, "tick-5", 45) is None

    def test_each_slice_has_its_own(self, engine: Engine) -> None:
        assert self.take(engine, "tick-1", 0)
        other = engine.store.acquire_lease(1, "tick-2", now=s.AT, expires_at=s.after(45), shards=16)
        assert other == Lease(1, "tick-2", 16)

    @pytest.mark.parametrize(("shards", "stored"), [(8, 16), (16, 16), (32, 32)])
    def test_number_of_shards_only_grows(self, engine: Engine, shards: int, stored: int) -> None:
        self.take(engine, "tick-1", 0)
        assert self.take(engine, "tick-2", 60, shards=shards) == Lease(0, "tick-2", stored)
        assert self.take(engine, "tick-3", 120) == Lease(0, "tick-3", stored)

    def test_growing_waits_for_the_lease_like_everything(self, engine: Engine) -> None:
        self.take(engine, "tick-1", 0)
        assert self.take(engine, "tick-2", 1, shards=32) is None
        assert self.take(engine, "tick-2", 45) == Lease(0, "tick-2", 16)

    def test_is_one_write(self, table: Engine) -> None:
        self.take(table, "tick-1", 0)
        for shards in (16, 8):
            with calls.logged(table.client) as made:
                assert self.take(table, f"tick-{shards}", 60 * (20 - shards), shards=shards)
            assert [name for name, _ in made] == ["UpdateItem"]

    def test_remembers_the_latest_claim_and_never_an_earlier_one(self, engine: Engine) -> None:
        lease = self.take(engine, "tick-1", 0)
        assert lease is not None
        for seconds in (30, 20, 30, 40):
            engine.store.note_claimed(lease, s.after(seconds))
        engine.store.note_claimed(lease, s.after(10))
        assert self.take(engine, "tick-2", 60) == Lease(0, "tick-2", 16, s.after(40))


class TestRecords:
    def test_of_a_hundred_runs(self, engine: Engine) -> None:
        keys = [s.a_key(n, job_id=f"job-{n}", trigger="m-x" if n % 2 else "") for n in range(100)]
        record = s.a_record(*keys)
        engine.store.put_record(record)
        assert engine.store.read_record(0, record.record_id) == record

    def test_none(self, engine: Engine) -> None:
        assert engine.store.read_record(0, "2026-11-30T10:00:00.000Z#a1") is None

    def test_is_looked_at_by_one(self, engine: Engine) -> None:
        """Two dispatchers look at the same record; the second one's picture is of the past."""
        record = s.a_record(s.a_key(0), s.a_key(1))
        engine.store.put_record(record)
        first = replace(
            record, runs=record.runs[1:], counts={"succeeded": 1}, looks=1, next_run=s.after(500)
        )
        second = replace(record, looks=1, resent=2, next_run=s.after(600))
        assert engine.store.update_record(record, first)
        assert not engine.store.update_record(record, second)
        assert engine.store.read_record(0, record.record_id) == first
        assert list(engine.store.due((3,), s.after(600))) == [
            DueRecord(0, record.record_id, s.after(500))
        ]

    def test_ended_leaves_the_index_and_stays(self, engine: Engine) -> None:
        record = s.a_record()
        engine.store.put_record(record)
        done = replace(record, runs=(), counts={"failed": 1}, looks=3, resent=1, next_run=None)
        assert engine.store.update_record(record, done)
        assert engine.store.read_record(0, record.record_id) == done
        assert list(engine.store.due((3,), s.after(10**6))) == []

    def test_that_is_gone_is_not_made_again(self, engine: Engine) -> None:
        record = s.a_record()
        assert not engine.store.update_record(record, replace(record, looks=1))
        assert engine.rows.all() == []


def test_shard_of_what_is_written_by_the_store(engine: Engine) -> None:
    """A triggered run and a far retry lie where the dispatcher of that shard looks."""
    engine.store.trigger(s.a_key(trigger="m-1"), triggered_by="somebody", now=s.AT)
    [found] = engine.store.due((shard_of("report", s.SHARDS),), s.AT)
    assert found == DueRun(s.a_key(trigger="m-1"), s.AT)
