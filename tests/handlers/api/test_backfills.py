"""Backfills over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import CALLER, Api

HOURLY = {"cron": "0 * * * *"}
ASK: dict[str, Any] = {"id": "night", "from": "2026-11-30T00:00:00Z", "to": "2026-11-30T06:00:00Z"}
PATH = "/jobs/a/backfill"


def test_a_backfill_is_made_and_shown(api: Api) -> None:
    api.put(schedule=HOURLY)
    made = api.call("POST", PATH, ASK)
    assert made.status == 201, made.body
    assert made.headers["Location"] == "/jobs/a/backfills/night"
    assert made.json == {
        "id": "night",
        "job_id": "a",
        "status": "done",
        "from": "2026-11-30T00:00:00Z",
        "to": "2026-11-30T06:00:00Z",
        "pace": 60,
        "overlap": None,
        "total": 6,
        "started": 6,
        "existing": 0,
        "done_up_to": "2026-11-30T05:00:00Z",
        "reason": "",
        "created_at": "2026-11-30T10:00:00Z",
        "created_by": CALLER,
        "finished_at": "2026-11-30T10:00:00Z",
    }
    assert api.call("GET", "/jobs/a/backfills/night").json == made.json
    assert api.call("GET", "/jobs/a/backfills").json == {"backfills": [made.json], "cursor": None}
    runs = api.call("GET", "/jobs/a/runs").json["runs"]
    assert [run["trigger"] for run in runs] == ["b-night"] * 6
    assert {run["triggered_by"] for run in runs} == {CALLER}
    assert len(api.outbox.sent) == 6


def test_the_same_again_is_the_same(api: Api) -> None:
    api.put(schedule=HOURLY)
    first = api.call("POST", PATH, ASK)
    again = api.call("POST", PATH, ASK, caller="arn:aws:iam::1:user/other")
    assert again.status == 200
    assert again.json == first.json
    other = api.call("POST", PATH, {**ASK, "pace": 5})
    assert other.status == 409
    assert other.json["type"].endswith("wrong-state")


def test_a_dry_run_changes_nothing(api: Api) -> None:
    api.put(schedule=HOURLY)
    rows = api.rows.all()
    dry = api.call("POST", PATH, {**ASK, "dry_run": True})
    assert dry.status == 200
    assert dry.json == {
        "dry_run": True,
        "total": 6,
        "first": "2026-11-30T00:00:00Z",
        "last": "2026-11-30T05:00:00Z",
        "existing": 0,
    }
    assert api.rows.all() == rows
    assert api.outbox.sent == []


def test_without_an_end_it_goes_up_to_now(api: Api) -> None:
    api.put(schedule=HOURLY)
    made = api.call("POST", PATH, {"from": "2026-11-30T08:30:00Z", "overlap": "queue_all"})
    assert made.status == 201
    assert (made.json["to"], made.json["total"]) == ("2026-11-30T10:00:00Z", 1)
    assert made.json["overlap"] == "queue_all"
    assert len(made.json["id"]) >= 8


def test_it_is_cancelled(api: Api) -> None:
    api.put(schedule=HOURLY)
    wide = {"id": "x", "from": "2026-11-01T00:00:00Z", "pace": 2}
    assert api.call("POST", PATH, wide).json["status"] == "running"
    ended = api.call("POST", "/jobs/a/backfills/x/cancel")
    assert ended.status == 200
    assert (ended.json["status"], ended.json["started"]) == ("cancelled", 2)
    assert ended.json["reason"] == f"cancelled by {CALLER}"
    assert api.call("POST", "/jobs/a/backfills/x/cancel").json == ended.json
    api.call("POST", PATH, {**ASK, "id": "y"})
    refused = api.call("POST", "/jobs/a/backfills/y/cancel")
    assert (refused.status, refused.json["state"]) == (409, "done")


def test_a_list_goes_on_with_its_cursor(api: Api) -> None:
    api.put(schedule=HOURLY)
    for name in "cab":
        api.call("POST", PATH, {**ASK, "id": name})
    found: list[str] = []
    cursor = None
    for _ in range(3):
        page = api.call(
            "GET",
            "/jobs/a/backfills",
            query={"limit": "2", **({"cursor": cursor} if cursor else {})},
        ).json
        found += [b["id"] for b in page["backfills"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == ["a", "b", "c"]
    refused = api.call("GET", "/jobs/b/backfills", query={"cursor": "x"})
    assert refused.faults == [("query:cursor", "bad_cursor")]


def test_what_is_not_there(api: Api) -> None:
    assert api.call("POST", PATH, ASK).json["type"].endswith("job-not-found")
    assert api.call("GET", "/jobs/a/backfills").json["type"].endswith("job-not-found")
    api.put(schedule=HOURLY)
    assert api.call("GET", "/jobs/a/backfills").json == {"backfills": [], "cursor": None}
    for method, path in (
        ("GET", "/jobs/a/backfills/x"),
        ("POST", "/jobs/a/backfills/x/cancel"),
    ):
        missing = api.call(method, path)
        assert missing.status == 404
        assert missing.json["type"].endswith("backfill-not-found")


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"from": None}, [("/from", "bad_time")]),
        ({"from": "2026-11-30"}, [("/from", "bad_time")]),
        ({"from": "1969-12-31T00:00:00Z"}, [("/from", "out_of_range")]),
        ({"from": "0001-01-01T00:00:00Z"}, [("/from", "out_of_range")]),
        ({"to": "2026-11-29T00:00:00Z"}, [("/to", "bad_range")]),
        ({"to": "2026-11-30T00:00:00Z"}, [("/to", "bad_range")]),
        ({"to": "2026-11-30T10:00:01Z"}, [("/to", "in_future")]),
        ({"pace": 0}, [("/pace", "out_of_range")]),
        ({"pace": 601}, [("/pace", "out_of_range")]),
        ({"pace": 1.5}, [("/pace", "out_of_range")]),
        ({"pace": True}, [("/pace", "out_of_range")]),
        ({"overlap": "some"}, [("/overlap", "unknown_value")]),
        ({"overlap": []}, [("/overlap", "unknown_value")]),
        ({"dry_run": "yes"}, [("/dry_run", "wrong_type")]),
        ({"id": "a b"}, [("/id", "bad_id")]),
        ({"id": ""}, [("/id", "bad_id")]),
        ({"day": 1}, [("/day", "unknown_field")]),
        ({"pace": 0, "id": 1}, [("/id", "bad_id"), ("/pace", "out_of_range")]),
    ],
    ids=str,
)
def test_bad_input(over_memory: Api, change: dict[str, Any], faults: list[tuple[str, str]]) -> None:
    over_memory.put(schedule=HOURLY)
    rows = over_memory.rows.all()
    refused = over_memory.call("POST", PATH, {**ASK, **change})
    assert refused.status == 422
    assert refused.faults == faults
    assert all(error["accepted"] for error in refused.json["errors"])
    assert over_memory.rows.all() == rows


def test_no_range_at_all(over_memory: Api) -> None:
    over_memory.put(schedule=HOURLY)
    assert over_memory.call("POST", PATH).faults == [("/from", "missing_field")]
    wide = over_memory.call("POST", PATH, {"from": "2020-01-01T00:00:00Z"})
    assert wide.faults == [("/to", "too_many")]
    assert "60610 occurrences" in wide.json["errors"][0]["detail"]
