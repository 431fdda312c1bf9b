"""What the client sends, when it asks again, and what it makes of refusals."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from botocore.credentials import Credentials

from cronce.client import TRIES, ApiError, BadId, Client, NotSigned, Unreachable

from .conftest import HANG_UP, ScriptedApi

JOB = {"id": "a", "status": {"state": "active", "version": 1}}


def test_every_request_is_signed(client: Client, api: ScriptedApi) -> None:
    api.answer(200, JOB)
    assert client.get_job("a") == JOB
    (request,) = api.requests
    assert (request.method, request.path) == ("GET", "/prod/jobs/a")
    signature = request.headers["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert "/eu-central-1/execute-api/aws4_request" in signature
    assert request.headers["x-amz-security-token"] == "TOKEN"


def test_text_is_sent_untouched(client: Client, api: ScriptedApi) -> None:
    api.answer(201, JOB)
    text = '{"payload": {"b": 1.50, "a": 12345678901234567890123}}'
    client.put_job("a", text)
    assert api.requests[0].body == text.encode()
    assert api.requests[0].headers["content-type"] == "application/json"


def test_conditions_are_headers(client: Client, api: ScriptedApi) -> None:
    api.answer(200, JOB)
    client.put_job("a", {}, if_match=3)
    client.put_job("a", {}, if_none_match=True)
    assert [r.headers.get("if-match") for r in api.requests] == ['"3"', None]
    assert [r.headers.get("if-none-match") for r in api.requests] == [None, "*"]


@pytest.mark.parametrize(
    ("call", "method", "path"),
    [
        (lambda c: c.create_job({}), "POST", "/jobs"),
        (lambda c: c.patch_job("a", {}), "PATCH", "/jobs/a"),
        (lambda c: c.delete_job("a"), "DELETE", "/jobs/a"),
        (lambda c: c.run_job("a"), "POST", "/jobs/a/run"),
        (lambda c: c.pause("a", note="why"), "POST", "/jobs/a/pause"),
        (lambda c: c.resume("a"), "POST", "/jobs/a/resume"),
        (lambda c: c.upcoming("a", count=3), "GET", "/jobs/a/upcoming?count=3"),
        (lambda c: c.get_run("a", "r"), "GET", "/jobs/a/runs/r"),
        (lambda c: c.redrive("a", "r"), "POST", "/jobs/a/runs/r/redrive"),
        (lambda c: c.cancel("a", "r"), "POST", "/jobs/a/runs/r/cancel"),
        (lambda c: c.get_job("a b/c"), "GET", "/jobs/a%20b%2Fc"),
    ],
)
def test_routes(client: Client, api: ScriptedApi, call: Any, method: str, path: str) -> None:
    api.answer(200, {})
    call(client)
    assert (api.requests[0].method, api.requests[0].path) == (method, "/prod" + path)


@pytest.mark.parametrize("job_id", ["", ".", ".."])
def test_ids_that_would_leave_the_path(client: Client, job_id: str) -> None:
    with pytest.raises(BadId):
        client.get_job(job_id)


def test_pages_are_followed_and_no_more_than_asked_for(client: Client, api: ScriptedApi) -> None:
    api.answer(200, {"runs": [{"n": 1}, {"n": 2}], "cursor": "next"})
    api.answer(200, {"runs": [{"n": 3}], "cursor": None})
    assert [run["n"] for run in client.list_runs("a")] == [1, 2, 3]
    assert api.requests[1].path == "/prod/jobs/a/runs?limit=100&cursor=next"
    api.requests.clear()
    api.answers.clear()
    api.answer(200, {"runs": [{"n": 1}, {"n": 2}], "cursor": "next"})
    assert [run["n"] for run in client.list_runs("a", limit=3)] == [1, 2, 1]
    assert [r.path.split("?")[1] for r in api.requests] == ["limit=3", "limit=1&cursor=next"]


def test_an_empty_page_with_a_cursor_is_not_the_last(client: Client, api: ScriptedApi) -> None:
    api.answer(200, {"jobs": [], "cursor": "next"}).answer(200, {"jobs": [JOB], "cursor": None})
    assert list(client.list_jobs(group="g")) == [JOB]
    assert "group=g" in api.requests[1].path


def test_a_problem_keeps_what_it_said(client: Client, api: ScriptedApi) -> None:
    fault = {"pointer": "/schedule/cron", "code": "bad_cron", "detail": "no", "accepted": "5"}
    problem = {"type": "t", "title": "Invalid", "status": 422, "detail": "d", "errors": [fault]}
    api.answer(422, problem)
    with pytest.raises(ApiError) as refused:
        client.put_job("a", {})
    error = refused.value
    assert (error.status, error.type, error.detail) == (422, "t", "d")
    assert error.errors == [fault]
    assert len(api.requests) == 1


def test_a_refusal_that_is_no_document(client: Client, api: ScriptedApi) -> None:
    api.answer(502, "<html>")
    with pytest.raises(ApiError) as refused:
        client.get_job("a")
    assert (refused.value.status, refused.value.errors) == (502, [])


@pytest.mark.parametrize("status", [429, 503])
def test_throttled_calls_are_repeated(
    client: Client, api: ScriptedApi, waits: list[float], status: int
) -> None:
    api.answer(status, {}, Retry_After="2").answer(status, {}).answer(200, JOB)
    assert client.redrive("a", "r") == JOB
    assert len(waits) == 2
    assert waits[0] >= 2


def test_not_for_ever(client: Client, api: ScriptedApi, waits: list[float]) -> None:
    api.answer(503, {"detail": "busy"}, Retry_After="86400")
    with pytest.raises(ApiError, match="busy"):
        client.get_job("a")
    assert len(api.requests) == TRIES
    assert max(waits) <= 5


def test_a_lost_answer_of_a_repeatable_call(client: Client, api: ScriptedApi) -> None:
    api.answer(0, HANG_UP).answer(200, JOB)
    assert client.put_job("a", {"x": 1}) == JOB
    assert [request.body for request in api.requests] == [b'{"x": 1}'] * 2


def test_a_run_now_is_the_same_run_when_repeated(client: Client, api: ScriptedApi) -> None:
    api.answer(0, HANG_UP).answer(202, {"run_id": "r"})
    assert client.run_job("a") == {"run_id": "r"}
    first, second = (json.loads(request.body)["id"] for request in api.requests)
    assert first == second


def test_a_job_without_an_id_is_created_once(client: Client, api: ScriptedApi) -> None:
    api.answer(0, HANG_UP).answer(201, JOB)
    assert client.create_job({}) == JOB
    first, second = (request.headers["idempotency-key"] for request in api.requests)
    assert first == second


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.redrive("a", "r"),
        lambda c: c.put_job("a", {}, if_match=1),
        lambda c: c.put_job("a", {}, if_none_match=True),
    ],
)
def test_a_lost_answer_of_any_other_call(client: Client, api: ScriptedApi, call: Any) -> None:
    api.answer(0, HANG_UP).answer(200, JOB)
    with pytest.raises(Unreachable):
        call(client)
    assert len(api.requests) == 1


def test_a_delete_whose_answer_was_lost_finds_the_job_gone(
    client: Client, api: ScriptedApi
) -> None:
    api.answer(0, HANG_UP).answer(404, {"title": "gone"})
    client.delete_job("a")
    assert len(api.requests) == 2


def test_a_delete_that_was_not_all_done_finds_the_job_gone(
    client: Client, api: ScriptedApi
) -> None:
    api.answer(503, {"title": "not available"}).answer(404, {"title": "gone"})
    client.delete_job("a")
    assert len(api.requests) == 2


def test_a_delete_of_nothing_is_not_found(client: Client, api: ScriptedApi) -> None:
    api.answer(404, {"title": "no such job"})
    with pytest.raises(ApiError):
        client.delete_job("a")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/prod"
    waits: list[float] = []
    client = Client(url, Credentials("A", "S"), "eu-central-1", sleep=waits.append)
    with pytest.raises(Unreachable, match=r"does not answer.*refused"):
        client.create_job({})
    assert len(waits) == TRIES - 1


def test_without_credentials() -> None:
    with pytest.raises(NotSigned):
        Client("http://127.0.0.1:1", None, "eu-central-1")
