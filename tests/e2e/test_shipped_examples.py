"""The examples, in a real deployment: created, listed, previewed and run. Only the addresses that
they name are put on this machine, and the secret is one that the emulator keeps."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cronce.client import Client
from support.emulator import eventually
from support.hooks import Hooks

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.json"))
GROUP = f"examples-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def secret(aws: Callable[[str], Any]) -> Iterator[str]:
    manager = aws("secretsmanager")
    arn = manager.create_secret(Name=f"reports-{GROUP}", SecretString="s3cr3t")["ARN"]
    yield arn
    manager.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def localised(path: Path, hooks: Hooks, secret: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    http = document["target"]["http"]
    http["url"] = f"{hooks.url}/ok"
    if "auth" in http:
        http["auth"]["bearer"]["secret"] = secret
    return document | {"group": GROUP}


def test_there_are_five() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_created_listed_previewed_and_run(
    path: Path, client: Client, hooks: Hooks, secret: str
) -> None:
    job_id = f"{path.stem}-{GROUP}"
    client.put_job(job_id, localised(path, hooks, secret))
    assert job_id in [job["id"] for job in client.list_jobs(group=GROUP)]
    upcoming = client.upcoming(job_id, count=2)["occurrences"]
    assert upcoming
    run_id = client.run_job(job_id)["run_id"]
    run = eventually(lambda: finished(client, job_id, run_id), 60)
    assert (run["status"], run["attempt"]) == ("succeeded", 1)
    assert "s3cr3t" not in json.dumps(run)
    client.delete_job(job_id)


def finished(client: Client, job_id: str, run_id: str) -> dict[str, Any] | None:
    run = client.get_run(job_id, run_id)
    return run if run["finished_at"] else None
