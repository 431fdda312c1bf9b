"""Every error has one answer, and nothing leaves the function as an exception."""

from __future__ import annotations

from typing import Any

import pytest

from cronce.domain import errors
from cronce.handlers import problems
from cronce.handlers.api import OPERATIONS
from cronce.testing.invoke import Context

from .conftest import JOB, Api, proxy_event

RAISED: list[tuple[Exception, int, str, dict[str, Any]]] = [
    (errors.NotJson("bad"), 400, "not-json", {"errors": []}),
    (problems.NoRoute("x"), 404, "no-route", {}),
    (errors.JobNotFound("a"), 404, "job-not-found", {}),
    (errors.RunNotFound("a", "r"), 404, "run-not-found", {}),
    (problems.MethodNotAllowed("PUT", ["GET"]), 405, "method-not-allowed", {}),
    (errors.WrongState("job", "ended", "pause"), 409, "wrong-state", {"state": "ended"}),
    (errors.Unplannable("broken row"), 409, "unplannable", {}),
    (problems.KeyReused("x"), 409, "key-reused", {}),
    (errors.VersionMismatch("a", 3), 412, "version-mismatch", {"current_version": 3}),
    (errors.AlreadyExists("a", 2), 412, "already-exists", {"current_version": 2}),
    (errors.TooLarge("the body", 9, 5), 413, "too-large", {"size": 9, "limit": 5}),
    (
        errors.Invalid.one("/a", "bad", "no", "yes"),
        422,
        "invalid",
        {"errors": [{"pointer": "/a", "code": "bad", "detail": "no", "accepted": "yes"}]},
    ),
    (errors.Throttled("slow down"), 429, "throttled", {}),
    (errors.Unavailable("table"), 503, "unavailable", {}),
    (errors.CronceError("unforeseen"), 500, "internal-error", {}),
    (RuntimeError("secret"), 500, "internal-error", {}),
    (RecursionError(), 500, "internal-error", {}),
]


@pytest.mark.parametrize(
    ("error", "status", "slug", "extra"), RAISED, ids=[type(r[0]).__name__ for r in RAISED]
)
def test_each_error_has_its_answer(
    over_memory: Api, error: Exception, status: int, slug: str, extra: dict[str, Any]
) -> None:
    def fail(job_id: str) -> Any:
        raise error

    over_memory.store.read_job = fail  # type: ignore[method-assign]
    answer = over_memory.send(proxy_event("GET", "/jobs/a", None, {}, {}, "arn:x"))
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json
    assert body["type"] == f"urn:cronce:problem:{slug}"
    assert body["status"] == status
    assert body["title"]
    assert body["request_id"] == "6f3c2f8e-1d7a-4b8e-9f61-2f1f2b3c4d5e"
    assert extra.items() <= body.items()
    assert ("Retry-After" in answer.headers) == (status in (429, 503))
    assert answer.headers.get("Allow") == ("GET" if status == 405 else None)
    logged = over_memory.observer.of("api_failed")
    assert bool(logged) == (status >= 500)
    if status == 500:
        assert "secret" not in answer.body
        assert "detail" not in body
        assert type(error).__name__ in str(logged[0].fields["trace"])


def test_the_table_knows_every_error() -> None:
    def below(kind: type[Exception]) -> set[type[Exception]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    known = {kind for kind, _ in problems.TABLE}
    ours = {k for k in below(errors.CronceError) if k.__module__.startswith("cronce.domain")}
    for kind in ours - {errors.CronceError}:
        assert any(issubclass(kind, entry) for entry in known), kind


def test_types_are_unique() -> None:
    types = [problem.type for _, problem in problems.TABLE]
    assert len(set(types)) == len(types)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", ""),
        ("GET", "/nothing"),
        ("GET", "/jobs/a/b"),
        ("GET", "/jobs/a/runs/b/c"),
        ("POST", "/jobs/a/runs/b/c/cancel"),
        ("GET", "//jobs"),
        ("GET", "/jobs//runs"),
        ("GET", "/job\u2028s"),
        ("GET", "/%6aobs"),
    ],
)
def test_no_such_route(over_memory: Api, method: str, path: str) -> None:
    answer = over_memory.call(method, path)
    assert (answer.status, answer.json["type"]) == (404, "urn:cronce:problem:no-route")


