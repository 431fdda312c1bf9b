"""The dispatcher and the worker as Lambda calls them: each sample event, over DynamoDB and SQS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from cronce.adapters.sqs import SqsQueue
from cronce.domain.identity import RunKey
from cronce.domain.job import Definition, Job, make_plan
from cronce.domain.plan import Due, Misfire
from cronce.domain.run import Run
from cronce.domain.schedule import parse_schedule
from cronce.handlers import dispatcher, wiring, worker
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call, refused, succeeded
from cronce.testing.invoke import Context
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from support.stores import Engine, moto_client, table_engine

EVENTS = Path(__file__).parents[2] / "events"
DUE = datetime(2026, 11, 30, 1, 30, tzinfo=UTC)
BEFORE = DUE - timedelta(minutes=3)


class Observer(RecordingObserver):
    def flush(self) -> None:
        self.flushed = True


class Called:
    """A target that answers by the name of the job."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def execute(self, call: Call) -> Answer:
        self.calls.append(call)
        return refused("http_400", "no") if call.job_id == "broken" else succeeded("http_200", "ok")


class Deployment:
    """Real adapters over moto, and a clock that stands at the due time."""

    def __init__(self) -> None:
        self.engine: Engine = table_engine("moto", moto_client())
        self.engine.clock.set(DUE)
        self.sqs = moto_client("sqs")
        self.queue_url = self.sqs.create_queue(QueueName="runs")["QueueUrl"]
        self.dead_url = self.sqs.create_queue(QueueName="dead")["QueueUrl"]
        self.observer = Observer()
        self.target = Called()
        queue = SqsQueue(self.sqs, self.queue_url, self.dead_url, self.observer)
        ports = Ports(
            self.engine.store,
            queue,
            self.engine.clock,
            InlineThreads(),
            SeededRandom(1),
            self.observer,
        )
        self.app: Any = wiring.App(ports, Settings(), self.observer)  # type: ignore[arg-type]

    def job(self, job_id: str, uid: str, **over: Any) -> None:
        schedule = parse_schedule("30 1 * * *", now=BEFORE)
        job = Job(
            job_id=job_id,
            uid=uid,
            generation=1,
            version=1,
            status=over.pop("status", "active"),
            plan=make_plan(schedule, Misfire("run_once")),
            shard=1,
            changed_at=BEFORE - timedelta(days=1),
            next=over.pop("next", Due(DUE, DUE)),
        )
        target = {"http": {"url": "https://hooks.example.com"}}
        self.engine.store.create_job(job, Definition({"target": target}, target, **over))

    def run(self, job_id: str, uid: str, trigger: str = "") -> Run | None:
        return self.engine.store.read_run(RunKey(job_id, uid, DUE, trigger))

    def waiting(self, url: str) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        while got := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            messages += got
        return messages


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    with mock_aws():
        d = Deployment()
        monkeypatch.setattr(wiring, "app", lambda: d.app)
        monkeypatch.setattr(wiring, "target", lambda: d.target)
        yield d


def event(d: Deployment, name: str) -> dict[str, Any]:
    """A sample, its worker messages really in the queue so that their receipts are real."""
    doc: dict[str, Any] = json.loads((EVENTS / name).read_text())
    for record in doc.get("Records", []):
        d.sqs.send_message(QueueUrl=d.queue_url, MessageBody=record["body"])
    received = d.waiting(d.queue_url)
    for record in doc.get("Records", []):
        mine = next(m for m in received if m["Body"] == record["body"])
        received.remove(mine)
        record["messageId"], record["receiptHandle"] = mine["MessageId"], mine["ReceiptHandle"]
    return doc


def work(d: Deployment, name: str) -> tuple[list[str], list[str]]:
    """The ids of the messages, and of those that go back."""
    doc = event(d, f"worker/{name}.json")
    answer = worker.handler(doc, Context(log_group_name="/g", log_stream_name="s"))
    returned = [f["itemIdentifier"] for f in answer["batchItemFailures"]]
    ids = [r["messageId"] for r in doc["Records"]]
    assert set(returned) <= set(ids)
    return ids, returned


def test_every_sample_event_is_tried_here() -> None:
    tried = Path(__file__).read_text()
    names = [p.stem for folder in ("worker", "dispatcher") for p in (EVENTS / folder).glob("*")]
    assert names
    assert [n for n in names if f'"{n}"' not in tried and f"/{n}.json" not in tried] == []


