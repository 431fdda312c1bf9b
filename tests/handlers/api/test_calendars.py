"""Named calendars and planning again, over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from .conftest import NOW, Api

# NOW is Monday 30 November 2026, 10:00 UTC.
CALENDAR: dict[str, Any] = {"exclude": {"dates": ["2026-12-02"]}, "on_excluded": "skip"}
DAILY = {"cron": "0 9 * * *", "calendar": "closed"}


def put(api: Api, name: str = "closed", **fields: Any) -> Any:
    answer = api.call("PUT", f"/calendars/{name}", {**CALENDAR, **fields})
    assert answer.status in (200, 201), answer.body
    return answer


def next_of(api: Api, job: str = "a") -> str:
    answer = api.call("GET", f"/jobs/{job}")
    assert answer.status == 200, answer.body
    found: str = answer.json["status"]["next_occurrence"]
    return found


def excluding(*dates: str) -> dict[str, Any]:
    return {"dates": list(dates)}


def test_put_get_list_delete(api: Api) -> None:
    created = put(api)
    assert created.status == 201
    assert created.headers["Location"] == "/calendars/closed"
    assert created.headers["ETag"] == '"1"'
    assert created.json["replanned"]["looked_at"] == 0
    shown = api.call("GET", "/calendars/closed")
    assert shown.headers["ETag"] == '"1"'
    assert {k: shown.json[k] for k in CALENDAR} == CALENDAR
    assert shown.json["status"]["version"] == 1
    assert shown.json["status"]["users"] == 0
    put(api, "other")
    listed = api.call("GET", "/calendars", query={"limit": "1"}).json
    assert [c["name"] for c in listed["calendars"]] == ["closed"]
    more = api.call("GET", "/calendars", query={"limit": "1", "cursor": listed["cursor"]}).json
    assert [c["name"] for c in more["calendars"]] == ["other"]
    assert api.call("DELETE", "/calendars/closed").status == 204
    assert api.call("GET", "/calendars/closed").status == 404
    assert api.call("DELETE", "/calendars/closed").status == 404


def test_the_same_again_changes_nothing(api: Api) -> None:
    put(api)
    again = put(api)
    assert again.status == 200
    assert again.headers["ETag"] == '"1"'
    assert again.json["replanned"] is None
    assert put(api, exclude=excluding("2026-12-03")).headers["ETag"] == '"2"'


def test_conditions_are_kept(api: Api) -> None:
    put(api)
    for headers in ({"If-Match": '"2"'}, {"If-None-Match": "*"}):
        answer = api.call("PUT", "/calendars/closed", CALENDAR, headers=headers)
        assert answer.status == 412
        assert answer.json["current_version"] == 1
    assert api.call("DELETE", "/calendars/closed", headers={"If-Match": '"3"'}).status == 412
    assert api.call("PUT", "/calendars/new", CALENDAR, headers={"If-Match": "*"}).status == 412
    matching = api.call("DELETE", "/calendars/closed", headers={"If-Match": '"1"'})
    assert matching.status == 204


def test_holidays_of_a_country_become_dates(api: Api) -> None:
    exclude = {"weekends": True, "holidays": {"country": "DE", "subdivision": "BY"}}
    shown = put(api, exclude=exclude).json
    assert shown["exclude"] == exclude
    days = shown["status"]["holiday_dates"]
    assert {"2026-12-25", "2026-12-26", "2027-01-06", "2035-12-25"} <= set(days)
    assert len(api.store.read_calendar("closed").calendar.holiday_dates) == len(days)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ([], ("", "bad_calendar")),
        ({}, ("/exclude", "bad_calendar")),
        ({"exclude": {"dates": ["2026-02-30"]}}, ("/exclude/dates/0", "bad_date")),
        ({"exclude": {"holidays": {"country": "XX"}}}, ("/exclude/holidays/country",
                                                         "unknown_country")),
        ({**CALENDAR, "on_excluded": "later"}, ("/on_excluded", "unknown_value")),
        ({**CALENDAR, "status": {}}, ("/status", "answer_only")),
        ({**CALENDAR, "dates": []}, ("/dates", "unknown_field")),
    ],
)  # fmt: skip
def test_what_is_refused(over_memory: Api, body: Any, fault: tuple[str, str]) -> None:
    answer = over_memory.call("PUT", "/calendars/closed", body)
    assert answer.status == 422
    assert answer.faults == [fault]
    assert over_memory.call("GET", "/calendars/closed").status == 404


@pytest.mark.parametrize("name", ["-a", "a b", "ä", "x" * 65, "%61"])
def test_a_name_is_checked(over_memory: Api, name: str) -> None:
    answer = over_memory.call("PUT", f"/calendars/{name}", CALENDAR)
    assert answer.status == 422
    assert answer.faults == [("path:calendar", "bad_name")]


def test_two_thousand_dates_and_no_more(over_memory: Api) -> None:
    first = NOW.date()
    dates = [(first + timedelta(days=n)).isoformat() for n in range(2001)]
    assert put(over_memory, exclude=excluding(*dates[:2000])).status == 201
    answer = over_memory.call("PUT", "/calendars/closed", {"exclude": excluding(*dates)})
    assert answer.faults == [("/exclude/dates", "too_many_dates")]


def test_a_job_follows_its_calendar(api: Api) -> None:
    put(api, exclude=excluding("2026-12-01"))
    api.put("a", schedule=DAILY)
    assert next_of(api) == "2026-12-02T09:00:00Z"
    shown = api.call("GET", "/jobs/a/upcoming", query={"count": "1"}).json
    assert shown["occurrences"] == ["2026-12-02T09:00:00Z"]
    assert shown["schedule"]["calendar"] == "closed"
    listed = api.call("GET", "/jobs").json["jobs"]
    assert listed[0]["schedule"]["calendar"] == "closed"
    assert api.call("GET", "/calendars/closed").json["status"]["users"] == 1


def test_a_job_may_use_it_in_its_own_way(api: Api) -> None:
    put(api, exclude=excluding("2026-12-01"))
    named = {"name": "closed", "on_excluded": "next_business_day"}
    api.put("a", schedule={"cron": "0 9 1 * *", "calendar": named})
    assert next_of(api) == "2026-12-02T09:00:00Z"
    assert api.call("GET", "/jobs/a").json["schedule"]["calendar"] == named


@pytest.mark.parametrize(
    ("calendar", "pointer", "code"),
    [
        ("nowhere", "/schedule/calendar", "unknown_calendar"),
        ({"name": "nowhere"}, "/schedule/calendar/name", "unknown_calendar"),
        ({"name": "closed", "dates": []}, "/schedule/calendar/dates", "unknown_field"),
        (
            {"name": "closed", "on_excluded": "x"},
            "/schedule/calendar/on_excluded",
            "unknown_value",
        ),
        (7, "/schedule/calendar", "bad_calendar"),
    ],
)
def test_a_job_of_an_unknown_calendar_is_refused(
    over_memory: Api, calendar: object, pointer: str, code: str
) -> None:
    put(over_memory)
    schedule = {"cron": "0 9 * * *", "calendar": calendar}
    answer = over_memory.call("PUT", "/jobs/a", {"schedule": schedule, "target": _target()})
    assert answer.status == 422
    assert answer.faults == [(pointer, code)]
    preview = over_memory.call("POST", "/schedules/preview", {"schedule": schedule})
    assert preview.faults == [(pointer, code)]


def _target() -> dict[str, Any]:
    return {"http": {"url": "https://hooks.example.com/in"}}


def test_a_calendar_in_use_stays(api: Api) -> None:
    put(api)
    for job in ("a", "b"):
        api.put(job, schedule=DAILY)
    answer = api.call("DELETE", "/calendars/closed")
    assert answer.status == 409
    assert answer.json["type"].endswith("calendar-in-use")
    assert answer.json["jobs"] == ["a", "b"]
    api.put("a", schedule="0 9 * * *")
    assert api.call("DELETE", "/calendars/closed").json["jobs"] == ["b"]
    assert api.call("DELETE", "/jobs/b").status == 204
    assert api.call("DELETE", "/calendars/closed").status == 204


def test_a_changed_calendar_moves_its_jobs_at_once(api: Api) -> None:
    put(api)
    api.put("a", schedule=DAILY)
    api.put("b", schedule={"cron": "0 9 3 12 *", "calendar": "closed"})
    assert next_of(api) == "2026-12-01T09:00:00Z"
    answer = put(api, exclude=excluding("2026-12-01", "2026-12-02"))
    assert next_of(api) == "2026-12-03T09:00:00Z"
    assert answer.json["replanned"]["looked_at"] == 2
    assert answer.json["replanned"]["moved"] == [
        {
            "id": "a",
            "before": "2026-12-01T09:00:00Z",
            "after": "2026-12-03T09:00:00Z",
            "planned_with": {
                "tzdata": api.call("GET", "/health").json["tzdata"],
                "calendar": 1,
            },
        }
    ]
    put(api, exclude=excluding("2026-12-25"))
    assert next_of(api) == "2026-12-01T09:00:00Z"


def test_what_is_inside_the_horizon_stands(api: Api) -> None:
    put(api)
    api.put("a", schedule={"cron": "2 10,11 * * *", "calendar": "closed"})
    assert next_of(api) == "2026-11-30T11:02:00Z"
    assert [o.message.key.scheduled_for.minute for o in api.outbox.sent] == [2]
    api.clock.advance(3_500)
    answer = put(api, exclude=excluding("2026-11-30", "2026-12-01"))
    assert answer.json["replanned"]["standing"] == 1
    assert next_of(api) == "2026-11-30T11:02:00Z"


def test_an_edit_of_something_else_keeps_what_was_planned(api: Api) -> None:
    put(api)
    api.put("a", schedule=DAILY)
    before = api.store.read_job("a")
    api.put("a", schedule=DAILY, timeout=30, misfire="skip")
    after = api.store.read_job("a")
    assert before is not None
    assert after is not None
    assert after.job.plan["schedule"] == before.job.plan["schedule"]
    assert after.job.plan["misfire"] != before.job.plan["misfire"]
    assert api.call("GET", "/calendars/closed").json["status"]["users"] == 1


def test_pause_resume_and_the_version_planned_with(api: Api) -> None:
    put(api)
    api.put("a", schedule=DAILY)
    api.call("POST", "/jobs/a/pause")
    put(api, exclude=excluding("2026-12-01"))
    assert api.call("POST", "/jobs/a/resume").json["status"]["next_occurrence"] == (
        "2026-12-02T09:00:00Z"
    )
    stored = api.store.read_job("a")
    assert stored is not None
    assert stored.job.plan["schedule"]["calendar"] == {"name": "closed", "version": 2}  # type: ignore[index]


def test_replan_says_what_it_is_given(over_memory: Api) -> None:
    for n in range(3):
        over_memory.put(f"a{n}", schedule={"cron": "0 9 * * *"})
    first = over_memory.call("POST", "/replan", {"limit": 2, "dry_run": True}).json
    assert (first["looked_at"], first["moved"], first["dry_run"]) == (2, [], True)
    rest = over_memory.call("POST", "/replan", {"limit": 2, "cursor": first["cursor"]}).json
    assert (rest["looked_at"], rest["cursor"], rest["dry_run"]) == (1, None, False)
    assert over_memory.call("POST", "/replan", {"calendar": "nowhere"}).status == 404


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"dry_run": 1}, ("/dry_run", "wrong_type")),
        ({"limit": 101}, ("/limit", "out_of_range")),
        ({"cursor": 1}, ("/cursor", "wrong_type")),
        ({"cursor": "x"}, ("/cursor", "bad_cursor")),
        ({"calendar": 1}, ("/calendar", "bad_name")),
        ({"everything": True}, ("/everything", "unknown_field")),
    ],
)
def test_replan_refuses(over_memory: Api, body: Any, fault: tuple[str, str]) -> None:
    answer = over_memory.call("POST", "/replan", body)
    assert answer.status == 422
    assert answer.faults == [fault]
