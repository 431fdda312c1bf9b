"""Every command against what answers like no API of cronce: one line that says so, no traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cronce.cli.main import app, run

from .conftest import HANG_UP, ScriptedApi

RUN_ID = "20261130T080000Z-abcdefgh"
COMMANDS = [
    "jobs put a job.json",
    "jobs show a",
    "jobs list",
    "jobs run a",
    "jobs pause a",
    "jobs resume a",
    "jobs edit a",
    "jobs export",
    "jobs apply jobs.jsonl",
    "jobs apply jobs.jsonl --dry-run",
    "jobs backfill a --from 2026-11-30T00:00:00Z",
    "backfills list a",
    "backfills show a b",
    "backfills cancel a b",
    "runs list",
    "runs list a",
    f"runs show a {RUN_ID}",
    "runs tail a --count 1",
    f"runs redrive a {RUN_ID}",
    f"runs cancel a {RUN_ID}",
    f"runs explain a {RUN_ID}",
    "groups list",
    "groups show g",
    "groups limit g 5",
    "groups pause g",
    "groups resume g",
    "calendars put c job.json",
    "calendars show c",
    "calendars list",
    "replan",
    "health",
    "upcoming a",
    "status",
    "console --no-open",
]
DELETING = ["jobs delete a", "groups unlimit g", "calendars delete c"]
# These have no deployment to speak to.
OTHERS = {"demo", "docs", "completion", "preview", "up", "down", "deploy", "where", "env", "doctor"}
NOT_OURS: dict[str, tuple[int, Any]] = {
    "a web page": (200, b"<html>log in\x1b[31m</html>"),
    "nothing": (200, b""),
    "half a document": (200, b'{"jobs": ['),
    "no text": (200, b"\xff\xfe\x00"),
    "brackets": (200, b"[" * 100_000),
}
REFUSED: dict[str, tuple[int, Any]] = {
    "IAM": (403, {"Message": "User: arn:x is not authorized"}),
    "a page of a proxy": (502, b"<html>bad gateway</html>"),
    "faults that are none": (503, {"errors": [None, "x", {"pointer": 5}]}),
    "elsewhere": (302, b""),
}


@pytest.fixture(autouse=True)
def files(deployed: None) -> None:
    """What the commands that read a file find in the folder."""
    Path("job.json").write_text('{"schedule": "* * * * *"}')
    Path("jobs.jsonl").write_text('{"id": "a", "job": {}, "paused": ""}\n')


def said(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(command.split())
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "\x1b" not in told.out + told.err
    return code, told.err


def test_no_command_is_forgotten() -> None:
    listed = {" ".join(command.split()[:2]) for command in COMMANDS + DELETING}

    def help_of(*path: str) -> set[str]:
        shown = CliRunner().invoke(app, [*path, "--help"]).output.partition("Commands:")[2]
        return set(re.findall(r"^  (\w+)", shown.partition("--stack,")[0], re.MULTILINE))

    groups = {"jobs", "runs", "groups", "backfills", "calendars"}
    for group in groups:
        for name in help_of(group):
            assert f"{group} {name}" in listed
    assert help_of() - OTHERS - groups <= {command.split()[0] for command in COMMANDS}


@pytest.mark.parametrize("answer", NOT_OURS.values(), ids=NOT_OURS.keys())
@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_that_is_not_ours(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str], command: str, answer: tuple[int, Any]
) -> None:
    api.answer(*answer)
    code, err = said(command, capsys)
    assert code == 1
    assert "gave no answer of this API" in err


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("command", COMMANDS + DELETING)
def test_a_refusal_of_somebody_else(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str], command: str, answer: tuple[int, Any]
) -> None:
    api.answer(*answer)
    code, err = said(command, capsys)
    assert code == 1
    assert f"the API answered {answer[0]}" in err
    if answer[0] == 403:
        assert "User: arn:x is not authorized" in err


@pytest.mark.parametrize("command", COMMANDS + DELETING)
def test_no_answer(api: ScriptedApi, capsys: pytest.CaptureFixture[str], command: str) -> None:
    api.answer(200, HANG_UP)
    code, err = said(command, capsys)
    assert code == 1
    assert "does not answer" in err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("document", [{}, {"jobs": 1, "status": "x", "cursor": "y", "runs": [0]}])
def test_a_document_of_another_shape(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str], command: str, document: Any
) -> None:
    api.answer(200, document)
    code, err = said(command, capsys)
    assert code in (0, 1)
    assert (code == 0) == (err == "")


@pytest.mark.parametrize(
    "command",
    ["jobs list", "jobs export", "runs list", "groups pause g", "groups list", "replan"],
)
def test_pages_without_end(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    names = ("jobs", "runs", "groups", "changed", "failed", "moved")
    numbers = {"looked_at": 0, "standing": 0, "cursor": "the same"}
    api.answer(200, {name: [] for name in names} | numbers)
    code, err = said(command, capsys)
    assert (code, len(api.requests)) == (1, 2)
    assert "do not come to an end" in err


def test_a_document_of_any_shape_is_printed_as_json(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer(200, {"id": "a", "new": 1})
    assert run(["jobs", "show", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"id": "a", "new": 1}
