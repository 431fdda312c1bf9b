"""Jobs that name a calendar, from the tick to the target."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from cronce.domain.calendar import Calendar, parse_calendar
from cronce.domain.definition import parse_job
from cronce.domain.job import Job
from cronce.domain.stamps import stamp_of
from support.stage import BY, Stage

# Where it is 23:00 when the stage opens, so that the day changes after an hour.
ZONE = "Pacific/Auckland"
TODAY, TOMORROW = "2026-11-29", "2026-11-30"
MINUTES = {"cron": "*/5 * * * *", "timezone": ZONE, "calendar": "closed"}


@pytest.fixture
def stage(stages: Callable[..., Stage]) -> Stage:
    return stages(pollers=1)


def put_calendar(stage: Stage, *dates: str, name: str = "closed") -> None:
    content = parse_calendar({"exclude": {"dates": list(dates)}})
    stage.api(lambda control: control.put_calendar(name, lambda now: content, by=BY))


def put_job(stage: Stage, job_id: str, schedule: Any, **fields: Any) -> None:
    doc = {"schedule": schedule, "target": {"http": {"url": "https://x/"}}, **fields}

    def put(control: Any) -> None:
        control.put(
            job_id,
            lambda now, anchor: parse_job(
                doc,
                now=now,
                anchor=anchor,
                check_target=lambda target: [],
                find_calendar=control.find_calendar,
            ),
            by=BY,
        )

    stage.api(put)


def job(stage: Stage, job_id: str = "a") -> Job:
    stored = stage.store.read_job(job_id)
    assert stored is not None
    return stored.job


def rewrite(stage: Stage, **changes: Any) -> None:
    """The row as somebody else left it; nobody plans its jobs again."""
    row = stage.store.rows.get("CALENDAR#closed", "CALENDAR")
    assert row is not None
    stage.store.rows.put({**row, **changes})


def change_silently(stage: Stage, *dates: str) -> None:
    """As if the call that changed it had died before it came to its jobs."""
    found = stage.store.read_calendar("closed")
    assert found is not None
    days = frozenset((date.fromisoformat(d) - date(1970, 1, 1)).days for d in dates)
    assert stage.store.put_calendar(found, found.followed_by(Calendar(days), stage.now, BY))


def test_an_excluded_day_does_not_fire(stage: Stage) -> None:
    put_calendar(stage, TOMORROW)
    put_job(stage, "a", {"cron": "*/10 * * * *", "timezone": ZONE, "calendar": "closed"})
    stage.run(75 * 60)
    fired = [run.key.scheduled_for.minute for run in stage.runs()]
    assert fired == [10, 20, 30, 40, 50]
    assert stage.statuses() == ["succeeded"] * 5
    then = job(stage).next
    assert then is not None
    assert then.scheduled_for.isoformat() == "2026-11-30T11:00:00+00:00"


def test_a_tick_reads_each_calendar_once(stage: Stage) -> None:
    put_calendar(stage, TOMORROW)
    for n in range(20):
        put_job(stage, f"a{n}", MINUTES)
    stage.run_to(60)
    stage.calls.clear()
    ticks = len(stage.reports)
    stage.run_to(25 * 60)
    assert len(stage.runs("a7")) >= 4
    assert 4 <= stage.calls["read_calendar"] <= len(stage.reports) - ticks


def test_jobs_without_a_calendar_read_none(stage: Stage) -> None:
    put_job(stage, "a", "* * * * *")
    stage.run_to(600)
    assert len(stage.runs()) >= 9
    assert stage.calls["read_calendar"] == 0


def test_a_change_that_nobody_followed_up_counts_at_the_next_visit(stage: Stage) -> None:
    put_calendar(stage, "2026-12-24")
    put_job(stage, "a", {"cron": "10,20 * * * *", "timezone": ZONE, "calendar": "closed"})
    change_silently(stage, TODAY)
    assert stamp_of(job(stage).plan).calendar == 1
    stage.run_to(50 * 60)
    assert stage.runs() == []
    assert stamp_of(job(stage).plan).calendar == 2
    stage.run_to(75 * 60)
    assert [run.key.scheduled_for.isoformat() for run in stage.runs()] == [
        "2026-11-29T11:10:00+00:00"
    ]


def test_what_was_inside_the_horizon_at_the_change_stands(stage: Stage) -> None:
    put_calendar(stage, "2026-12-24")
    put_job(stage, "a", MINUTES)
    stage.run_to(30 * 60 - 120)
    change_silently(stage, TODAY)
    stage.run_to(50 * 60)
    assert [run.key.scheduled_for.minute for run in stage.runs()][-1] == 30
    assert set(stage.statuses()) == {"succeeded"}


def test_a_calendar_that_is_gone_stops_its_jobs_only(stage: Stage) -> None:
    put_calendar(stage, TOMORROW)
    put_calendar(stage, TOMORROW, name="other")
    put_job(stage, "a", MINUTES)
    put_job(stage, "b", {**MINUTES, "calendar": "other"})
    stage.run_to(60)
    stage.store.rows.delete("CALENDAR#closed", "CALENDAR")
    stage.run_to(25 * 60)
    assert (job(stage).status, job(stage).reason) == ("error", "there is no calendar 'closed'")
    assert job(stage).next is None
    assert len(stage.runs("b")) >= 4
    put_calendar(stage, TOMORROW)
    stage.api(lambda control: control.resume("a", by=BY))
    stage.run(6 * 60)
    assert job(stage).status == "active"
    assert stage.statuses()[-1] == "succeeded"


def test_a_calendar_of_a_newer_release_makes_its_jobs_wait(stage: Stage) -> None:
    put_calendar(stage, TOMORROW)
    put_job(stage, "a", MINUTES)
    put_job(stage, "b", {"cron": "*/5 * * * *"})
    stage.run_to(60)
    rewrite(stage, v=2)
    stage.run_to(12 * 60)
    assert job(stage).status == "active"
    assert sum(report.failed for report in stage.reports) > 0
    behind = len(stage.runs("b")) - len(stage.runs("a"))
    assert behind >= 1
    rewrite(stage, v=1)
    stage.run_to(25 * 60)
    assert stage.statuses("a")[-1] == "succeeded"


def test_deleting_and_naming_race_to_one_end(stage: Stage) -> None:
    """The calendar goes between the request's reading of it and the job's transaction."""
    put_calendar(stage, TOMORROW)
    stored = stage.store.read_calendar("closed")
    assert stored is not None
    faults: list[Exception] = []

    def put(control: Any) -> None:
        def find(name: str) -> Any:
            found = control.find_calendar(name)
            if found is not None:
                control.delete_calendar(name)
            return found

        doc = {"schedule": MINUTES, "target": {"http": {"url": "https://x/"}}}
        try:
            control.put(
                "a",
                lambda now, anchor: parse_job(
                    doc,
                    now=now,
                    anchor=anchor,
                    check_target=lambda target: [],
                    find_calendar=find,
                ),
                by=BY,
            )
        except Exception as e:
            faults.append(e)

    stage.api(put)
    assert [str(e) for e in faults] == [
        "/schedule/calendar: there is no calendar 'closed'"
        " (accepted: a calendar's name, or an object)"
    ]
    assert stage.store.read_job("a") is None
    assert replace(stored, users=0) == stored


@pytest.mark.parametrize("followed_up", [True, False])
def test_a_job_that_a_calendar_leaves_nothing_of_ends_and_goes_away(
    stage: Stage, followed_up: bool
) -> None:
    put_calendar(stage, "2026-12-24")
    once = {"cron": "5 12 * * *", "timezone": ZONE, "calendar": "closed", "end": "2026-12-01T00:00"}
    put_job(stage, "a", once, delete_after="1h")
    (put_calendar if followed_up else change_silently)(stage, TOMORROW)
    stage.run_to(0 if followed_up else 13.2 * 3600)
    assert (job(stage).status, stage.runs()) == ("ended", [])
    stage.api(lambda control: control.delete_calendar("closed"))
    stage.run(3700)
    assert stage.store.read_job("a") is None
