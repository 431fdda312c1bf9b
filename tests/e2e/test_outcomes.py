"""A rule on the deployment's own bus carries a failure and the recovery after it to a queue."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cronce.cli.emulator import Emulator
from cronce.client import Client
from support.emulator import eventually
from support.hooks import Hooks

SAMPLES = Path(__file__).parents[2] / "events" / "outcomes"
GROUP = f"billing-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def heard(deployment: Emulator, aws: Callable[[str], Any]) -> Iterator[Callable[[], list[Any]]]:
    """What a rule for the failures and recoveries of one group has brought to a queue, so far."""
    sqs, rules = aws("sqs"), aws("events")
    queue = sqs.create_queue(QueueName=GROUP)["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    bus = deployment.outputs["EventBus"].rsplit("/", 1)[1]
    pattern = {
        "source": ["cronce"],
        "detail-type": ["Cronce Run Failed", "Cronce Run Recovered"],
        "detail": {"group": [GROUP]},
    }
    rules.put_rule(Name=GROUP, EventBusName=bus, EventPattern=json.dumps(pattern))
    target = {"Id": "queue", "Arn": attributes["Attributes"]["QueueArn"]}
    assert not rules.put_targets(Rule=GROUP, EventBusName=bus, Targets=[target])["FailedEntryCount"]
    events: list[Any] = []

    def so_far() -> list[Any]:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        for message in answer.get("Messages", []):
            events.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return events

    yield so_far
    with suppress(Exception):
        rules.remove_targets(Rule=GROUP, EventBusName=bus, Ids=["queue"])
        rules.delete_rule(Name=GROUP, EventBusName=bus)
    sqs.delete_queue(QueueUrl=queue)


def finished(client: Client, job_id: str, run_id: str) -> dict[str, Any] | None:
    run = client.get_run(job_id, run_id)
    return run if run["finished_at"] else None


def test_a_failure_and_the_recovery_after_it_reach_a_queue(
    client: Client, hooks: Hooks, heard: Callable[[], list[Any]], deployment: Emulator
) -> None:
    job_id = f"announced-{uuid.uuid4().hex[:8]}"
    runs = []
    for path in ("ok", "status/410", "ok", "ok"):
        document = {
            "schedule": {"cron": "0 0 1 1 *"},
            "target": {"http": {"url": f"{hooks.url}/{path}"}},
            "group": GROUP,
        }
        client.put_job(job_id, document)
        run_id = client.run_job(job_id)["run_id"]
        runs.append(eventually(lambda run_id=run_id: finished(client, job_id, run_id), 60))
    assert [run["status"] for run in runs] == ["succeeded", "failed", "succeeded", "succeeded"]

    events = eventually(lambda: heard() if len(heard()) >= 2 else None, 60)
    told = {event["detail-type"]: event for event in events}
    assert len(events) == len(told) == 2, events
    for run, name in ((runs[1], "run_failed"), (runs[2], "run_recovered")):
        sample = json.loads((SAMPLES / f"{name}.json").read_text())
        detail = told[sample["detail-type"]]["detail"]
        assert detail["deployment"] == deployment.stack
        assert (detail["v"], detail["job"], detail["group"]) == (1, job_id, GROUP)
        for time in ("scheduled_for", "started_at", "finished_at"):
            assert datetime.fromisoformat(detail[time]) == datetime.fromisoformat(run[time])
        expected = (run["run_id"], run["status"], run["attempt"])
        assert (detail["run"], detail["status"], detail["attempt"]) == expected
        assert set(sample["detail"]) <= set(detail)
    client.delete_job(job_id)
