"""Jobs over the API: create, read, replace, delete."""

from __future__ import annotations

from .conftest import CALLER, JOB, Api


def test_put_creates_and_get_answers_the_same(api: Api) -> None:
    created = api.call("PUT", "/jobs/team-a.x", JOB)
    assert created.status == 201
    assert created.headers["ETag"] == '"1"'
    assert created.headers["Location"] == "/jobs/team-a.x"
    assert created.headers["Content-Type"] == "application/json"
    got = api.call("GET", "/jobs/team-a.x")
    assert got.status == 200
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
    }


def test_the_same_put_again_changes_nothing(api: Api) -> None:
    first = api.put("a")
    api.clock.advance(77)
    second = api.call("PUT", "/jobs/a", JOB)
    assert (second.status, second.body) == (200, first.body)


def test_delete_and_gone(api: Api) -> None:
    api.put("a")
    assert api.call("DELETE", "/jobs/a").status == 204
    assert api.call("DELETE", "/jobs/a").status == 404
    assert api.call("GET", "/jobs/a").json["type"] == "urn:cronce:problem:job-not-found"
