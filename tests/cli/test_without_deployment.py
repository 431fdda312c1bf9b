"""The command where there is nothing to speak to: an error that says so, never a traceback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cronce.cli.docs import page

from .conftest import Done

Cronce = Callable[..., Done]
REFUSING = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-central-1"}


def refused(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert all(word in done.err for word in words), done.err


def test_no_deployment(cronce: Cronce) -> None:
    refused(cronce("jobs", "list", "--region", "eu-central-1"), 1, "cronce: ", "credentials")
    refused(cronce("jobs", "list"), 1, "'cronce up' starts one")


def test_nobody_answers(cronce: Cronce) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        endpoint = f"http://127.0.0.1:{probe.getsockname()[1]}"
    done = cronce("jobs", "show", "a", "--endpoint", endpoint, AWS_MAX_ATTEMPTS="1", **REFUSING)
    refused(done, 1, endpoint)


@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs", "show"],
        ["jobs", "show", "a", "--nonsense"],
        ["nonsense"],
        ["runs", "list", "a", "--limit", "0"],
        ["completion", "tcsh"],
        ["jobs", "put", "a", "missing.json"],
        ["jobs", "put", "a", "."],
    ],
)
def test_usage(cronce: Cronce, arguments: list[str]) -> None:
    refused(cronce(*arguments), 2)


def test_no_emulator_here(cronce: Cronce) -> None:
    refused(cronce("env"), 1, "no emulator runs in this folder")
    assert cronce("down").code == 0


def test_completion_scripts(cronce: Cronce) -> None:
    assert "_CRONCE_COMPLETE" in cronce("completion", "bash").out


def test_help_and_preview_load_neither_boto3_nor_rich(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom cronce.cli.main import run\n"
        "code = run(['preview', '*/15 * * * *', '--count', '1', '--json'])\n"
        "loaded = {'boto3', 'botocore', 'rich', 'aws_cdk'} & set(sys.modules)\n"
        "sys.exit(f'{code} {loaded}' if code or loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["occurrences"]) == 1


def test_preview(cronce: Cronce) -> None:
    done = cronce(
        *("preview", "*/15 * * * *", "--timezone", "Europe/Berlin"),
        *("--after", "2026-03-28T23:00:00Z", "--count", "2", "--json"),
    )
    assert done.code == 0, done.err
    assert done.json()["occurrences"] == ["2026-03-28T23:15:00Z", "2026-03-28T23:30:00Z"]
    refused(cronce("preview", "61 * * * *"), 2, "minute")


def test_the_documentation_page_escapes_and_loads_nothing() -> None:
    document = {
        "info": {"title": "<cronce>", "version": "1"},
        "paths": {
            "/jobs/{id}": {
                "put": {
                    "summary": "<script>alert(1)</script>",
                    "parameters": [{"name": "id", "in": "path"}],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/c/s/Job"}}}
                    },
                    "responses": {"200": {"description": "done"}},
                }
            }
        },
        "components": {"schemas": {"Job": {"type": "object"}}},
    }
    text = page(document)
    assert "PUT /jobs/{id}" in text
    assert '<a href="#Job">' in text
    assert "<script" not in text
    assert "http" not in text
    assert "src=" not in text
