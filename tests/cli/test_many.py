"""``cronce jobs backfill``, ``backfills`` and ``groups``: output, exit codes, what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cronce.cli.main import run

from .conftest import ScriptedApi

pytestmark = pytest.mark.usefixtures("deployed")

BACKFILL: dict[str, Any] = {
    "id": "night",
    "job_id": "a",
    "status": "running",
    "from": "2026-11-30T00:00:00Z",
    "to": "2026-11-30T06:00:00Z",
    "pace": 60,
    "overlap": None,
    "total": 6,
    "started": 2,
    "existing": 1,
}
GROUP = {
    "group": "g",
    "max_starts_per_second": 2.5,
    "changed_at": "2026-11-30T10:00:00Z",
    "changed_by": "me",
}


def test_a_backfill_is_asked_for(api: ScriptedApi, capsys: Any) -> None:
    api.answer(201, BACKFILL)
    asked = ["jobs", "backfill", "a", "--from", "2026-11-30T00:00:00Z", "--id", "night"]
    assert run([*asked, "--pace", "30", "--overlap", "queue_all"]) == 0
    [request] = api.requests
    assert (request.method, request.path) == ("POST", "/prod/jobs/a/backfill")
    assert json.loads(request.body) == {
        "id": "night",
        "from": "2026-11-30T00:00:00Z",
        "pace": 30,
        "overlap": "queue_all",
    }
    out = capsys.readouterr().out
    assert "status      running" in out
    assert "dispatched  2" in out


def test_a_dry_run(api: ScriptedApi, capsys: Any) -> None:
    dry = {"dry_run": True, "total": 6, "first": "x", "last": "y", "existing": 0}
    api.answer(200, dry)
    asked = ["jobs", "backfill", "a", "--from", "x", "--to", "y", "--dry-run", "--json"]
    assert run(asked) == 0
    assert json.loads(capsys.readouterr().out) == dry
    sent = json.loads(api.requests[0].body)
    assert (sent["dry_run"], sent["to"]) == (True, "y")
    assert len(sent["id"]) == 12


def test_backfills_are_listed_shown_and_cancelled(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, {"backfills": [BACKFILL], "cursor": None})
    assert run(["backfills", "list", "a"]) == 0
    assert "night  running" in capsys.readouterr().out
    api.answers = []
    api.answer(200, BACKFILL)
    assert run(["backfills", "show", "a", "night"]) == 0
    assert run(["backfills", "cancel", "a", "night"]) == 0
    capsys.readouterr()
    assert [(r.method, r.path) for r in api.requests[1:]] == [
        ("GET", "/prod/jobs/a/backfills/night"),
        ("POST", "/prod/jobs/a/backfills/night/cancel"),
    ]
    api.answers = []
    over = {**BACKFILL, "finished_at": "2026-11-30T06:01:00Z"}
    api.answer(200, {**over, "status": "done"}).answer(200, {**over, "status": "cancelled"})
    for words in ("all dispatched at", "cancelled at"):
        assert run(["backfills", "show", "a", "night"]) == 0
        out = capsys.readouterr().out
        assert f"{words} " in out
        assert "finished" not in out
    api.answers = []
    api.answer(404, {"title": "There is no such backfill", "status": 404})
    assert run(["backfills", "show", "a", "x"]) == 3


NO_LIMIT = {"group": "g", "max_starts_per_second": None, "changed_at": None, "changed_by": ""}


def test_a_group_that_nothing_is_known_of(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, NO_LIMIT).answer(200, {"jobs": [], "cursor": None})
    assert run(["groups", "show", "g"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "cronce: there is no group 'g': no job names it, and it has no limit\n"
    api.answers = []
    api.answer(200, NO_LIMIT).answer(200, {"jobs": [{"id": "a"}], "cursor": None})
    assert run(["groups", "show", "g"]) == 0
    assert "limit  none" in capsys.readouterr().out


def test_groups_are_limited(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, GROUP)
    assert run(["groups", "limit", "g", "2.50"]) == 0
    assert run(["groups", "show", "g"]) == 0
    assert run(["groups", "unlimit", "g"]) == 0
    assert [(r.method, r.path) for r in api.requests] == [
        ("PUT", "/prod/groups/g"),
        ("GET", "/prod/groups/g"),
        ("DELETE", "/prod/groups/g"),
    ]
    assert api.requests[0].body == b'{"max_starts_per_second":2.50}'
    assert "max starts per second  2.5" in capsys.readouterr().out
    assert run(["groups", "limit", "g", "fast"]) == 2
    api.answers = []
    api.answer(200, {"groups": [GROUP], "cursor": None})
    assert run(["groups", "list"]) == 0
    assert "g      2.5" in capsys.readouterr().out


def test_a_group_is_paused_page_by_page(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, {"changed": ["a", "b"], "failed": [], "cursor": "c1"})
    api.answer(200, {"changed": ["c"], "failed": [], "cursor": None})
    assert run(["groups", "pause", "g", "--note", "freeze"]) == 0
    assert [json.loads(r.body) for r in api.requests] == [
        {"note": "freeze"},
        {"note": "freeze", "cursor": "c1"},
    ]
    assert capsys.readouterr().out == "3 paused\n"


def test_what_could_not_be_resumed_is_told(api: ScriptedApi, capsys: Any) -> None:
    refused = {"job_id": "b", "reason": "in error"}
    api.answer(200, {"changed": ["a"], "failed": [refused], "cursor": None})
    assert run(["groups", "resume", "g", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"changed": ["a"], "failed": [refused]}
    assert said.err == "cronce: b: in error\n"