@pytest.mark.parametrize("path", sorted({operation.path for operation in OPERATIONS}))
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_told_which_there_are(over_memory: Api, path: str, method: str) -> None:
    allowed = sorted(o.method for o in OPERATIONS if o.path == path)
    if method in allowed:
        return
    real = path.replace("{job_id}", "a").replace("{run_id}", "r")
    answer = over_memory.call(method, real)
    assert answer.status == 405
    assert sorted(answer.headers["Allow"].split(", ")) == allowed
    assert answer.json["type"] == "urn:cronce:problem:method-not-allowed"


EVENTS: list[Any] = [
    {},
    {"path": None, "httpMethod": None},
    {"path": "/jobs/a", "httpMethod": "GET", "headers": None, "requestContext": None},
    {"path": "/jobs/a", "httpMethod": "PUT", "body": None, "requestContext": {}},
    {"path": "/jobs/a", "httpMethod": "PUT", "body": "{", "isBase64Encoded": True},
    {"path": 5, "httpMethod": "GET"},
    {"version": "2.0", "rawPath": "/jobs/a"},
]


@pytest.mark.parametrize("event", EVENTS, ids=range(len(EVENTS)))
def test_events_that_no_gateway_sends(over_memory: Api, event: Any) -> None:
    answer = over_memory.handler(event, Context())
    assert answer["statusCode"] in (400, 404, 422, 500)
    assert "urn:cronce:problem:" in answer["body"]


def test_the_base_path_of_a_custom_domain_is_not_part_of_the_route(over_memory: Api) -> None:
    over_memory.put("a")
    event = proxy_event("GET", "/jobs/a", None, {}, {}, "arn:x") | {"path": "/scheduler/jobs/a"}
    assert over_memory.send(event).json["id"] == "a"
    event["path"] = "/scheduler/jobs/b"
    assert over_memory.send(event).json["type"] == "urn:cronce:problem:no-route"


def test_a_queue_that_is_down_does_not_fail_a_create(over_memory: Api) -> None:
    def fail(outgoing: Any) -> list[bool]:
        raise errors.Unavailable("queue")

    over_memory.outbox.send = fail  # type: ignore[method-assign]
    assert over_memory.put("a", schedule={"rate": "60s"}).status == 201
    assert over_memory.call("POST", "/jobs/a/run").status == 202


def test_no_cors_headers_are_sent(over_memory: Api) -> None:
    over_memory.put("a")
    headers = {"Origin": "https://example.com", "Access-Control-Request-Method": "PUT"}
    for method, path in (("GET", "/jobs/a"), ("GET", "/jobs/b"), ("OPTIONS", "/jobs/a")):
        answer = over_memory.call(method, path, headers=headers)
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


# --- identity


@pytest.mark.parametrize(
    ("context", "by"),
    [
        ({"identity": {"userArn": "arn:x", "caller": "c"}}, "arn:x"),
        ({"identity": {"userArn": None, "caller": "AIDA:bob"}}, "AIDA:bob"),
        ({"identity": {"user": "AIDA"}}, "AIDA"),
        ({"identity": {}, "authorizer": {"claims": {"sub": "s-1"}}}, "s-1"),
        ({"authorizer": {"principalId": "p"}}, "p"),
        ({"identity": {"userArn": "x" * 5000}}, "x" * 256),
        ({"identity": {"userArn": 5}}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_caller_is_whom_the_gateway_knows(
    over_memory: Api, context: dict[str, Any], by: str
) -> None:
    claimed = {
        "X-Amz-User-Arn": "arn:forged",
        "X-Forwarded-User": "root",
        "Authorization": "AWS4-HMAC-SHA256 Credential=FORGED/x",
    }
    event = proxy_event("PUT", "/jobs/a", {**JOB}, claimed, {}, "")
    event["requestContext"] = context
    assert over_memory.send(event).json["status"]["created_by"] == by


def test_who_changed_and_who_triggered(api: Api) -> None:
    api.put("a")
    api.call("PUT", "/jobs/a", {**JOB, "timeout": 5}, caller="arn:second")
    status = api.call("GET", "/jobs/a").json["status"]
    assert status["created_by"].endswith("/alice")
    assert status["updated_by"] == "arn:second"
    run = api.call("POST", "/jobs/a/run", caller="arn:third").json
    assert run["triggered_by"] == "arn:third"
