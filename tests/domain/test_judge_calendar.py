"""A run of a job that names a calendar, judged by it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.domain.calendar import Calendar
from cronce.domain.job import Job, StoredJob, make_plan
from cronce.domain.judge import Cancel, Proceed, Skip, judge, needs_calendar
from cronce.domain.message import Message
from cronce.domain.misfire import Misfire
from cronce.domain.schedule import parse_schedule
from support import samples as s

# 30 November 2026 is excluded, a day of samples.
CLOSED = Calendar(dates=frozenset({20_787})).named("closed", 1)
YESTERDAY = s.AT - timedelta(hours=11)
MINUTES = parse_schedule(
    {"cron": "*/30 * * * *", "calendar": "closed"},
    now=s.AT - timedelta(days=9),
    calendar=CLOSED,
)


def stored(**changes: object) -> StoredJob:
    plan = make_plan(MINUTES, Misfire(late_limit=900))
    job: Job = replace(s.a_job(plan=plan, changed_at=YESTERDAY), **changes)  # type: ignore[arg-type]
    return StoredJob(job, s.a_definition())


def message(hours: float, generation: int = 1) -> Message:
    at = s.AT + timedelta(hours=hours)
    return Message(replace(s.a_key(), scheduled_for=at), generation, at, at)


def test_superseded_only_by_what_the_calendar_lets_fire() -> None:
    last = message(-10.5)  # 23:30 of the day before
    verdict = judge(last, stored(), None, s.AT, CLOSED)
    assert isinstance(verdict, Proceed)
    without = Calendar().named("closed", 1)
    assert judge(last, stored(), None, s.AT, without) == Skip(
        "superseded", "late, and a later occurrence has come due"
    )


def test_an_occurrence_that_an_edit_excluded_is_cancelled() -> None:
    edited = stored(generation=2, changed_at=YESTERDAY)
    assert isinstance(judge(message(0), edited, None, s.AT, CLOSED), Cancel)
    assert isinstance(judge(message(0), edited, None, s.AT, Calendar().named("closed", 1)), Proceed)


def test_without_the_calendar_it_stands_as_it_is() -> None:
    assert isinstance(judge(message(-10.5), stored(), None, s.AT, None), Proceed)
    edited = stored(generation=2, changed_at=YESTERDAY)
    assert isinstance(judge(message(0), edited, None, s.AT, None), Proceed)


@pytest.mark.parametrize(
    ("hours", "generation", "needed"),
    [(0, 1, False), (-0.02, 1, False), (-1, 1, True), (0, 2, True)],
)
def test_it_is_read_only_when_it_decides(hours: float, generation: int, needed: bool) -> None:
    assert needs_calendar(message(hours), stored(generation=generation), s.AT) is needed
    plain = StoredJob(s.a_job(generation=generation), s.a_definition())
    assert not needs_calendar(message(hours), plain, s.AT)
    assert not needs_calendar(message(hours), None, s.AT)
