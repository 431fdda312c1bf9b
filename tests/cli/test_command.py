"""The command against an API that answers as it is told: output, exit codes, what is sent."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cronce.cli.main import hoisted, run

from .conftest import ScriptedApi

pytestmark = pytest.mark.usefixtures("deployed")

JOB: dict[str, Any] = {
    "id": "a",
    "schedule": {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},
    "target": {"http": {"url": "https://example.com/hook"}},
    "payload": {"n": 1},
    "status": {"state": "active", "version": 7, "next_run": "2026-11-30T08:00:00Z"},
}
RUN: dict[str, Any] = {
    "job_id": "a",
    "run_id": "20261130T080000Z-abcdefgh",
    "status": "failed",
    "scheduled_for": "2026-11-30T08:00:00Z",
    "attempt": 2,
    "finished_at": "2026-11-30T08:00:01Z",
    "code": "http_503",
    "detail": "evil\x1b[2Jtext",
    "attempts": [{"attempt": 1, "outcome": "lost", "code": "lost", "detail": ""}],
}


def test_put_sends_the_file_as_it_is(api: ScriptedApi, tmp_path: Path) -> None:
    api.answer(201, JOB)
    (tmp_path / "job.json").write_bytes(b'{"payload": 1.50 }')
    assert run(["jobs", "put", "a", "job.json"]) == 0
    assert api.requests[0].body == b'{"payload": 1.50 }'


def test_put_reads_standard_input(api: ScriptedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answer(200, JOB)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert run(["jobs", "put", "a", "-", "--if-match", "7"]) == 0
    assert api.requests[0].headers["if-match"] == '"7"'


def test_show_for_people_and_for_programs(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer(200, JOB)
    assert run(["jobs", "show", "a"]) == 0
    shown = capsys.readouterr().out
    assert "cron 0 9 * * * Europe/Berlin" in shown
    assert "next to dispatch  2026-11-30T08:00:00Z" in shown
    assert run(["jobs", "show", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == JOB


def test_show_has_the_whole_definition_as_it_was_written(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    job = {**JOB, "group": "g", "retry": {"max_attempts": 5}, "timeout": "5m", "overlap": "skip"}
    api.answer(200, json.dumps(job).replace('{"n": 1}', '{"n": 1.50, "x": "\\u202e"}').encode())
    assert run(["jobs", "show", "a"]) == 0
    shown = capsys.readouterr().out
    for words in ('"group": "g"', '"max_attempts": 5', '"5m"', '"skip"', '"n": 1.50', '"x": "?"'):
        assert words in shown
    assert shown.count("next to dispatch") == 1


def test_deleting_says_so(api: ScriptedApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.answer(204)
    assert run(["jobs", "delete", "a"]) == 0
    assert run(["groups", "unlimit", "g"]) == 0
    assert run(["calendars", "delete", "c"]) == 0
    assert capsys.readouterr().out.splitlines() == ["a  deleted", "g  has no limit", "c  deleted"]


def test_runs_are_aligned_columns_on_a_pipe(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer(200, {"runs": [RUN, {**RUN, "status": "succeeded", "code": ""}], "cursor": None})
    assert run(["runs", "list", "a"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.index("status") == first.index("failed") == second.index("succeeded")
    assert second.rstrip().endswith("-")


def test_what_a_target_answered_cannot_steer_the_terminal(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer(200, RUN)
    assert run(["runs", "show", "a", RUN["run_id"]]) == 0
    shown = capsys.readouterr().out
    assert "evil?[2Jtext" in shown
    assert "lost" in shown


def test_runs_of_all_jobs_need_attention(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer(200, {"runs": [RUN], "cursor": None})
    assert run(["runs", "list", "--status", "failed", "--json"]) == 0
    assert api.requests[0].path == "/prod/runs?status=failed&limit=20"
    assert json.loads(capsys.readouterr().out)["runs"][0]["job_id"] == "a"


def test_runs_of_a_job_that_ended_so(api: ScriptedApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.answer(200, {"runs": [RUN], "cursor": None})
    assert run(["runs", "list", "a", "--status", "failed"]) == 0
    assert api.requests[0].path == "/prod/jobs/a/runs?status=failed&limit=20"
    assert RUN["run_id"] in capsys.readouterr().out
    assert run(["runs", "list", "--help"]) == 0
    assert "[[JOB]]" not in capsys.readouterr().out


def test_run_prints_the_run_id(api: ScriptedApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.answer(202, {**RUN, "status": "pending"})
    assert run(["jobs", "run", "a", "--client-id", "x"]) == 0
    assert json.loads(api.requests[0].body) == {"id": "x"}
    assert capsys.readouterr().out.split() == [RUN["run_id"], "pending"]


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 2), (413, 2), (422, 2), (404, 3), (409, 4), (412, 4), (403, 1), (500, 1), (503, 1)],
)
def test_exit_codes(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    api.answer(status, {"title": "No", "detail": "because"})
    assert run(["jobs", "show", "a"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == ("cronce: because\n" if status == 404 else "cronce: No: because\n")


def test_every_fault_is_shown_once(api: ScriptedApi, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [
        {"pointer": "/schedule", "code": "c", "detail": "is wrong", "accepted": "a cron"},
        {"pointer": "", "code": "c", "detail": "is bad", "accepted": None},
    ]
    api.answer(422, {"title": "No", "detail": "is wrong, and 1 more", "errors": faults})
    assert run(["jobs", "show", "a"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "cronce: No",
        "  /schedule: is wrong (accepted: a cron)",
        "  /: is bad",
    ]


def test_tail_shows_each_change_once(api: ScriptedApi, capsys: pytest.CaptureFixture[str]) -> None:
    old = {**RUN, "run_id": "old", "status": "succeeded"}
    running = {**RUN, "status": "running", "attempt": 1}
    for runs in ([old], [running, old], [RUN, old]):
        api.answer(200, {"runs": runs, "cursor": None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cronce.cli.runs.POLL_SECONDS", 0)
        assert run(["runs", "tail", "a", "--count", "1", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["status"], line["attempt"]) for line in lines] == [("running", 1), ("failed", 2)]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An $EDITOR that runs a line of Python over the document ``d``, read as text. Drafts lie in
    the test's own folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def install(line: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, sys\np = pathlib.Path(sys.argv[1])\nd = p.read_text()\n"
            f"{line}\np.write_text(d)\n"
        )
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        monkeypatch.delenv("VISUAL", raising=False)

    return install


def test_edit_puts_what_the_editor_left(api: ScriptedApi, editor: Any) -> None:
    editor("d = d.replace('0 9', '0 10')")
    api.answer(200, JOB).answer(200, JOB)
    assert run(["jobs", "edit", "a"]) == 0
    sent = api.requests[1]
    assert sent.headers["if-match"] == '"7"'
    written = {name: JOB[name] for name in ("schedule", "target", "payload")}
    written["schedule"] = {**JOB["schedule"], "cron": "0 10 * * *"}
    assert json.loads(sent.body) == written


def test_edit_without_a_change_sends_nothing(api: ScriptedApi, editor: Any) -> None:
    editor("pass")
    api.answer(200, JOB)
    assert run(["jobs", "edit", "a"]) == 1
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("d = '{'", 2),
        ("sys.exit(3)", 1),
        ("p.unlink(); sys.exit(0)", 1),
        ('p.write_bytes(b\'{"a": "\\xff"}\'); sys.exit(0)', 2),
    ],
)
def test_edit_that_went_wrong(api: ScriptedApi, editor: Any, line: str, code: int) -> None:
    editor(line)
    api.answer(200, JOB)
    assert run(["jobs", "edit", "a"]) == code
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("line", "answer", "code"),
    [
        ("d = d.replace('0 9', '99 9')", (422, {"title": "No", "errors": []}), 2),
        ("d = d.replace('0 9', '0 10')", (412, {"title": "Another version"}), 4),
        ("d = d[:-4]", None, 2),
    ],
)
def test_a_draft_that_came_to_nothing_is_kept(
    api: ScriptedApi,
    editor: Any,
    capsys: pytest.CaptureFixture[str],
    line: str,
    answer: tuple[int, Any] | None,
    code: int,
) -> None:
    editor(line)
    api.answer(200, JOB)
    if answer:
        api.answer(*answer)
    assert run(["jobs", "edit", "a"]) == code
    *_, last = capsys.readouterr().err.splitlines()
    draft = Path(last.removeprefix("cronce: what you wrote is kept in "))
    assert draft.name == "a.json"
    written = draft.read_text()
    assert "https://example.com/hook" in written


def test_no_draft_is_left_behind(api: ScriptedApi, editor: Any, tmp_path: Path) -> None:
    for line, code in (("pass", 1), ("d = d.replace('0 9', '0 10')", 0)):
        editor(line)
        api.answers = []
        api.answer(200, JOB)
        assert run(["jobs", "edit", "a"]) == code
    assert list(tmp_path.glob("cronce-*")) == []


def test_a_preview_asks_the_deployment_for_a_named_calendar(
    api: ScriptedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    at = {"scheduled_for": "2026-11-30T08:00:00Z", "due": "2026-11-30T08:00:00Z", "local": "x"}
    found = {"description": "At 09:00", "details": [{**at, "note": None}], "warnings": ["w"]}
    api.answer(200, found)
    asked = ["preview", '{"cron": "0 9 * * *", "calendar": "bank"}', "--timezone", "Europe/Berlin"]
    assert run([*asked, "--after", "2026-11-30T00:00:00Z", "--count", "1"]) == 0
    assert (api.requests[0].method, api.requests[0].path) == ("POST", "/prod/schedules/preview")
    assert json.loads(api.requests[0].body) == {
        "schedule": {"cron": "0 9 * * *", "calendar": "bank", "timezone": "Europe/Berlin"},
        "after": "2026-11-30T00:00:00Z",
        "count": 1,
    }
    assert capsys.readouterr().out.splitlines()[2:] == ["2026-11-30T08:00:00Z  x", "warning: w"]
    written_out = '{"cron": "0 9 * * *", "calendar": {"exclude": {"weekends": true}}}'
    assert run(["preview", written_out]) == 0
    assert len(api.requests) == 1


def test_global_options_stand_anywhere() -> None:
    assert hoisted(["jobs", "put", "a", "--", "--stack"]) == ["jobs", "put", "a", "--", "--stack"]
    assert hoisted(["jobs", "--endpoint", "u", "list", "--json"])[:2] == ["--endpoint", "u"]
    assert hoisted(["up", "--stack"]) == ["--stack"]
