"""Listings over all jobs: every store shows each job, and each run that ended badly, once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from cronce.domain.errors import Invalid
from cronce.domain.identity import RunKey
from cronce.domain.job import Definition, Job, JobStatus, make_plan
from cronce.domain.plan import Due, Misfire
from cronce.domain.run import Run
from cronce.domain.schedule import parse_schedule
from cronce.domain.transitions import Ending
from support.stores import NOW, Engine

SCHEDULE = parse_schedule("0 9 * * *", now=NOW)
DEFINITION = Definition(document={"target": {}}, target={})
DAY = timedelta(days=1)


def put(engine: Engine, job_id: str, group: str = "g", status: JobStatus = "active") -> None:
    job = Job(
        job_id,
        "aaaaaaaa",
        1,
        1,
        status,
        make_plan(SCHEDULE, Misfire()),
        3,
        NOW,
        Due(NOW, NOW) if status == "active" else None,
        group=group,
    )
    assert engine.store.create_job(job, DEFINITION) is None


def jobs(engine: Engine, limit: int, **asked: Any) -> list[str]:
    return [job.job_id for job in walk(engine.store.list_jobs, limit, **asked)]


def runs(engine: Engine, limit: int, **asked: Any) -> list[str]:
    given = {"earliest": NOW - 140 * DAY, "latest": NOW + DAY, **asked}
    return [run.key.trigger for run in walk(engine.store.list_attention, limit, **given)]


def walk(listing: Any, limit: int, **asked: Any) -> Iterator[Any]:
    cursor = None
    for _ in range(400):
        page = listing(limit=limit, cursor=cursor, **asked)
        assert len(page.items) <= limit
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
    raise AssertionError("no end")


def skipped(engine: Engine, name: str, at: datetime, job_id: str = "a") -> RunKey:
    key = RunKey(job_id, "aaaaaaaa", at.replace(microsecond=0), f"m-{name}")
    engine.store.skip(key, at, Ending("late", "", 86_400), now=at)
    return key


@pytest.mark.parametrize("limit", [1, 2, 6, 7, 100])
def test_each_job_once(engine: Engine, limit: int) -> None:
    names = [f"j{n}" for n in range(7)]
    for n, name in enumerate(names):
        put(engine, name, group="odd" if n % 2 else "even")
    assert sorted(jobs(engine, limit)) == names
    assert jobs(engine, limit, group="odd") == ["j1", "j3", "j5"]
    assert jobs(engine, limit, group="none") == []


def test_filters_look_behind_pages_that_hold_nothing(engine: Engine) -> None:
    """B54: 110 keys, of which the first 100 are filtered away."""
    for n in range(110):
        put(engine, f"j{n:03d}", status="paused" if n >= 100 else "active")
    assert len(jobs(engine, 100, status="paused", group="g")) == 10
    assert len(jobs(engine, 3, status="paused", group="g")) == 10
    assert len(jobs(engine, 110)) == 110


def test_a_page_that_is_just_full_has_no_other(engine: Engine) -> None:
    for n in range(4):
        put(engine, f"j{n}")
    assert engine.store.list_jobs(group="g", limit=4).cursor is None
    assert engine.store.list_jobs(limit=4).cursor is None
    assert engine.store.list_jobs(group="g", limit=3).cursor is not None


def test_what_is_gone_or_broken_is_passed_over(engine: Engine) -> None:
    for name in "abc":
        put(engine, name)
    row = next(row for row in engine.rows.all() if row.get("job_id") == "b")
    engine.rows.put({**row, "generation": "many"})
    assert jobs(engine, 1, group="g") == ["a", "c"]
    engine.rows.put({**row, "v": 99})
    assert sorted(jobs(engine, 1)) == ["a", "c"]


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_each_run_once_the_last_one_first(engine: Engine, limit: int) -> None:
    ended = [NOW - 130 * DAY, NOW - 2 * DAY, NOW - 2 * DAY, NOW - 2 * DAY, NOW]
    for n, at in enumerate(ended):
        skipped(engine, str(n), at)
    found = runs(engine, limit)
    assert found[0] == "m-4"
    assert found[-1] == "m-0"
    assert sorted(found) == [f"m-{n}" for n in range(5)]


def test_a_hundred_of_one_instant(engine: Engine) -> None:
    for n in range(105):
        skipped(engine, f"{n:03d}", NOW)
    assert sorted(runs(engine, 50)) == [f"m-{n:03d}" for n in range(105)]


def test_bounds_are_inclusive_to_the_millisecond(engine: Engine) -> None:
    for n in range(5):
        skipped(engine, str(n), NOW + timedelta(milliseconds=n))
    low, high = NOW + timedelta(milliseconds=1), NOW + timedelta(milliseconds=3)
    assert runs(engine, 1, earliest=low, latest=high) == ["m-3", "m-2", "m-1"]
    assert runs(engine, 9, earliest=high, latest=low) == []


def test_only_one_status(engine: Engine) -> None:
    skipped(engine, "x", NOW)
    key = RunKey("a", "aaaaaaaa", NOW.replace(microsecond=0), "m-y")
    engine.store.miss(key, NOW, Ending("missed", "", 86_400), now=NOW)
    assert runs(engine, 1, status="missed") == ["m-y"]
    assert runs(engine, 1, status="skipped") == ["m-x"]
    assert runs(engine, 1, status="failed") == []
    assert len(runs(engine, 1)) == 2


def test_a_success_is_not_there(engine: Engine) -> None:
    put(engine, "a")
    run = skipped(engine, "x", NOW)
    row = next(row for row in engine.rows.all() if row["sk"] != "JOB" and "status" in row)
    done: dict[str, object] = {**row, "status": "succeeded"}
    del done["day"]
    engine.rows.put(done)
    assert isinstance(engine.store.read_run(run), Run)
    assert runs(engine, 5) == []


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "W10", "eyJhIjoxfQ", "WyJqb2JzIl0", "WyJydW5zIiwxLDIsM10", "=" * 10, "é", "a" * 2000],
)
def test_cursors_of_nobody(engine: Engine, cursor: str) -> None:
    if not cursor:
        cursor = "WyJkYXkiLCJ5ZXN0ZXJkYXkiXQ"
    with pytest.raises(Invalid) as refused:
        engine.store.list_jobs(limit=5, cursor=cursor)
    assert [f.pointer for f in refused.value.faults] == ["/cursor"]
    with pytest.raises(Invalid):
        engine.store.list_attention(earliest=NOW - DAY, latest=NOW, limit=5, cursor=cursor)


def test_cursors_of_another_listing(engine: Engine) -> None:
    for n in range(3):
        put(engine, f"j{n}")
        skipped(engine, str(n), NOW)
    of_jobs = engine.store.list_jobs(group="g", limit=1).cursor
    of_runs = engine.store.list_attention(earliest=NOW - DAY, latest=NOW, limit=1).cursor
    for cursor, group in ((of_runs, "g"), (of_jobs, "h"), (of_jobs, None)):
        with pytest.raises(Invalid):
            engine.store.list_jobs(group=group, limit=1, cursor=cursor)
    for cursor, latest in ((of_jobs, NOW), (of_runs, NOW - DAY)):
        with pytest.raises(Invalid):
            engine.store.list_attention(
                earliest=NOW - 9 * DAY, latest=latest, limit=1, cursor=cursor
            )
    later = engine.store.list_attention(
        earliest=NOW + timedelta(hours=1), latest=NOW + DAY, limit=1, cursor=of_runs
    )
    assert later.items == ()
    assert later.cursor is None
