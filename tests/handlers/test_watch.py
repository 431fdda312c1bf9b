"""The watch on an index of a real engine: how long the oldest due row has been waiting."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import boto3
import pytest
from moto import mock_aws

from cronce.adapters.dynamodb import DynamoStore
from cronce.adapters.observer import PowertoolsObserver
from cronce.adapters.overdue import OldestDue
from cronce.domain.instants import to_wire
from cronce.handlers import watch, wiring
from cronce.testing.clock import SettableClock
from support.table import create_table

EVENTS = Path(__file__).parents[2] / "events" / "watch"
NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
SHARDS = 3


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator["Rows"]:
    with mock_aws():
        made = boto3.client(
            "dynamodb", "us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
        )
        table = create_table(made, f"cronce-{uuid4().hex[:12]}")
        lookout = wiring.Lookout(
            OldestDue(made, table, SHARDS),
            SettableClock(NOW),
            PowertoolsObserver("jobs"),
            "emulator",
        )
        monkeypatch.setattr(wiring, "lookout", lambda: lookout)
        yield Rows(made, table)


@dataclass(frozen=True)
class Rows:
    client: Any
    table: str


def put(rows: Rows, shard: int, next_run: str) -> None:
    rows.client.put_item(
        TableName=rows.table,
        Item={
            "pk": {"S": f"JOB#{shard}{next_run}"},
            "sk": {"S": "JOB"},
            "shard": {"N": str(shard)},
            "next_run": {"S": next_run},
        },
    )


def event(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return found


def test_an_empty_index_is_not_overdue(client: Rows) -> None:
    assert watch.handler(event("tick"), None) == {"overdue": 0.0}


def test_what_is_still_to_come_is_not_overdue(client: Rows) -> None:
    put(client, 0, to_wire(NOW + timedelta(seconds=1)))
    assert watch.handler({}, None) == {"overdue": 0.0}


def test_the_oldest_row_of_all_shards_counts(client: Rows) -> None:
    for shard, late in ((0, 60), (1, -3600), (2, 300), (2, 10)):
        put(client, shard, to_wire(NOW - timedelta(seconds=late)))
    assert watch.handler({}, None) == {"overdue": 300.0}


def test_shards_of_a_larger_deployment_before_are_still_looked_at(client: Rows) -> None:
    """The number in the table only grows; the dispatcher's own write puts it there."""
    store = DynamoStore(client.client, client.table)
    later = NOW + timedelta(seconds=45)
    for shards in (7, SHARDS):
        assert store.acquire_lease(0, "me", now=NOW, expires_at=later, shards=shards)
    put(client, 6, to_wire(NOW - timedelta(seconds=200)))
    assert watch.handler({}, None) == {"overdue": 200.0}


def test_a_row_whose_time_cannot_be_read_leaves_the_alarm_without_its_number(
    client: Rows, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lookout = replace(wiring.lookout(), observer=PowertoolsObserver("unreadable"))
    monkeypatch.setattr(wiring, "lookout", lambda: lookout)
    put(client, 1, "0000")
    with pytest.raises(ValueError, match="0000"):
        watch.handler({}, None)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["action"] == "watch_failed"


@pytest.mark.parametrize("kind", ["Create", "Update", "Delete"])
@pytest.mark.parametrize("readable", [True, False])
def test_a_deployment_is_answered_success_whatever_was_seen(
    client: Rows, kind: str, readable: bool
) -> None:
    put(client, 0, to_wire(NOW) if readable else "0000")
    asked = event("first_look") | {"RequestType": kind}
    with answers() as (url, got):
        watch.handler({**asked, "ResponseURL": url}, None)
    assert b'"Status": "SUCCESS"' in got[0]
    assert b'"PhysicalResourceId": "CronceFirstLook9ECAFC73"' in got[0]


class answers:
    """(url, bodies that were put there), while it lasts."""

    def __enter__(self) -> tuple[str, list[bytes]]:
        got: list[bytes] = []

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                got.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_address[1]}/", got

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
