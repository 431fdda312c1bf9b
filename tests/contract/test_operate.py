"""What operators read, on every engine: in order, bounded by what is asked for, past what cannot
be read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import islice

import pytest

from cronce.domain.instants import to_wire
from cronce.domain.plan import Missed
from cronce.domain.record import DispatchRecord
from support import samples as s
from support.stores import Engine

DAY = timedelta(days=1)


def record_at(seconds: float, slice_: int = 0, token: str = "t") -> DispatchRecord:
    at = s.after(seconds)
    made = s.a_record(record_id=f"{to_wire(at)}#{token}")
    return replace(made, slice=slice_, dispatched_at=at)


def missed_at(engine: Engine, job_id: str, minute: int, recorded: float, count: int = 2) -> None:
    missed = Missed(s.after(60 * minute), s.after(60 * minute + 60), count, "skip", "missed")
    engine.store.put_missed(job_id, s.UID, missed, now=s.after(recorded), history=s.HISTORY)


def test_records_of_a_time_in_either_order(engine: Engine) -> None:
    records = [record_at(60 * n) for n in range(7)]
    for record in [*records, record_at(120, slice_=1)]:
        engine.store.put_record(record)
    seen = list(engine.store.records(0, s.after(60), s.after(300), latest_first=False))
    assert seen == records[1:6]
    assert list(engine.store.records(0, s.AT, s.after(360), latest_first=True)) == records[::-1]
    assert list(engine.store.records(0, s.after(61), s.after(119), latest_first=True)) == []
    assert list(engine.store.records(0, s.after(300), s.after(60), latest_first=True)) == []
    first = engine.store.records(0, s.AT, s.after(360), latest_first=True)
    assert list(islice(first, 1)) == records[6:]


def test_the_records_of_one_instant(engine: Engine) -> None:
    both = [record_at(0.25, token="a"), record_at(0.25, token="b")]
    for record in (*both, record_at(0.251), record_at(0.249)):
        engine.store.put_record(record)
    at = s.after(0.25)
    assert list(engine.store.records(0, at, at, latest_first=False)) == both


def test_what_a_record_counted_is_kept(engine: Engine) -> None:
    record = record_at(0)
    engine.store.put_record(record)
    counted = replace(record, runs=(), next_run=None, counts={"failed": 1}, lateness={"100": 1})
    assert engine.store.update_record(record, counted)
    (seen,) = engine.store.records(0, s.AT, s.AT, latest_first=True)
    assert seen == counted


def test_the_last_tick(engine: Engine) -> None:
    assert engine.store.read_tick(0) is None
    ends = s.after(45)
    lease = engine.store.acquire_lease(0, "me", now=s.AT, expires_at=ends, shards=16)
    assert lease is not None
    engine.store.note_claimed(lease, s.after(-10))
    seen = engine.store.read_tick(0)
    assert seen is not None
    assert (seen.slice, seen.lease_expires_at, seen.claimed_up_to) == (0, ends, s.after(-10))
    assert engine.store.read_tick(1) is None


def test_what_a_job_missed(engine: Engine) -> None:
    for minute in range(3):
        missed_at(engine, "report", minute, recorded=0)
    missed_at(engine, "other", 0, recorded=0)
    seen = list(engine.store.missed_of("report"))
    assert [m.missed.first for m in seen] == [s.after(120), s.after(60), s.after(0)]
    assert {(m.job_id, m.uid, m.recorded_at) for m in seen} == {("report", s.UID, s.AT)}
    assert list(engine.store.missed_of("nobody")) == []


def test_what_was_missed_by_anybody_since_when(engine: Engine) -> None:
    for n in range(5):
        missed_at(engine, f"job-{n}", n, recorded=60 * n)
    missed_at(engine, "yesterday", 0, recorded=-86_400)
    seen = [m.job_id for m in engine.store.missed_between(s.after(60), s.after(180))]
    assert seen == ["job-3", "job-2", "job-1"]
    two_days = engine.store.missed_between(s.AT - 2 * DAY, s.AT)
    assert [m.job_id for m in two_days] == ["job-0", "yesterday"]
    assert list(engine.store.missed_between(s.after(9_000), s.after(9_999))) == []
    with pytest.raises(ValueError, match="at most 60"):
        list(engine.store.missed_between(s.AT - 61 * DAY, s.AT))


def test_missed_counts_are_no_runs_that_need_attention(engine: Engine) -> None:
    missed_at(engine, "report", 0, recorded=0)
    page = engine.store.list_attention(earliest=s.AT - DAY, latest=s.AT + DAY, limit=10)
    assert page.items == ()
    assert page.cursor is None or page.cursor


def test_a_count_that_is_written_again_moves_in_the_listing(engine: Engine) -> None:
    missed_at(engine, "report", 0, recorded=0, count=5)
    missed_at(engine, "report", 0, recorded=86_400, count=3)
    (seen,) = engine.store.missed_between(s.AT, s.AT + 2 * DAY)
    assert (seen.missed.count, seen.recorded_at) == (3, s.AT + DAY)


def test_rows_of_a_newer_release_are_passed_over(engine: Engine) -> None:
    engine.store.put_record(record_at(0))
    missed_at(engine, "report", 0, recorded=0)
    lease = engine.store.acquire_lease(0, "me", now=s.AT, expires_at=s.after(45), shards=16)
    assert lease is not None
    for row in engine.rows.all():
        engine.rows.put({**row, "v": 9})
    assert list(engine.store.records(0, s.AT, s.AT, latest_first=True)) == []
    assert list(engine.store.missed_of("report")) == []
    assert list(engine.store.missed_between(s.AT, s.AT)) == []
    assert engine.store.read_tick(0) is None


def test_a_run_keeps_when_it_was_dispatched_first(engine: Engine) -> None:
    key = s.a_key()
    first = replace(s.a_claim(), dispatched_at=s.after(-180))
    engine.store.claim(key, first, now=s.AT)
    seen = engine.store.read_run(key)
    assert seen is not None
    again = replace(s.a_claim("owner-2", lease=90), dispatched_at=s.after(20))
    engine.store.take_over(key, again, seen=seen, now=s.after(31))
    run = engine.store.read_run(key)
    assert run is not None
    assert (run.attempt, run.dispatched_at) == (2, s.after(-180))
