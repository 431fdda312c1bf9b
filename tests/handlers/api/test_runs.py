"""Runs over the API: now, listed, shown, cancelled, redriven."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.domain.identity import parse_run_id
from cronce.domain.run import Entry, LogPointer
from cronce.domain.transitions import Claim, Ending

from .conftest import CALLER, NOW, Api

HISTORY = 30 * 86_400


def test_run_now(api: Api) -> None:
    api.put("a")
    answer = api.call("POST", "/jobs/a/run")
    assert answer.status == 202
    run = answer.json
    assert answer.headers["Location"] == f"/jobs/a/runs/{run['run_id']}"
    assert run["run_id"].startswith("20261130T100000Z-")
    assert run == {
        "job_id": "a",
        "run_id": run["run_id"],
        "status": "pending",
        "scheduled_for": "2026-11-30T10:00:00Z",
        "due": "2026-11-30T10:00:00Z",
        "trigger": run["run_id"].split("-", 2)[2],
        "triggered_by": CALLER,
        "attempt": 0,
        "started_at": None,
        "finished_at": None,
        "held_until": None,
        "lease_expires_at": None,
        "retry_at": None,
        "code": "",
        "detail": "",
        "attempts": [],
        "log": {"group": "", "stream": "", "request_id": ""},
    }
    assert api.call("GET", answer.headers["Location"]).json["run_id"] == run["run_id"]
    assert [o.message.key.run_id for o in api.outbox.sent] == [run["run_id"]]


@pytest.mark.parametrize(("body", "headers"), [({"id": "x"}, {}), (None, {"Idempotency-Key": "x"})])
def test_the_same_id_runs_once(api: Api, body: Any, headers: dict[str, str]) -> None:
    api.put("a")
    first = api.call("POST", "/jobs/a/run", body, headers=headers)
    api.clock.advance(90)
    again = api.call("POST", "/jobs/a/run", body, headers=headers)
    assert (first.status, again.status) == (202, 200)
    assert again.json["run_id"] == first.json["run_id"]
    assert first.json["trigger"] == "m-x"
    assert len(api.outbox.sent) == 1


def test_a_paused_job_still_runs_by_request(api: Api) -> None:
    api.put("a")
    api.call("POST", "/jobs/a/pause")
    assert api.call("POST", "/jobs/a/run").status == 202


def test_a_run_that_worked_is_shown_whole(api: Api) -> None:
    run = worked(api, "a")
    answer = api.call("GET", f"/jobs/a/runs/{run}").json
    assert answer["status"] == "failed"
    assert answer["attempt"] == 1
    assert answer["code"] == "http_500"
    assert answer["started_at"] == "2026-11-30T10:00:00Z"
    assert answer["finished_at"] == "2026-11-30T10:00:01.500Z"
    assert answer["log"] == {"group": "g", "stream": "s", "request_id": "r"}
    assert answer["attempts"] == [
        {
            "attempt": 1,
            "outcome": "failed",
            "code": "http_500",
            "detail": "oops",
            "started_at": "2026-11-30T10:00:00Z",
            "finished_at": "2026-11-30T10:00:01.500Z",
        }
    ]


def test_listing_goes_back_in_time_and_holds_each_once(api: Api) -> None:
    api.put("a")
    assert api.call("GET", "/jobs/a/runs").json == {"runs": [], "cursor": None}
    for n in range(5):
        api.call("POST", "/jobs/a/run", {"id": str(n)})
        api.clock.advance(1)
    for limit in ("1", "2", "5", "6"):
        found: list[str] = []
        cursor = None
        for _ in range(9):
            query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = api.call("GET", "/jobs/a/runs", query=query).json
            found += [run["trigger"] for run in page["runs"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert found == ["m-4", "m-3", "m-2", "m-1", "m-0"]
    api.call("DELETE", "/jobs/a")
    assert len(api.call("GET", "/jobs/a/runs").json["runs"]) == 5


def test_those_of_one_status(api: Api) -> None:
    failed = worked(api, "a")
    for n in range(3):
        api.clock.advance(1)
        api.call("POST", "/jobs/a/run", {"id": str(n)})

    def found(**query: str) -> list[str]:
        answer = api.call("GET", "/jobs/a/runs", query=query)
        assert answer.status == 200, answer.body
        return [run["run_id"] for run in answer.json["runs"]]

    assert found(status="failed") == [failed]
    assert found(status="failed", limit="1") == [failed]
    assert len(found(status="pending")) == 3
    assert found(status="succeeded") == []
    refused = api.call("GET", "/jobs/a/runs", query={"status": "bad"})
    assert refused.faults == [("query:status", "unknown_value")]
    api.call("DELETE", "/jobs/a")
    assert found(status="failed") == [failed]
    assert found(status="missed") == []
    assert api.call("GET", "/jobs/none/runs", query={"status": "failed"}).status == 404


def test_a_cursor_of_another_job(api: Api) -> None:
    for job in "ab":
        api.put(job)
        for n in range(2):
            api.call("POST", f"/jobs/{job}/run", {"id": str(n)})
    cursor = api.call("GET", "/jobs/a/runs", query={"limit": "1"}).json["cursor"]
    answer = api.call("GET", "/jobs/b/runs", query={"cursor": cursor})
    assert answer.faults == [("query:cursor", "bad_cursor")]


@pytest.mark.parametrize(
    "run_id", ["x", "20261130T100000Z-aaaaaaaa", "20261399T100000Z-aaaaaaaa", "%2e%2e", "a" * 600]
)
def test_runs_that_are_not_there(api: Api, run_id: str) -> None:
    api.put("a")
    for method, tail in (("GET", ""), ("POST", "/cancel"), ("POST", "/redrive")):
        answer = api.call(method, f"/jobs/a/runs/{run_id}{tail}")
        assert (answer.status, answer.json["type"]) == (404, "urn:cronce:problem:run-not-found")


def test_jobs_that_are_not_there(api: Api) -> None:
    for method, tail in (("POST", "/run"), ("GET", "/runs")):
        answer = api.call(method, f"/jobs/none{tail}")
        assert (answer.status, answer.json["type"]) == (404, "urn:cronce:problem:job-not-found")


def test_cancel(api: Api) -> None:
    api.put("a")
    path = api.call("POST", "/jobs/a/run").headers["Location"]
    cancelled = api.call("POST", f"{path}/cancel")
    assert cancelled.status == 200
    assert cancelled.json["status"] == "cancelled"
    assert CALLER in cancelled.json["detail"]
    assert api.call("POST", f"{path}/cancel").json == cancelled.json
    refused = api.call("POST", f"{path}/redrive")
    assert (refused.status, refused.json["state"]) == (409, "cancelled")


def test_redrive(api: Api) -> None:
    run = worked(api, "a")
    api.clock.advance(60)
    path = f"/jobs/a/runs/{run}"
    answer = api.call("POST", f"{path}/redrive", caller="arn:aws:iam::1:user/ops")
    assert answer.status == 202
    assert answer.json["status"] == "retrying"
    assert answer.json["triggered_by"] == "arn:aws:iam::1:user/ops"
    assert answer.json["attempt"] == 1
    again = api.call("POST", f"{path}/redrive")
    assert (again.status, again.json["state"]) == (409, "retrying")


def test_what_needs_attention(api: Api) -> None:
    runs = [worked(api, f"j{n}") for n in range(3)]
    skipped(api, "j0")
    found = api.call("GET", "/runs", query={"status": "failed"}).json
    assert [run["run_id"] for run in found["runs"]] == runs[::-1]
    assert found["cursor"] is None
    assert {run["status"] for run in api.call("GET", "/runs").json["runs"]} == {
        "failed",
        "skipped",
    }
    later = {"from": "2026-11-30T10:00:03Z"}
    assert [run["job_id"] for run in api.call("GET", "/runs", query=later).json["runs"]] == [
        "j0",
        "j2",
        "j1",
    ]
    earlier = {"to": "2026-11-30T10:00:02+00:00"}
    assert [run["job_id"] for run in api.call("GET", "/runs", query=earlier).json["runs"]] == ["j0"]
    api.call("POST", f"/jobs/j1/runs/{runs[1]}/redrive")
    assert runs[1] not in [r["run_id"] for r in api.call("GET", "/runs").json["runs"]]


@pytest.mark.parametrize("limit", ["1", "2", "100"])
def test_attention_pages_over_days(api: Api, limit: str) -> None:
    wanted = []
    for days in (100, 5, 4, 0):
        api.clock.set(NOW - timedelta(days=days))
        wanted += [worked(api, f"d{days}-{n}") for n in range(2)]
    api.clock.set(NOW + timedelta(minutes=1))
    found: list[str] = []
    query = {"limit": limit, "from": "2026-01-01T00:00:00Z"}
    for _ in range(30):
        page = api.call("GET", "/runs", query=query)
        assert page.status == 200, page.body
        found += [run["run_id"] for run in page.json["runs"]]
        if page.json["cursor"] is None:
            break
        query["cursor"] = page.json["cursor"]
    assert found == wanted[::-1]


def worked(api: Api, job: str) -> str:
    """A run that has failed 1.5 s after now; its id."""
    api.put(job)
    run = api.call("POST", f"/jobs/{job}/run").json
    key = parse_run_id(job, run["run_id"])
    assert key is not None
    now = api.clock.now()
    claim = Claim(
        owner="o",
        message_id="m",
        due=now,
        lease_expires_at=now + timedelta(seconds=30),
        log=LogPointer("g", "s", "r"),
    )
    api.store.claim(key, claim, now=now)
    ended = api.clock.advance(1.5)
    entry = Entry(1, "failed", "http_500", "oops", now, ended)
    api.store.fail(key, "o", entry, Ending("http_500", "oops", HISTORY), now=ended)
    return str(run["run_id"])


def skipped(api: Api, job: str) -> None:
    run = api.call("POST", f"/jobs/{job}/run").json
    key = parse_run_id(job, run["run_id"])
    assert key is not None
    api.clock.advance(1)
    api.store.skip(key, api.clock.now(), Ending("late", "", HISTORY), now=api.clock.now())
