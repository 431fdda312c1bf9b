"""The command against a real deployment, found by its stack's outputs."""

from __future__ import annotations

import json
import os
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
    status = json.loads(cronce("where", "--json", env=here).stdout)
    assert (status["endpoint"], status["stack"]) == (deployment.endpoint, deployment.stack)
    assert status["allowed_targets"] == ["http://127.0.0.1:*"]
    exports = cronce("env", env=here).stdout
    assert f"export AWS_ENDPOINT_URL={deployment.endpoint}" in exports


def test_what_was_chosen_stays_when_nothing_is_said(
    cronce: Cronce, deployment: Emulator, tmp_path: Path
) -> None:
    """Again, by somebody else: from another folder, without a word about targets."""
    before = deployment.choices()
    assert before["allowed_targets"] == "http://127.0.0.1:*"
    env = {**deployment.exports(), "PATH": os.environ["PATH"], "CDK_HOME": str(tmp_path / "cdk")}
    done = cronce("deploy", "--json", env=env)
    assert done.returncode == 0, done.stderr
    assert "as deployed before: allowed_targets http://127.0.0.1:*" in done.stderr
    assert json.loads(done.stdout) == deployment.outputs
    assert deployment.choices() == before
    function = {"FunctionName": deployment.outputs["WorkerFunction"]}
    worker = deployment.session().client("lambda", endpoint_url=deployment.endpoint)
    variables = worker.get_function_configuration(**function)["Environment"]["Variables"]
    assert "http://127.0.0.1:*" in json.loads(variables["CRONCE_ALLOWED_TARGETS"])


def test_steering_a_job(cronce: Cronce, hooks: Hooks, job_id: str) -> None:
    group = job_id.replace(".", "-")
    put = cronce("jobs", "put", job_id, "-", stdin=document(hooks, group=group))
    assert put.returncode == 0, put.stderr
    paused = cronce("jobs", "pause", job_id, "--note", "audit", "--json")
    assert paused.returncode == 0, paused.stderr
    assert json.loads(paused.stdout)["status"]["state"] == "paused"
    listed = json.loads(cronce("jobs", "list", "--group", group, "--json").stdout)["jobs"]
    assert [(job["id"], job["status"]["reason"]) for job in listed] == [(job_id, "audit")]
    assert job_id in cronce("jobs", "list", "--status", "paused").stdout
    assert cronce("jobs", "list", "--status", "nonsense").returncode == 2
    resumed = json.loads(cronce("jobs", "resume", job_id, "--json").stdout)
    assert resumed["status"]["state"] == "active"
    coming = json.loads(cronce("upcoming", job_id, "--count", "2", "--json").stdout)
    assert resumed["status"]["next_occurrence"] == coming["occurrences"][0]
    assert len(cronce("upcoming", job_id, "--count", "2").stdout.splitlines()) == 3


def test_a_failed_run_is_listed_and_redriven(cronce: Cronce, hooks: Hooks, job_id: str) -> None:
    failing = {"http": {"url": f"{hooks.url}/fail-until/2"}}
    once = {"max_attempts": 1}
    body = json.dumps({"schedule": "@yearly", "target": failing, "retry": once})
    assert cronce("jobs", "put", job_id, "-", stdin=body).returncode == 0
    run_id = json.loads(cronce("jobs", "run", job_id, "--json").stdout)["run_id"]

    def is_listed() -> bool:
        listed = cronce("runs", "list", "--status", "failed", "--limit", "100", "--json")
        runs = json.loads(listed.stdout)["runs"]
        return (job_id, run_id) in [(run["job_id"], run["run_id"]) for run in runs]

    eventually(is_listed)
    redriven = cronce("runs", "redrive", job_id, run_id, "--json")
    assert redriven.returncode == 0, redriven.stderr

    def shown() -> Any:
        run = json.loads(cronce("runs", "show", job_id, run_id, "--json").stdout)
        return run if run["status"] == "succeeded" else None

    assert eventually(shown)["attempt"] == 2
    assert cronce("runs", "redrive", job_id, run_id).returncode == 4
    assert cronce("runs", "cancel", job_id, run_id).returncode == 4


def test_edit_keeps_numbers_as_written(
    cronce: Cronce, deployment: Emulator, hooks: Hooks, job_id: str, tmp_path: Path
) -> None:
    body = document(hooks).removesuffix("}") + ', "payload": {"z": 1.50, "a": 1e3}}'
    assert cronce("jobs", "put", job_id, "-", stdin=body).returncode == 0
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\np = pathlib.Path(sys.argv[1])\n"
        "p.write_text(p.read_text().replace('@yearly', '@monthly'))\n"
    )
    env = deployment.exports() | {"EDITOR": f"{sys.executable} {editor}"}
    edited = cronce("jobs", "edit", job_id, "--json", env=env)
    assert edited.returncode == 0, edited.stderr
    assert json.loads(edited.stdout)["status"]["version"] == 2
    assert json.loads(edited.stdout)["schedule"] == "@monthly"
    run_id = json.loads(cronce("jobs", "run", job_id, "--json").stdout)["run_id"]
    (hit,) = eventually(lambda: hooks.of(job_id))
    assert hit.run == run_id
    assert hit.body == b'{"z":1.50,"a":1e3}'
