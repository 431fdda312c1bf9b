"""The API over real stores: events of API Gateway in, answers out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from cronce.control import Control
from cronce.handlers.api import OPERATIONS, build_app
from cronce.handlers.models import Problem
from cronce.handlers.operations import Parts
from cronce.ports import Outgoing, Ports, Store
from cronce.settings import Settings
from cronce.testing.clock import SettableClock
from cronce.testing.invoke import Context
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from support.stores import Engine, Rows, memory_engine, moto_client, table_engine

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
EVENTS = Path(__file__).parents[3] / "events" / "api"
CALLER = "arn:aws:sts::123456789012:assumed-role/Editor/alice"
TARGET = {"http": {"url": "https://hooks.example.com/in"}}
JOB: dict[str, Any] = {"schedule": "rate(5 minutes)", "target": TARGET}


class Outbox:
    """`cronce.ports.RunQueue`, of which the API only sends."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []

    def send(self, outgoing: Any) -> list[bool]:
        self.sent += outgoing
        return [True] * len(outgoing)

    def idle(self) -> bool:
        return not self.sent

    def hide(self, receipts: Any, seconds: int) -> None:
        raise NotImplementedError

    def dead_letter(self, body: str, reason: str) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def faults(self) -> list[tuple[str, str]]:
        return [(fault["pointer"], fault["code"]) for fault in self.json["errors"]]


@dataclass
class Api:
    """One deployment's API. `call` is what the gateway does."""

    store: Store
    clock: SettableClock
    rows: Rows
    outbox: Outbox = field(default_factory=Outbox)
    observer: RecordingObserver = field(default_factory=RecordingObserver)
    random: SeededRandom = field(default_factory=lambda: SeededRandom(1))

    def __post_init__(self) -> None:
        settings = Settings(
            allowed_targets=(
                "https://hooks.example.com",
                "arn:aws:sqs:eu-central-1:123456789012:in-*",
            )
        )
        ports = Ports(
            self.store,
            self.outbox,
            self.clock,
            InlineThreads(),
            self.random,
            self.observer,
        )
        self.control = Control(ports, settings)
        self.handler = build_app(Parts.of(self.control))

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        caller: str = CALLER,
    ) -> Answer:
        """body: a document, or text that is sent as it is."""
        event = proxy_event(method, path, body, headers or {}, query or {}, caller)
        answer = self.send(event)
        check_against_openapi(method, path, answer)
        return answer

    def send(self, event: dict[str, Any]) -> Answer:
        raw = self.handler(event, Context())
        many = raw.get("multiValueHeaders") or {}
        headers = {name: values[-1] for name, values in many.items()} | dict(
            raw.get("headers") or {}
        )
        assert raw.get("isBase64Encoded", False) is False
        return Answer(raw["statusCode"], headers, raw["body"] or "")

    def put(self, job_id: str = "a", **fields: Any) -> Answer:
        answer = self.call("PUT", f"/jobs/{job_id}", {**JOB, **fields})
        assert answer.status in (200, 201), answer.body
        return answer


def check_against_openapi(method: str, path: str, answer: Answer) -> None:
    """Every answer that a test gets is one that is documented, and of the shape that is."""
    if answer.status >= 400:
        Problem.model_validate_json(answer.body, strict=True)
    operation = next((o for o in OPERATIONS if o.method == method and matches(o.path, path)), None)
    if operation is None:
        assert answer.status in (404, 405)
        return
    assert answer.status in {*operation.answers, *operation.problems}
    model = operation.answers.get(answer.status)
    if model is not None:
        model.model_validate_json(answer.body, strict=True)


def matches(template: str, path: str) -> bool:
    pattern = "".join(
        "[^/]+" if part.startswith("{") else re.escape(part)
        for part in re.split(r"(\{\w+\})", template)
    )
    return re.fullmatch(pattern, path) is not None


def proxy_event(
    method: str,
    path: str,
    body: Any,
    headers: Mapping[str, str],
    query: Mapping[str, str],
    caller: str,
) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / "get_job.json").read_text())
    text = body if isinstance(body, str) or body is None else json.dumps(body, ensure_ascii=False)
    event |= {
        "path": path,
        "httpMethod": method,
        "body": text,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": {n: [v] for n, v in query.items()} or None,
        "pathParameters": {"proxy": path[1:]},
    }
    event["requestContext"]["identity"]["userArn"] = caller
    return event


@pytest.fixture(scope="session")
def moto() -> Iterator[Any]:
    with mock_aws():
        yield moto_client()


@pytest.fixture
def over_dynamo(moto: Any) -> Api:
    return api_over(table_engine("moto", moto))


@pytest.fixture
def over_memory() -> Api:
    return api_over(memory_engine())


def api_over(engine: Engine) -> Api:
    engine.clock.set(NOW)
    return Api(engine.store, engine.clock, engine.rows)


@pytest.fixture(params=["memory", "dynamo"])
def api(request: pytest.FixtureRequest) -> Api:
    """Over each store in turn."""
    made: Api = request.getfixturevalue(f"over_{request.param}")
    return made
