"""The demo's list: what is sent to the API and what the judge is told agree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.cli.demo.jobs import FAILS_TWICE, TRIGGERED, VICTIM, demo_jobs, first_instant
from cronce.cli.demo.judge import instants
from cronce.domain.schedule import parse_schedule

FIRST = 1_795_946_435
SECONDS = 75


def at(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)


JOBS = {job.job_id: job for job in demo_jobs("http://127.0.0.1:1", FIRST, SECONDS)}


def test_there_are_enough_of_each_kind() -> None:
    assert len(JOBS) >= 20
    kinds = [next(iter(job.document["schedule"])) for job in JOBS.values()]
    assert {"rate", "cron", "at"} <= set(kinds)
    assert any(job.document["schedule"].get("rate") == "5s" for job in JOBS.values())
    assert JOBS[FAILS_TWICE].expect["attempts"] == 3
    assert JOBS[VICTIM].expect["reclaimed"]


@pytest.mark.parametrize("name", [name for name in JOBS if name != TRIGGERED])
def test_the_product_would_run_a_job_when_the_judge_expects_it(name: str) -> None:
    """Held to the real parser here, because the judge must not use it."""
    job = JOBS[name]
    schedule = parse_schedule(job.document["schedule"], now=at(FIRST - 10))
    planned: list[int] = []
    found = schedule.next_after(at(FIRST - 10))
    while found is not None and len(planned) < 100:
        planned.append(int(found.timestamp()))
        found = schedule.next_after(found)
    assert planned == instants(job.expect)


def test_the_victims_worker_has_nothing_else_to_do() -> None:
    victim = JOBS[VICTIM].expect["instants"][0]
    others = [
        instant
        for name, job in JOBS.items()
        if name not in (VICTIM, TRIGGERED)
        for instant in instants(job.expect)
    ]
    assert min(abs(victim - other) for other in others) >= 2


@pytest.mark.parametrize("now", [FIRST, FIRST + 0.1, FIRST + 4.99])
def test_the_first_instant_lies_on_the_grid(now: float) -> None:
    first = first_instant(now, 15)
    assert first % 5 == 0
    assert timedelta(seconds=15) < at(first) - at(now) <= timedelta(seconds=20)


def test_all_lies_in_the_time_that_is_watched() -> None:
    all_instants: list[Any] = [
        instant for job in JOBS.values() if "instants" in job.expect or "anchor" in job.expect
        for instant in instants(job.expect)
    ]  # fmt: skip
    assert min(all_instants) == FIRST
    assert max(all_instants) <= FIRST + SECONDS
