"""Jobs over the API: create, read, replace, delete."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cronce.domain.definition import PLAN_BYTES
from cronce.domain.sizes import stored_bytes
from cronce.limits import JOB_ROW_BYTES
from cronce.testing.random import SeededRandom

from .conftest import CALLER, JOB, Api


def test_put_creates_and_get_answers_the_same(api: Api) -> None:
    created = api.call("PUT", "/jobs/team-a.x", JOB)
    assert created.status == 201
    assert created.headers["ETag"] == '"1"'
    assert created.headers["Location"] == "/jobs/team-a.x"
    assert created.headers["Content-Type"] == "application/json"
    got = api.call("GET", "/jobs/team-a.x")
    assert got.status == 200
    assert got.headers["ETag"] == '"1"'
    assert got.body == created.body
    assert list(got.json) == ["id", "schedule", "target", "status"]
    assert got.json["status"] == {
        "state": "active",
        "version": 1,
        "generation": 1,
        "uid": got.json["status"]["uid"],
        "next_run": "2026-11-30T10:05:00Z",
        "next_occurrence": "2026-11-30T10:05:00Z",
        "reason": "",
        "created_at": "2026-11-30T10:00:00Z",
        "created_by": CALLER,
        "updated_at": "2026-11-30T10:00:00Z",
        "updated_by": CALLER,
        "expires_at": None,
    }


EVERYTHING: dict[str, Any] = {
    "schedule": {
        "cron": "30 9 * * 1-5",
        "timezone": "Europe/Berlin",
        "start": "2026-12-01T00:00:00+01:00",
        "jitter": "2m",
        "dst": {"gap": "skip"},
    },
    "target": {"http": {"url": "https://hooks.example.com/in", "method": "PUT"}},
    "payload": {"z": 1.10, "a": [None, True, "é", ""], "n": {"x": -0.0}},
    "retry": {"max_attempts": 5, "backoff": "5s"},
    "timeout": "PT2M",
    "misfire": {"policy": "run_all", "window": "1h"},
    "start_deadline": 600,
    "overlap": "allow",
    "history": "20d",
    "description": "Invoices \U0001f4b6",
    "tags": {"team": "a", "empty": ""},
    "group": "team-a",
}


@pytest.mark.parametrize(
    "document",
    [
        JOB,
        EVERYTHING,
        {**JOB, "schedule": "*/5 * * * *", "payload_text": "a\u0000b\r\n"},
        {**JOB, "schedule": {"at": "2026-12-24T18:00:00", "timezone": "Europe/Berlin"}},
        {**JOB, "payload": None},
        {**JOB, "payload": ""},
        {**JOB, "payload_text": ""},
        {**JOB, "payload": []},
    ],
)
def test_what_is_got_may_be_put_again_and_changes_nothing(
    api: Api, document: dict[str, Any]
) -> None:
    first = api.call("PUT", "/jobs/a", document)
    assert first.status == 201, first.body
    written = {k: v for k, v in first.json.items() if k not in ("id", "status")}
    assert written == document
    api.clock.advance(77)
    for body in (document, written):
        again = api.call("PUT", "/jobs/a", body)
        assert (again.status, again.body) == (200, first.body)
    assert api.call("GET", "/jobs/a").body == first.body


def test_a_one_time_job_that_has_run_may_be_put_again(api: Api) -> None:
    job = {**JOB, "schedule": {"at": "2026-11-30T10:01:00Z"}}
    first = api.call("PUT", "/jobs/a", job)
    api.clock.advance(3600)
    assert api.call("PUT", "/jobs/a", job).json["status"]["version"] == 1
    assert first.json["status"]["version"] == 1
    answer = api.call("PUT", "/jobs/b", job)
    assert answer.faults == [("/schedule/at", "in_past")]


def test_an_edit_beside_the_schedule_keeps_the_rhythm_of_a_rate(api: Api) -> None:
    first = api.put("a", schedule={"rate": "7m"}).json["status"]
    api.clock.advance(61)
    second = api.put("a", schedule={"rate": "7m"}, timeout=30).json["status"]
    assert second["version"] == 2
    assert second["generation"] == first["generation"]
    assert second["next_run"] == first["next_run"] == "2026-11-30T10:07:00Z"


def test_an_edit_of_the_schedule_counts_from_the_edit(api: Api) -> None:
    api.put("a", schedule={"rate": "7m"})
    api.clock.advance(61)
    status = api.put("a", schedule={"rate": "9m"}).json["status"]
    assert (status["version"], status["generation"]) == (2, 2)
    assert status["next_run"] == "2026-11-30T10:10:01Z"


def test_put_replaces_the_definition_and_never_the_state(api: Api) -> None:
    api.put("a", description="x", timeout=5)
    api.call("POST", "/jobs/a/pause", {"note": "later"})
    answer = api.put("a", timeout=6, schedule="rate(9 minutes)")
    assert answer.json["status"]["state"] == "paused"
    assert answer.json["status"]["next_run"] is None
    assert "description" not in answer.json


def test_what_is_due_soon_is_dispatched_at_once(api: Api) -> None:
    api.put("a", schedule={"rate": "60s"})
    assert [o.message.key.scheduled_for.minute for o in api.outbox.sent] == [1, 2, 3]
    assert [o.delay for o in api.outbox.sent] == [60, 120, 180]


def test_delete_and_gone(api: Api) -> None:
    api.put("a")
    answer = api.call("DELETE", "/jobs/a")
    assert (answer.status, answer.body) == (204, "")
    for method in ("DELETE", "GET"):
        gone = api.call(method, "/jobs/a")
        assert (gone.status, gone.json["type"]) == (404, "urn:cronce:problem:job-not-found")


def test_a_job_created_again_is_another_one(api: Api) -> None:
    first = api.put("a").json["status"]["uid"]
    api.call("DELETE", "/jobs/a")
    again = api.put("a")
    assert again.status == 201
    assert again.json["status"]["uid"] != first


# --- versions


def test_etags(api: Api) -> None:
    api.put("a")
    second = api.call("PUT", "/jobs/a", {**JOB, "timeout": 5}, headers={"If-Match": '"1"'})
    assert (second.status, second.headers["ETag"]) == (200, '"2"')
    for method, path, body in (
        ("PUT", "/jobs/a", JOB),
        ("PATCH", "/jobs/a", {"timeout": 9}),
        ("DELETE", "/jobs/a", None),
        ("POST", "/jobs/a/pause", None),
        ("POST", "/jobs/a/resume", None),
    ):
        lost = api.call(method, path, body, headers={"if-match": '"1"'})
        assert lost.status == 412, (method, lost.body)
        assert lost.json["type"] == "urn:cronce:problem:version-mismatch"
        assert lost.json["current_version"] == 2
    assert api.call("GET", "/jobs/a").body == second.body


def test_if_match_of_any_version(api: Api) -> None:
    missing = api.call("PUT", "/jobs/a", JOB, headers={"If-Match": "*"})
    assert (missing.status, missing.json["current_version"]) == (412, None)
    api.put("a")
    assert api.call("PUT", "/jobs/a", JOB, headers={"If-Match": "*"}).status == 200
    assert api.call("DELETE", "/jobs/a", headers={"If-Match": "*"}).status == 204


def test_if_none_match(api: Api) -> None:
    only_new = {"If-None-Match": "*"}
    assert api.call("PUT", "/jobs/a", JOB, headers=only_new).status == 201
    again = api.call("PUT", "/jobs/a", JOB, headers=only_new)
    assert again.status == 412
    assert again.json["type"] == "urn:cronce:problem:already-exists"
    assert again.json["current_version"] == 1


# --- patches


def test_a_patch_merges_and_null_removes(api: Api) -> None:
    payload = '{"keep":1.10,"drop":2,"deep":{"b":1E2,"a":"x"}}'
    body = {**JOB, "timeout": 5, "tags": {"a": "1", "b": "2"}, "payload": "here"}
    api.call("PUT", "/jobs/a", json.dumps(body).replace('"here"', payload))
    patch = {
        "timeout": None,
        "tags": {"a": None, "c": "3"},
        "payload": {"drop": None, "deep": {"a": "y"}},
        "description": "new",
    }
    answer = api.call("PATCH", "/jobs/a", patch)
    assert answer.status == 200, answer.body
    assert "timeout" not in answer.json
    assert answer.json["tags"] == {"b": "2", "c": "3"}
    assert answer.json["description"] == "new"
    assert '"payload":{"keep":1.10,"deep":{"b":1E2,"a":"y"}}' in answer.body
    assert answer.json["status"]["version"] == 2
    assert answer.json["status"]["generation"] == 1


def test_a_patch_replaces_schedule_and_target_whole(api: Api) -> None:
    api.put("a", schedule={"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
    sqs = {"sqs": {"queue": "arn:aws:sqs:eu-central-1:123456789012:in-1"}}
    answer = api.call("PATCH", "/jobs/a", {"schedule": {"rate": "1h"}, "target": sqs})
    assert answer.json["target"] == sqs
    assert answer.json["schedule"] == {"rate": "1h"}
    assert answer.json["status"]["generation"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"schedule": "rate(1 hour)"},
        {"target": {"http": {"url": "https://hooks.example.com/other"}}},
        {"payload": [1]},
        {"payload_text": "x"},
        {"retry": {"factor": 3}},
        {"timeout": 7},
        {"misfire": "skip"},
        {"start_deadline": 60},
        {"history": "16d"},
        {"description": "x"},
        {"tags": {"status": "1", "#a": "b", ":v": "c"}},
        {"group": "status"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_field_may_be_patched_alone(api: Api, change: dict[str, Any]) -> None:
    api.put("a")
    answer = api.call("PATCH", "/jobs/a", change)
    assert answer.status == 200, answer.body
    assert {**JOB, **change}.items() <= answer.json.items()
    got = api.call("GET", "/jobs/a")
    assert got.body == answer.body


def test_patches_that_change_nothing(api: Api) -> None:
    first = api.put("a", timeout=5)
    for patch in ({}, {"timeout": 5}, {"description": None}):
        assert api.call("PATCH", "/jobs/a", patch).body == first.body


def test_patches_that_are_not_valid(api: Api) -> None:
    api.put("a", payload=1)
    assert api.call("PATCH", "/jobs/a", []).faults == [("", "wrong_type")]
    assert api.call("PATCH", "/jobs/a", {"schedule": None}).faults == [
        ("/schedule", "missing_field")
    ]
    assert api.call("PATCH", "/jobs/a", {"payload_text": "x"}).faults == [
        ("/payload_text", "exclusive")
    ]
    assert api.call("PATCH", "/jobs/b", {"timeout": 5}).status == 404
    swapped = api.call("PATCH", "/jobs/a", {"payload": None, "payload_text": "x"})
    assert swapped.json["payload_text"] == "x"


def test_a_patch_that_loses_a_race_is_made_again(over_memory: Api) -> None:
    over_memory.put("a")
    read = over_memory.store.read_job
    others = iter([{"description": "theirs"}, {"tags": {"t": "theirs"}}])

    def read_and_be_overtaken(job_id: str) -> Any:
        stored = read(job_id)
        patch = next(others, None)
        if patch:
            assert over_memory.call("PATCH", "/jobs/a", patch).status == 200
        return stored

    over_memory.store.read_job = read_and_be_overtaken  # type: ignore[method-assign]
    answer = over_memory.call("PATCH", "/jobs/a", {"timeout": 5})
    assert answer.status == 200
    assert answer.json["description"] == "theirs"
    assert answer.json["tags"] == {"t": "theirs"}
    assert answer.json["timeout"] == 5


# --- made-up ids


def test_post_makes_an_id_up(api: Api) -> None:
    first, second = api.call("POST", "/jobs", JOB), api.call("POST", "/jobs", JOB)
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] != second.json["id"]
    assert first.headers["Location"] == f"/jobs/{first.json['id']}"
    assert api.call("GET", first.headers["Location"]).body == first.body


def test_post_with_a_key_creates_once(api: Api) -> None:
    key = {"Idempotency-Key": "order-17"}
    first = api.call("POST", "/jobs", JOB, headers=key)
    api.clock.advance(120)
    again = api.call("POST", "/jobs", JOB, headers=key)
    assert (again.status, again.body) == (first.status, first.body)
    other = api.call("POST", "/jobs", {**JOB, "timeout": 5}, headers=key)
    assert (other.status, other.json["type"]) == (409, "urn:cronce:problem:key-reused")
    api.call("DELETE", first.headers["Location"])
    anew = api.call("POST", "/jobs", JOB, headers=key)
    assert anew.status == 201
    assert anew.json["status"]["uid"] != first.json["status"]["uid"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/jobs"), ("PUT", "/jobs/a")])
def test_many_at_once_are_one(over_memory: Api, method: str, path: str) -> None:
    """B59: ten in flight converge on one job; each is told the same."""
    apis = [
        Api(over_memory.store, over_memory.clock, over_memory.rows, random=SeededRandom(n))
        for n in range(10)
    ]
    start = threading.Barrier(10)

    def create(api: Api) -> Any:
        start.wait(10)
        return api.call(method, path, JOB, headers={"Idempotency-Key": "k"})

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(create, apis))
    assert {a.status for a in answers} <= {200, 201}
    assert len({a.body for a in answers}) == 1
    assert len([r for r in over_memory.rows.all() if r["sk"] == "JOB"]) == 1


# --- state


def test_pause_and_resume(api: Api) -> None:
    api.put("a")
    paused = api.call("POST", "/jobs/a/pause", {"note": "holidays"}, caller="arn:aws:iam::1:user/o")
    assert paused.status == 200
    status = paused.json["status"]
    assert (status["state"], status["reason"], status["next_run"]) == ("paused", "holidays", None)
    assert status["updated_by"] == "arn:aws:iam::1:user/o"
    assert api.call("POST", "/jobs/a/pause").body == paused.body
    api.clock.advance(3601)
    resumed = api.call("POST", "/jobs/a/resume").json["status"]
    assert (resumed["state"], resumed["reason"]) == ("active", "")
    assert resumed["next_run"] == "2026-11-30T11:05:00Z"
    assert api.call("POST", "/jobs/a/resume").json["status"] == resumed


def test_moves_that_the_state_forbids(api: Api) -> None:
    api.put("a", schedule={"at": "2026-11-30T10:01:00Z"})
    ended = api.call("GET", "/jobs/a").json["status"]
    assert ended["state"] == "ended"
    for verb in ("pause", "resume"):
        answer = api.call("POST", f"/jobs/a/{verb}")
        assert answer.status == 409
        assert answer.json["type"] == "urn:cronce:problem:wrong-state"
        assert answer.json["state"] == "ended"


def test_a_job_in_error_shows_why(api: Api) -> None:
    api.put("a")
    for row in api.rows.all():
        if row["sk"] == "JOB":
            changed = {**row, "status": "error", "reason": "unknown zone", "plan": {"x": "y"}}
            del changed["next_run"]
            api.rows.put(changed)
    status = api.call("GET", "/jobs/a").json["status"]
    assert (status["state"], status["reason"]) == ("error", "unknown zone")
    refused = api.call("POST", "/jobs/a/resume")
    assert (refused.status, refused.json["type"]) == (409, "urn:cronce:problem:unplannable")
    listed = api.call("GET", "/jobs", query={"status": "error"}).json["jobs"]
    assert [(job["id"], job["schedule"]) for job in listed] == [("a", None)]
    mended = api.put("a", schedule="rate(6 minutes)").json["status"]
    assert (mended["state"], mended["reason"]) == ("active", "")


# --- listings


def test_listing_by_group_and_state(api: Api) -> None:
    for n in range(5):
        api.put(f"j{n}", group="g" if n % 2 else "h")
    api.call("POST", "/jobs/j1/pause")
    listed = api.call("GET", "/jobs", query={"group": "g"}).json
    assert [job["id"] for job in listed["jobs"]] == ["j1", "j3"]
    assert listed["cursor"] is None
    assert listed["jobs"][1] == {
        "id": "j3",
        "group": "g",
        "schedule": {"rate": "5m", "timezone": "UTC"},
        "status": {
            "state": "active",
            "version": 1,
            "generation": 1,
            "uid": listed["jobs"][1]["status"]["uid"],
            "next_run": "2026-11-30T10:05:00Z",
            "next_occurrence": "2026-11-30T10:05:00Z",
            "reason": "",
        },
    }
    assert ids(api, {"status": "paused"}) == ["j1"]
    assert ids(api, {"status": "paused", "group": "h"}) == []
    assert sorted(ids(api, {})) == ["j0", "j1", "j2", "j3", "j4"]
    api.call("DELETE", "/jobs/j3")
    assert ids(api, {"group": "g"}) == ["j1"]


@pytest.mark.parametrize("limit", ["1", "2", "3", "4", "100"])
@pytest.mark.parametrize("query", [{}, {"group": "default"}, {"status": "active"}])
def test_pages_of_jobs_hold_each_once(api: Api, limit: str, query: dict[str, str]) -> None:
    for n in range(4):
        api.put(f"j{n}")
    assert sorted(ids(api, {**query, "limit": limit})) == ["j0", "j1", "j2", "j3"]


def ids(api: Api, query: dict[str, str]) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    for _ in range(20):
        page = api.call("GET", "/jobs", query=query | ({"cursor": cursor} if cursor else {}))
        assert page.status == 200, page.body
        found += [job["id"] for job in page.json["jobs"]]
        cursor = page.json["cursor"]
        if cursor is None:
            return found
    raise AssertionError("the listing has no end")


def test_a_cursor_of_another_listing(api: Api) -> None:
    for n in range(3):
        api.put(f"j{n}", group="g")
    cursor = api.call("GET", "/jobs", query={"group": "g", "limit": "1"}).json["cursor"]
    other = api.call("GET", "/jobs", query={"group": "h", "cursor": cursor})
    assert other.faults == [("query:cursor", "bad_cursor")]


def test_the_biggest_row_stays_below_a_write_unit(api: Api) -> None:
    """A long cron, dates to leave out, the longest id and group: as much as is accepted."""
    dates = [f"2027-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(40)]
    answer = None
    for minutes in range(60, 0, -1):
        schedule = {
            "cron": f"{','.join(str(m) for m in range(minutes))} 1,3,5 * * *",
            "timezone": "America/Argentina/ComodRivadavia",
            "start": "2026-12-01T00:00:00Z",
            "end": "2036-12-01T00:00:00Z",
            "jitter": "10s",
            "max_runs": 1_000_000,
            "dst": {"gap": "next", "overlap": "first"},
            "calendar": {"exclude": {"dates": dates}, "on_excluded": "next_business_day"},
        }
        misfire = {"policy": "run_all", "window": "1d", "cap": 50}
        job = {**JOB, "schedule": schedule, "group": "g" * 64, "misfire": misfire}
        answer = api.call("PUT", f"/jobs/{'x' * 128}", job)
        if answer.status == 201:
            break
        assert answer.faults == [("/schedule", "too_large")]
    assert answer is not None
    assert answer.status == 201
    [row] = [r for r in api.rows.all() if r["sk"] == "JOB"]
    assert PLAN_BYTES - 8 < stored_bytes(row["plan"]) <= PLAN_BYTES
    assert sum(len(name) + stored_bytes(value) for name, value in row.items()) < JOB_ROW_BYTES
