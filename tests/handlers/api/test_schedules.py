"""What lies ahead, over the API."""

from __future__ import annotations

import pytest

from .conftest import Api


def test_upcoming_of_a_job(api: Api) -> None:
    api.put("a", schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, timeout=600)
    query = {"count": "2", "after": "2027-03-27T12:00:00+01:00"}
    answer = api.call("GET", "/jobs/a/upcoming", query=query)
    assert answer.status == 200
    shown = answer.json
    assert shown["occurrences"] == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    assert shown["schedule"] == {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    assert shown["details"][0]["local"] == "2027-03-28T03:00:00+02:00"
    assert "gap" in shown["details"][0]["note"]
    assert shown["details"][1]["note"] is None
    assert "Europe/Berlin" in shown["description"]


def test_upcoming_says_what_the_tick_will_plan(api: Api) -> None:
    status = api.put("a", schedule={"rate": "1h", "jitter": "10m"}).json["status"]
    shown = api.call("GET", "/jobs/a/upcoming").json
    assert len(shown["occurrences"]) == 10
    assert shown["details"][0]["due"] == status["next_run"]
    assert shown["occurrences"][0] == status["next_occurrence"]


def test_a_paused_job_and_an_ended_one(api: Api) -> None:
    api.put("a")
    api.call("POST", "/jobs/a/pause")
    shown = api.call("GET", "/jobs/a/upcoming", query={"count": "3"}).json
    assert len(shown["occurrences"]) == 3
    assert shown["warnings"] == ["the job is paused: these do not run unless it is resumed before"]
    api.call("POST", "/jobs/a/resume")
    assert api.call("GET", "/jobs/a/upcoming").json["warnings"] == []
    api.put("b", schedule={"at": "2026-11-30T10:01:00Z"})
    api.clock.advance(61)
    assert api.call("GET", "/jobs/b/upcoming").json["occurrences"] == []
    assert api.call("GET", "/jobs/c/upcoming").status == 404


@pytest.mark.parametrize(
    "schedule",
    [
        "*/15 * * * *",
        {"cron": "*/15 * * * *"},
        {"cron": "*/15 * * * *", "timezone": "Europe/Berlin"},
    ],
)
def test_preview(over_memory: Api, schedule: object) -> None:
    body = {"schedule": schedule, "after": "2026-03-28T23:00:00Z", "count": 2, "timeout": 840}
    answer = over_memory.call("POST", "/schedules/preview", body)
    assert answer.status == 200, answer.body
    assert answer.json["occurrences"] == ["2026-03-28T23:15:00Z", "2026-03-28T23:30:00Z"]
    assert answer.json["warnings"] == []
    assert over_memory.rows.all() == []


def test_preview_warns(over_memory: Api) -> None:
    body = {"schedule": "rate(1 minute)", "timeout": "2m"}
    warned = over_memory.call("POST", "/schedules/preview", body).json["warnings"]
    assert len(warned) == 1
    assert "overlap" in warned[0]
    body["overlap"] = "skip"
    assert over_memory.call("POST", "/schedules/preview", body).json["warnings"] == []


def test_holidays_of_a_country(over_memory: Api) -> None:
    holidays = {"country": "DE", "subdivision": "BY"}
    excluded = {"weekends": True, "holidays": holidays}
    schedule = {
        "cron": "0 9 25 12 *",
        "timezone": "Europe/Berlin",
        "calendar": {"exclude": excluded, "on_excluded": "next_business_day"},
    }
    body = {"schedule": schedule, "count": 1}
    answer = over_memory.call("POST", "/schedules/preview", body)
    assert answer.json["occurrences"] == ["2026-12-28T08:00:00Z"]
    holidays["country"] = "XX"
    answer = over_memory.call("POST", "/schedules/preview", body)
    assert answer.status == 422
    assert answer.faults[0][0].startswith("/schedule/calendar/exclude/holidays")
