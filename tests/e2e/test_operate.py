"""doctor, status and explain against a real deployment."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from cronce.cli.emulator import Emulator
from cronce.cli.main import run
from cronce.client import Client
from support.emulator import eventually
from support.hooks import Hooks


@pytest.fixture
def told(
    deployment: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Any]]:
    """Runs a command with --json in the deployment's folder: its exit code and what it printed."""
    monkeypatch.setenv("CRONCE_HOME", str(deployment.home))
    for name in ("AWS_ENDPOINT_URL", "CRONCE_STACK"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> tuple[int, Any]:
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def test_a_deployment_that_ticks_is_well(told: Callable[..., tuple[int, Any]]) -> None:
    def bad() -> list[str]:
        _, seen = told("doctor")
        return [f["name"] for f in seen["findings"] if f["state"] == "trouble"]

    # A fresh one has not ticked yet; the alarms' tests may have said that a message is old.
    assert set(bad()) <= {"tick", "oldest"}
    eventually(lambda: set(bad()) <= {"oldest"}, 180)
    _, seen = told("doctor")
    states = {f["name"]: f["state"] for f in seen["findings"]}
    for name in ("deployment", "api", "permissions", "clock", "tick", "overdue", "late runs"):
        assert states[name] == "ok", seen
    for name in ("rule", "workers", "queue", "dead letters"):
        assert states[name] == "ok", seen


def test_a_run_is_explained_and_counted(
    told: Callable[..., tuple[int, Any]], client: Client, hooks: Hooks
) -> None:
    job_id = f"told.{uuid.uuid4().hex[:8]}"
    target = {"http": {"url": f"{hooks.url}/status/410"}}
    client.put_job(job_id, {"schedule": "@yearly", "target": target})
    run_id = client.run_job(job_id)["run_id"]
    eventually(lambda: client.get_run(job_id, run_id)["status"] == "failed")
    code, story = told("runs", "explain", job_id, run_id)
    assert code == 0
    assert [line["what"] for line in story["story"]] == [
        *("triggered", "dispatched", "attempt", "failed", "ended", "log")
    ]
    assert story["dispatches"][0]["by"] == "api"
    code, seen = told("status")
    assert code == 0
    assert run_id in [each["run_id"] for each in seen["attention"]]
    assert seen["overview"]["outcomes"]["failed"] >= 1
    client.delete_job(job_id)