def test_a_due_run_is_executed_and_recorded(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    _, returned = work(deployment, "one_due")
    run = deployment.run("invoices", "k3f9a2qd")
    assert returned == []
    assert run is not None
    assert (run.status, run.attempt, run.code, run.detail) == ("succeeded", 1, "http_200", "ok")
    assert run.log.group == "/g"
    assert run.log.stream == "s"
    call = deployment.target.calls[0]
    assert (call.run_id, call.attempt) == ("20261130T013000Z-k3f9a2qd", 1)
    assert deployment.observer.flushed


def test_a_batch_is_three_runs_and_a_trigger_needs_its_job(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    deployment.job("reports", "p2m4x8zq")
    _, returned = work(deployment, "batch_of_three")
    assert returned == []
    assert sorted(c.trigger for c in deployment.target.calls) == ["", "", "m-deploy-42"]


def test_b18_two_copies_are_one_run(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    _, returned = work(deployment, "delivered_twice")
    assert returned == []
    assert len(deployment.target.calls) == 1


def test_b35_what_is_not_ours_goes_to_the_dead_letters(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    _, returned = work(deployment, "unreadable_among_good")
    assert returned == []
    assert [m["Body"] for m in deployment.waiting(deployment.dead_url)] == ["not json"]
    assert len(deployment.target.calls) == 1


def test_an_unknown_version_goes_back(deployment: Deployment) -> None:
    ids, returned = work(deployment, "unknown_version")
    assert returned == ids
    assert deployment.waiting(deployment.dead_url) == []


def test_b30_a_failed_job_is_no_failed_function(deployment: Deployment) -> None:
    deployment.job("broken", "k3f9a2qd")
    doc = json.loads((EVENTS / "worker/one_due.json").read_text().replace("invoices", "broken"))
    assert worker.handler(doc, Context()) == {"batchItemFailures": []}
    run = deployment.run("broken", "k3f9a2qd")
    assert run is not None
    assert (run.status, run.code, len(run.entries)) == ("failed", "http_400", 1)


def test_b30_an_empty_batch_is_nothing(deployment: Deployment) -> None:
    assert worker.handler({"Records": []}, Context()) == {"batchItemFailures": []}


def test_a_retry_message_of_a_run_that_ended_is_acknowledged(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    work(deployment, "one_due")
    _, returned = work(deployment, "retry")
    assert returned == []
    assert len(deployment.target.calls) == 1


def test_a_message_too_old_to_trust_is_refused(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    _, returned = work(deployment, "too_old")
    assert returned == []
    assert deployment.run("invoices", "k3f9a2qd") is None
    assert deployment.target.calls == []


def test_a_message_long_before_its_time_goes_back(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    ids, returned = work(deployment, "not_due_yet")
    assert returned == ids
    assert deployment.target.calls == []


def test_b33_without_time_for_its_timeout_nothing_is_claimed(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    doc = event(deployment, "worker/one_due.json")
    answer = worker.handler(doc, Context(milliseconds=60_000))
    assert len(answer["batchItemFailures"]) == 1
    assert deployment.run("invoices", "k3f9a2qd") is None


def test_b16_a_paused_job_does_not_run(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd", status="paused", next=None)
    _, returned = work(deployment, "one_due")
    run = deployment.run("invoices", "k3f9a2qd")
    assert returned == []
    assert run is not None
    assert (run.status, run.code) == ("cancelled", "job_paused")


def test_a_tick_dispatches_and_advances(deployment: Deployment) -> None:
    deployment.engine.clock.set(BEFORE)
    deployment.job("invoices", "k3f9a2qd")
    answer = dispatcher.handler(event(deployment, "dispatcher/tick.json"), Context(55_000))
    assert answer == {"led": True, "finished": True, "sent": 1}
    stored = deployment.engine.store.read_job("invoices")
    assert stored is not None
    assert stored.job.next == Due(DUE + timedelta(days=1), DUE + timedelta(days=1))
    again = dispatcher.handler(event(deployment, "dispatcher/tick.json"), Context(55_000))
    assert again["sent"] == 0


def test_a_tick_after_an_outage_runs_the_missed_one_once(deployment: Deployment) -> None:
    deployment.engine.clock.set(DUE + timedelta(minutes=71))
    deployment.job("invoices", "k3f9a2qd")
    name = "dispatcher/tick_after_outage.json"
    answer = dispatcher.handler(event(deployment, name), Context(55_000))
    assert answer["sent"] == 1
    assert len(deployment.waiting(deployment.queue_url)) == 1


def test_a_tick_invoked_by_hand_goes_by_the_clock(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    answer = dispatcher.handler(
        event(deployment, "dispatcher/invoked_by_hand.json"), Context(55_000)
    )
    assert answer["sent"] == 1


def test_a_tick_without_time_left_dispatches_nothing(deployment: Deployment) -> None:
    deployment.job("invoices", "k3f9a2qd")
    answer = dispatcher.handler(event(deployment, "dispatcher/tick.json"), Context(9_000))
    assert answer == {"led": True, "finished": False, "sent": 0}
