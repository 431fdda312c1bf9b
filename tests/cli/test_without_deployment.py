"""The command where there is nothing to speak to: an error that says so, never a traceback."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronce import __version__
from cronce.cli import emulator
from cronce.cli.docs import of_checkout, page
from cronce.cli.exits import CommandError
from cronce.cli.main import run
from cronce.cli.status import beginning

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


def test_a_preview_that_needs_a_deployment(cronce: Cronce) -> None:
    named = '{"cron": "0 9 * * *", "calendar": "bank"}'
    refused(cronce("preview", named), 1, "the calendar 'bank' is kept by a deployment")


class Running:
    stack = "cronce"


def test_another_stack_than_that_of_the_emulator_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(emulator, "status", lambda: Running())
    for arguments in (["jobs", "list"], ["doctor"]):
        assert run([*arguments, "--stack", "nope"]) == 1
        said = capsys.readouterr()
        assert "stack 'nope': " in said.out + said.err
        assert "the stack of this folder's emulator is 'cronce'" in said.out + said.err
        assert "no emulator runs" not in said.out + said.err
        assert ".;" not in said.out + said.err


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


@pytest.mark.parametrize("part", ["jobs", "runs", "groups", "calendars", "backfills"])
def test_no_help_is_cut_off(cronce: Cronce, part: str) -> None:
    listed = cronce(part, "--help", COLUMNS="80").out
    assert "Commands:" in listed
    assert [line for line in listed.splitlines()[1:] if line.endswith("...")] == []


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


def test_the_page_shows_every_operation_of_the_api() -> None:
    document = of_checkout()
    assert document is not None
    text = page(document)
    for path, item in document["paths"].items():
        for method in item:
            if method in ("get", "put", "post", "patch", "delete"):
                assert f"<h2>{method.upper()} {path}</h2>" in text


def test_the_page_is_served(tmp_path: Path) -> None:
    """Without a deployment, from the checkout's copy; Ctrl-C ends it."""
    child = subprocess.Popen(
        [sys.executable, "-m", "cronce.cli.main", "docs", "--no-browser"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        address = child.stdout.readline().split()[0]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=30) as answer:
            assert b"/jobs/{job_id}" in answer.read()
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["jobs", "list", "--stack"], "'--stack' requires an argument"),
        (["docs", "--port", "65536"], "--port"),
        (["groups", "limit", "g", "nan"], "'nan' is not a number"),
        (["groups", "limit", "g", "1_0"], "'1_0' is not a number"),
        (["jobs", "show", "\udcff"], "not UTF-8"),
        (["preview", '{"cron": "* * * * *", "cron": "0 0 * * *"}'], "/cron: given twice"),
        (["preview", '{"rate": 1e400}'], "/rate: 1e400 is out of range"),
        (["preview", '{"a":' * 65], "nested deeper"),
    ],
)
def test_arguments_that_nobody_can_use(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(arguments) == 2
    assert words in capsys.readouterr().err


def test_an_endpoint_that_is_no_url(cronce: Cronce) -> None:
    refused(cronce("jobs", "list", "--endpoint", "file:///etc", **REFUSING), 1, "Invalid endpoint")


def test_a_port_that_is_taken(cronce: Cronce) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(cronce("docs", "--port", port, "--no-browser"), 1, f"port {port} cannot be")


def test_the_release(cronce: Cronce) -> None:
    assert cronce("--version").out == f"cronce {__version__}\n"


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "x"])
def test_since_when_nothing_can_be_said(since: str) -> None:
    with pytest.raises(CommandError, match="accepted is a duration of 1m to 7d"):
        beginning(since, datetime(2026, 11, 30, tzinfo=UTC))
