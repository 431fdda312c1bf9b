"""The shipped functions as Lambda calls them, over the test kit's store, queue and clock; and a
process that dies at a call of its choice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cronce import limits
from cronce.adapters.items import LEASE_SK, MISSED_PREFIX, lease_pk
from cronce.dispatch import tick
from cronce.domain.instants import from_wire, to_api
from cronce.handlers import dispatcher, wiring, worker
from cronce.handlers.api import build_app
from cronce.handlers.operations import Parts
from cronce.ports import Outgoing, Ports
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call, succeeded
from cronce.testing.driver import Driver
from cronce.testing.invoke import Context
from cronce.testing.memory_queue import Received

EVENTS = Path(__file__).parents[2] / "events"
URL = {"http": {"url": "https://hooks.example.com/in"}}
SETTINGS = Settings(allowed_targets=("https://hooks.example.com",))


class Killed(BaseException):
    """The process is gone; no `except Exception` may notice."""


@dataclass
class Recorder:
    """A target that notes its calls. does: what happens at a call, and what it answers."""

    does: Callable[[Call], Answer] = lambda call: succeeded("http_200")
    calls: list[Call] = field(default_factory=list)

    def execute(self, call: Call) -> Answer:
        self.calls.append(call)
        return self.does(call)

    @property
    def executions(self) -> Counter[tuple[str, datetime]]:
        """By job and occurrence."""
        return Counter((call.job_id, call.scheduled_for) for call in self.calls)


class Raw:
    """A body in the queue that nobody of ours has written."""

    def __init__(self, body: str) -> None:
        self.body = body

    def to_body(self) -> str:
        return self.body


@dataclass
class Doom:
    """at: the number of the call at which the process dies. applied: after it was, or before.
    only: of the calls of this name. calls: those that were made, by name."""

    at: int
    applied: bool = True
    only: str = ""
    calls: list[str] = field(default_factory=list)

    def around(self, ports: Ports) -> Ports:
        store: Any = _Doomed(ports.store, self)
        queue: Any = _Doomed(ports.queue, self)
        return replace(ports, store=store, queue=queue)

    def call(self, name: str, apply: Callable[[], Any]) -> Any:
        if self.only not in ("", name):
            return apply()
        self.calls.append(name)
        mine = len(self.calls) == self.at
        if mine and not self.applied:
            raise Killed
        result = apply()
        if mine:
            raise Killed
        return result


class _Doomed:
    def __init__(self, inner: Any, doom: Doom) -> None:
        self._inner, self._doom = inner, doom

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return lambda *args, **kw: self._doom.call(name, lambda: method(*args, **kw))


class Kit(Driver):
    """The test kit, and what the cases look at beside it."""

    target: Recorder

    def __init__(self, at: datetime, target: Recorder | None = None) -> None:
        super().__init__(target or Recorder(), at=at, settings=SETTINGS)

    def job(self, job_id: str = "a", schedule: Any = "rate(5 minutes)", **more: Any) -> None:
        self.put(job_id, {"schedule": schedule, "target": URL, **more})

    def tick_of(self, ports: Ports, event_time: datetime | None = None) -> Any:
        """A tick of another process, or for another event."""
        deadline = ports.clock.now() + timedelta(seconds=limits.DISPATCHER_STOP_AFTER)
        return tick(
            ports, self.settings, event_time=event_time or self.clock.now(), deadline=deadline
        )

    def depose(self) -> None:
        """Nobody leads, as if the dispatcher's lease had run out in mid-tick."""
        self.store.rows.delete(lease_pk(self.settings.slice), LEASE_SK)

    def deliver_all(self) -> None:
        """Whatever is visible now."""
        for _ in range(1000):
            if self.deliver() is None:
                return
        raise AssertionError("messages without end")

    def row(self, job_id: str = "a") -> Mapping[str, Any]:
        found = self.store.rows.get(f"JOB#{job_id}", "JOB")
        assert found is not None
        return found

    def next_of(self, job_id: str = "a") -> datetime | None:
        found = self.row(job_id).get("next_run")
        return None if found is None else from_wire(str(found))

    def statuses(self, job_id: str = "a") -> list[str]:
        return [run.status for run in self.runs(job_id)]

    def missed(self) -> list[tuple[str, str, int, str, str]]:
        """(first, last, count, policy, reason), the first one first."""
        rows = [r for r in self.store.rows.all() if str(r["sk"]).startswith(MISSED_PREFIX)]
        return [
            (to_api(from_wire(str(r["first"]))), to_api(from_wire(str(r["last"]))), *_why(r))
            for r in rows
            if r["count"]
        ]


def _why(row: Mapping[str, Any]) -> tuple[int, str, str]:
    return int(row["count"]), str(row["policy"]), str(row["reason"])


class Functions:
    """kit: the deployment. What Lambda does: events in, answers out."""

    def __init__(self, kit: Kit, patch: pytest.MonkeyPatch) -> None:
        self.kit = kit
        observer: Any = SimpleNamespace(flush=lambda: None, event=kit.observer.event)
        patch.setattr(wiring, "app", lambda: wiring.App(kit.ports, kit.settings, observer))
        patch.setattr(wiring, "target", lambda: kit.target)
        self._api = build_app(Parts.of(kit.control))
        self._request = json.loads((EVENTS / "api" / "get_job.json").read_text())
        self._tick = json.loads((EVENTS / "dispatcher" / "tick.json").read_text())

    def tick(self, event_time: datetime) -> dict[str, Any]:
        """The rule's event of that time, now."""
        event = {**self._tick, "time": to_api(event_time)}
        return dispatcher.handler(event, Context(milliseconds=55_000))

    def send(self, *bodies: str) -> None:
        outgoing: list[Any] = [Outgoing(Raw(body), 0) for body in bodies]  # type: ignore[arg-type]
        self.kit.queue.send(outgoing)

    def work(self, most: int = 10) -> tuple[list[Received], list[str]]:
        """One batch of what is visible: it, and the ids that go back. The others are deleted."""
        batch = self.kit.queue.receive(most)
        records = [
            {"body": m.body, "messageId": m.message_id, "receiptHandle": m.receipt} for m in batch
        ]
        answer = worker.handler({"Records": records}, Context())
        assert list(answer) == ["batchItemFailures"]
        returned = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        for message in batch:
            if message.message_id not in returned:
                self.kit.queue.delete(message.receipt)
        return batch, returned

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        """Status and body of the API's answer."""
        answer = self.answer(method, path, body)
        return answer["statusCode"], answer["body"]

    def answer(
        self,
        method: str,
        path: str,
        body: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        encoded: bool = False,
    ) -> dict[str, Any]:
        """What the gateway gets. encoded: the body is base64."""
        event = {
            **self._request,
            "path": path,
            "httpMethod": method,
            "body": body,
            "isBase64Encoded": encoded,
            "pathParameters": {"proxy": path[1:]},
            "headers": dict(headers or {}),
            "multiValueHeaders": {name: [value] for name, value in (headers or {}).items()},
        }
        return self._api(event, Context())
