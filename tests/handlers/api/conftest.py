"""The API over real stores: events of API Gateway in, answers out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cronce.adapters.aws_errors import CLIENT_CONFIG
from cronce.adapters.dynamodb import DynamoStore
from cronce.adapters.layout import INDEXES, PK, SK
from cronce.control import Control
from cronce.handlers.api import build_app
from cronce.handlers.operations import Parts
from cronce.ports import Outgoing, Ports, Store
from cronce.settings import Settings
from cronce.testing.clock import SettableClock
from cronce.testing.invoke import Context
from cronce.testing.memory import MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads

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
    outbox: Outbox = field(default_factory=Outbox)
    observer: RecordingObserver = field(default_factory=RecordingObserver)

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
            SeededRandom(1),
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
        return self.send(event)

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
        "pathParameters": {"proxy": path.lstrip("/")},
    }
    event["requestContext"]["identity"]["userArn"] = caller
    return event


def create_table(client: Any) -> str:
    keys = {PK: "S", SK: "S"}
    for index in INDEXES:
        keys |= {index.partition: index.kinds[0], index.sort: index.kinds[1]}
    client.create_table(
        TableName="cronce",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=_schema(PK, SK),
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": index.name,
                "KeySchema": _schema(index.partition, index.sort),
                "Projection": (
                    {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.include)}
                    if index.include
                    else {"ProjectionType": "KEYS_ONLY"}
                ),
            }
            for index in INDEXES
        ],
    )
    return "cronce"


def _schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


@pytest.fixture
def over_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1", config=CLIENT_CONFIG)
        clock = SettableClock(NOW)
        table = create_table(client)
        yield Api(DynamoStore(client, table, clock=clock, random=SeededRandom(2)), clock)


@pytest.fixture
def over_memory() -> Api:
    clock = SettableClock(NOW)
    return Api(MemoryStore(clock), clock)


@pytest.fixture(params=["memory", "dynamo"])
def api(request: pytest.FixtureRequest) -> Api:
    """Over each store in turn."""
    made: Api = request.getfixturevalue(f"over_{request.param}")
    return made
