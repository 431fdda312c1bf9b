"""The command against a real deployment, found by its stack's outputs."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cronce.cli.emulator import Emulator
from support.emulator import eventually
from support.hooks import Hooks

Done = subprocess.CompletedProcess[str]
Cronce = Callable[..., Done]


@pytest.fixture
def cronce(deployment: Emulator, tmp_path: Path) -> Cronce:
    """In an empty folder, told of the emulator by what ``cronce env`` would print."""

    def call(*arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-m", "cronce.cli.main", *arguments],
            cwd=tmp_path,
            env=clean | dict(deployment.exports() if env is None else env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def job_id() -> str:
    return f"cli.{uuid.uuid4().hex[:8]}"


def document(hooks: Hooks, **more: Any) -> str:
    return json.dumps(
        {"schedule": "@yearly", "target": {"http": {"url": f"{hooks.url}/ok"}}, **more}
    )


def test_a_job_from_put_to_delete(cronce: Cronce, hooks: Hooks, job_id: str) -> None:
    put = cronce("jobs", "put", job_id, "-", "--json", stdin=document(hooks))
    assert put.returncode == 0, put.stderr
    assert json.loads(put.stdout)["status"]["version"] == 1
    shown = cronce("jobs", "show", job_id)
    assert shown.returncode == 0
    assert job_id in shown.stdout
    ran = cronce("jobs", "run", job_id, "--json")
    assert ran.returncode == 0, ran.stderr
    run_id = json.loads(ran.stdout)["run_id"]

    def listed() -> Any:
        runs = json.loads(cronce("runs", "list", job_id, "--json").stdout)["runs"]
        return [run for run in runs if run["status"] == "succeeded"]

    (run,) = eventually(listed)
    assert run["run_id"] == run_id
    table = cronce("runs", "list", job_id).stdout.splitlines()
    assert table[0].split()[:3] == ["scheduled", "for", "run"]
    assert run_id in table[1]
    assert "succeeded" in cronce("runs", "show", job_id, run_id).stdout
    assert cronce("jobs", "delete", job_id).returncode == 0
    assert cronce("jobs", "show", job_id).returncode == 3


def test_exit_codes(cronce: Cronce, hooks: Hooks, job_id: str) -> None:
    bad = cronce("jobs", "put", job_id, "-", stdin='{"schedule": "61 * * * *"}')
    assert bad.returncode == 2
    assert "/schedule" in bad.stderr
    assert cronce("jobs", "put", job_id, "-", stdin="{").returncode == 2
    assert cronce("jobs", "put", "a b", "-", stdin=document(hooks)).returncode == 2
    assert cronce("jobs", "show", job_id).returncode == 3
    assert cronce("runs", "show", job_id, "20261130T013000Z-k3f9a2qd").returncode == 3
    assert cronce("jobs", "put", job_id, "-", stdin=document(hooks)).returncode == 0
    stale = cronce(
        *("jobs", "put", job_id, "-", "--if-match", "9"),
        stdin=document(hooks, description="changed"),
    )
    assert stale.returncode == 4, stale.stderr
    again = cronce("jobs", "put", job_id, "-", "--create", stdin=document(hooks))
    assert again.returncode == 4, again.stderr


def test_a_deployment_is_chosen_by_options(
    cronce: Cronce, deployment: Emulator, job_id: str
) -> None:
    """Everything on the command line, in any place; nothing but keys in the environment."""
    keys = {n: v for n, v in deployment.exports().items() if n.startswith(("AWS_A", "AWS_SE"))}
    given = ["--endpoint", deployment.endpoint, "--region", "us-east-1"]
    missing = cronce("jobs", "show", job_id, *given, "--stack", deployment.stack, env=keys)
    assert missing.returncode == 3, missing.stderr
    nowhere = cronce("jobs", "show", job_id, *given, "--stack", "nowhere", env=keys)
    assert nowhere.returncode == 1
    assert "there is no stack 'nowhere'" in nowhere.stderr


def test_the_emulator_of_a_folder_is_found_without_a_word(
    cronce: Cronce, deployment: Emulator, job_id: str
) -> None:
    here = {"CRONCE_HOME": str(deployment.home)}
    assert cronce("jobs", "show", job_id, env=here).returncode == 3
    status = json.loads(cronce("status", "--json", env=here).stdout)
    assert (status["endpoint"], status["stack"]) == (deployment.endpoint, deployment.stack)
    exports = cronce("env", env=here).stdout
    assert f"export AWS_ENDPOINT_URL={deployment.endpoint}" in exports
