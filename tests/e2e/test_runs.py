"""Runs in a real deployment: one succeeds, one is retried, one is taken from a dead worker."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.cli.demo.kill import kill_caller
from cronce.cli.demo.server import TargetServer
from cronce.cli.emulator import Emulator
from cronce.client import ApiError, Client
from cronce.domain.identity import RunKey
from cronce.domain.message import Message
from support.emulator import eventually
from support.hooks import Hooks

Run = dict[str, Any]


@pytest.fixture
def job_id() -> str:
    return f"e2e.{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module", autouse=True)
def warm(client: Client) -> None:
    """So that an instant a few seconds away is not past when the first request is served."""
    with pytest.raises(ApiError):
        client.get_job("nothing")


@pytest.fixture
def holding() -> Iterator[TargetServer]:
    with TargetServer().running() as server:
        yield server


def soon(seconds: int = 5) -> datetime:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)


def at(instant: datetime) -> dict[str, str]:
    return {"at": f"{instant:%Y-%m-%dT%H:%M:%SZ}"}


def ended(client: Client, job_id: str) -> Run:
    """The job's only run, when it has ended."""

    def look() -> list[Run]:
        return [run for run in client.list_runs(job_id) if run["finished_at"]]

    (run,) = eventually(look)
    return run


def test_a_run_succeeds(client: Client, hooks: Hooks, job_id: str) -> None:
    instant = soon()
    document = {
        "schedule": at(instant),
        "target": {"http": {"url": f"{hooks.url}/ok"}},
        "payload": {"run": "<cronce.run_id>", "amount": 1.50},
    }
    created = client.put_job(job_id, document)
    assert created["status"]["state"] == "active"
    run = ended(client, job_id)
    assert (run["status"], run["attempt"], run["attempts"]) == ("succeeded", 1, [])
    assert run["scheduled_for"] == document["schedule"]["at"]
    (hit,) = hooks.of(job_id)
    assert hit.at >= instant.timestamp()
    assert hit.run == run["run_id"]
    assert hit.headers["idempotency-key"] == f"{job_id}/{run['run_id']}"
    assert json.loads(hit.body) == {"run": run["run_id"], "amount": 1.5}
    eventually(lambda: client.get_job(job_id)["status"]["state"] == "ended")


def test_a_run_that_fails_twice_succeeds_on_attempt_three(
    client: Client, hooks: Hooks, job_id: str
) -> None:
    client.put_job(
        job_id,
        {
            "schedule": at(soon()),
            "target": {"http": {"url": f"{hooks.url}/fail-until/3"}},
            "retry": {"max_attempts": 3, "backoff": "1s", "max_backoff": "2s"},
        },
    )
    run = ended(client, job_id)
    assert (run["status"], run["attempt"]) == ("succeeded", 3)
    assert [(e["attempt"], e["outcome"], e["code"]) for e in run["attempts"]] == [
        (1, "failed", "http_503"),
        (2, "failed", "http_503"),
    ]
    hits = hooks.of(job_id)
    assert [hit.attempt for hit in hits] == [1, 2, 3]
    assert {hit.run for hit in hits} == {run["run_id"]}


def test_a_run_is_reclaimed_from_a_killed_worker(
    client: Client, deployment: Emulator, holding: TargetServer, job_id: str
) -> None:
    client.put_job(
        job_id,
        {"schedule": at(soon()), "target": {"http": {"url": f"{holding.origin}/held"}}},
    )
    call = holding.held.get(timeout=60)
    kill_caller(call.client_port, holding.port, deployment.pid)
    run = ended(client, job_id)
    assert (run["status"], run["attempt"]) == ("succeeded", 2)
    assert [(e["attempt"], e["outcome"]) for e in run["attempts"]] == [(1, "lost")]
    calls = holding.calls()
    assert [each.attempt for each in calls] == [1, 2]
    assert [each.answered for each in calls] == [None, 200]


