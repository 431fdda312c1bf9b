"""An upgrade of the time zone data, seen from the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cronce.ports import DueJob
from support.zonedata import Rules, release

from .conftest import Api

ZONE = "Test/City"
CHANGE = datetime(2026, 12, 1, tzinfo=UTC)
OLD: Rules = [(None, 3_600)]
WEST: Rules = [(None, 3_600), (CHANGE, 0)]


@pytest.fixture
def jobs(api: Api, tmp_path: Path) -> Api:
    """Planned with the old rules; NOW is 10:00 UTC, 11:00 there."""
    with release(tmp_path, "2099a", {ZONE: OLD}):
        for job, cron in (
            ("daily", "0 9 * * *"),
            ("soon", "3 11 * * *"),
            ("today", "0 15 * * *"),
            ("often", "*/30 * * * *"),
        ):
            api.put(job, schedule={"cron": cron, "timezone": ZONE})
        api.put("rate", schedule="rate(5 minutes)")
        api.put("paused", schedule={"cron": "0 9 * * *", "timezone": ZONE})
        api.call("POST", "/jobs/paused/pause")
    return api


def next_of(api: Api, job: str) -> str | None:
    found: str | None = api.call("GET", f"/jobs/{job}").json["status"]["next_occurrence"]
    return found


def test_what_moved_moves_once(jobs: Api, tmp_path: Path) -> None:
    with release(tmp_path, "2099b", {ZONE: WEST}):
        assert jobs.call("GET", "/health").json["tzdata"] == "2099b"
        before = {job: next_of(jobs, job) for job in ("daily", "today", "often", "rate")}
        dry = jobs.call("POST", "/replan", {"dry_run": True}).json
        assert {job: next_of(jobs, job) for job in before} == before
        done = jobs.call("POST", "/replan").json
        moved: list[dict[str, Any]] = [
            {
                "id": "daily",
                "before": "2026-12-01T08:00:00Z",
                "after": "2026-12-01T09:00:00Z",
                "planned_with": {"tzdata": "2099a", "calendar": None},
            },
            {
                "id": "soon",
                "before": "2026-12-01T10:03:00Z",
                "after": "2026-12-01T11:03:00Z",
                "planned_with": {"tzdata": "2099a", "calendar": None},
            },
        ]
        assert sorted(dry["moved"], key=lambda m: m["id"]) == moved
        assert sorted(done["moved"], key=lambda m: m["id"]) == moved
        assert (done["tzdata"], done["cursor"], done["failed"]) == ("2099b", None, [])
        assert done["looked_at"] == 5
        assert next_of(jobs, "daily") == "2026-12-01T09:00:00Z"
        assert {job: next_of(jobs, job) for job in ("today", "often", "rate")} == {
            job: at for job, at in before.items() if job != "daily"
        }
        assert jobs.call("POST", "/replan").json["moved"] == []


def test_what_may_have_been_dispatched_stands(jobs: Api, tmp_path: Path) -> None:
    jobs.clock.advance(22 * 3_600 - 120)
    with release(tmp_path, "2099b", {ZONE: WEST}):
        done = jobs.call("POST", "/replan").json
        assert "daily" not in [moved["id"] for moved in done["moved"]]
        assert done["standing"] >= 1
        assert next_of(jobs, "daily") == "2026-12-01T08:00:00Z"


class Overtaken:
    """A store in which the tick advances a job between its listing and its re-planning."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.left = inner, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def advance(self, due: DueJob, then: Any, **more: Any) -> bool:
        if due.job_id == "daily" and self.left:
            self.left -= 1
            stored = self._inner.read_job("daily")
            later = stored.job.next.scheduled_for + timedelta(days=3)
            moved = type(stored.job.next)(later, later)
            assert self._inner.advance(due, moved, runs_planned=due.runs_planned)
        return bool(self._inner.advance(due, then, **more))


def test_a_job_that_moves_on_meanwhile_is_looked_at_again(jobs: Api, tmp_path: Path) -> None:
    with release(tmp_path, "2099b", {ZONE: WEST}):
        jobs.store = Overtaken(jobs.store)  # type: ignore[assignment]
        jobs.__post_init__()
        done = jobs.call("POST", "/replan").json
        [daily] = [moved for moved in done["moved"] if moved["id"] == "daily"]
        assert (daily["before"], daily["after"]) == ("2026-12-04T08:00:00Z", "2026-12-04T09:00:00Z")
        assert done["failed"] == []


def test_resume_plans_with_what_is_there(jobs: Api, tmp_path: Path) -> None:
    with release(tmp_path, "2099b", {ZONE: WEST}):
        resumed = jobs.call("POST", "/jobs/paused/resume").json
        assert resumed["status"]["next_occurrence"] == "2026-12-01T09:00:00Z"
        done = jobs.call("POST", "/replan", {"dry_run": True}).json
        assert "paused" not in [moved["id"] for moved in done["moved"]]