def test_a_run_by_hand_runs_once(client: Client, hooks: Hooks, job_id: str) -> None:
    tomorrow = at(soon(86_400))
    client.put_job(job_id, {"schedule": tomorrow, "target": {"http": {"url": f"{hooks.url}/ok"}}})
    first = client.run_job(job_id, client_id="mine")
    assert client.run_job(job_id, client_id="mine")["run_id"] == first["run_id"]
    run = ended(client, job_id)
    assert (run["run_id"], run["status"], run["trigger"]) == (
        first["run_id"],
        "succeeded",
        "m-mine",
    )
    assert len(hooks.of(job_id)) == 1
    assert client.get_job(job_id)["status"]["state"] == "active"


BAD: list[tuple[str, bytes, int, str]] = [
    ("not JSON", b"{", 400, ""),
    ("deep", b"[" * 100_000, 400, ""),
    ("no schedule", b"{}", 422, "/schedule"),
    ("bad cron", b'{"schedule": {"cron": "61 * * * *"}}', 422, "/schedule/cron"),
    ("no such zone", b'{"schedule": {"rate": "1m", "timezone": "X"}}', 422, "/schedule/timezone"),
    ("past", b'{"schedule": {"at": "2001-01-01T00:00:00Z"}}', 422, "/schedule"),
    ("unknown field", b'{"nonsense": 1}', 422, "/nonsense"),
    ("forbidden target", b'{"target": {"http": {"url": "https://example.com/"}}}', 422, "/target"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "pointer"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_input_changes_nothing(
    client: Client, hooks: Hooks, job_id: str, body: bytes, status: int, pointer: str
) -> None:
    with pytest.raises(ApiError) as refused:
        client.put_job(job_id, body)
    assert refused.value.status == status
    if pointer:
        pointers = [fault["pointer"] for fault in refused.value.errors]
        assert any(each.startswith(pointer) for each in pointers), pointers
    with pytest.raises(ApiError) as missing:
        client.get_job(job_id)
    assert missing.value.status == 404
    good = {"schedule": "@yearly", "target": {"http": {"url": f"{hooks.url}/ok"}}}
    before = client.put_job(job_id, good)
    with pytest.raises(ApiError):
        client.put_job(job_id, body)
    assert client.get_job(job_id) == before


def test_an_unreadable_message_does_not_stop_the_rest_of_its_batch(
    client: Client,
    deployment: Emulator,
    aws: Callable[[str], Any],
    hooks: Hooks,
    job_id: str,
) -> None:
    """A copy of the run's own message travels between two that are not ours."""
    sqs = aws("sqs")
    instant = soon()
    job = client.put_job(
        job_id, {"schedule": at(instant), "target": {"http": {"url": f"{hooks.url}/ok"}}}
    )
    key = RunKey(job_id, job["status"]["uid"], instant)
    copy = Message(key, job["status"]["generation"], instant, datetime.now(UTC)).to_body()
    junk = [f"not ours {job_id}", json.dumps({"v": 1, "job": job_id})]
    bodies = [junk[0], copy, junk[1]]
    sent = sqs.send_message_batch(
        QueueUrl=deployment.outputs["QueueUrl"],
        Entries=[{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)],
    )
    assert not sent.get("Failed")
    run = ended(client, job_id)
    assert (run["status"], run["attempt"]) == ("succeeded", 1)
    found: set[str] = set()
    dead = deployment.outputs["DeadLetterQueueUrl"]

    def all_dead() -> bool:
        answer = sqs.receive_message(QueueUrl=dead, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for message in answer.get("Messages", []):
            found.add(message["Body"])
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
        return found >= set(junk)

    eventually(all_dead)
    assert len(hooks.of(job_id)) == 1


def test_what_is_recorded_stays_when_the_job_is_deleted(
    client: Client, hooks: Hooks, job_id: str
) -> None:
    started = time.time()
    client.put_job(
        job_id, {"schedule": "rate(1 day)", "target": {"http": {"url": f"{hooks.url}/ok"}}}
    )
    run = client.run_job(job_id)
    eventually(lambda: client.get_run(job_id, run["run_id"])["status"] == "succeeded")
    client.delete_job(job_id)
    with pytest.raises(ApiError) as missing:
        client.get_job(job_id)
    assert missing.value.status == 404
    kept = client.get_run(job_id, run["run_id"])
    assert kept["status"] == "succeeded"
    assert all(hit.at >= started - 1 for hit in hooks.of(job_id))
