"""``cronce calendars``, ``replan`` and ``health``: output, exit codes, what is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronce.cli.main import run

from .conftest import ScriptedApi

pytestmark = pytest.mark.usefixtures("deployed")

STORED: dict[str, Any] = {
    "name": "closed",
    "exclude": {"weekends": True, "holidays": {"country": "DE", "subdivision": "BY"}},
    "on_excluded": "skip",
    "status": {
        "version": 2,
        "users": 3,
        "holiday_dates": ["2026-01-01", "2035-12-26"],
        "created_at": "2026-11-30T10:00:00Z",
        "created_by": "alice",
        "updated_at": "2026-11-30T10:00:00Z",
        "updated_by": "bob",
    },
}


def page(*moved: str, cursor: str | None = None, **fields: Any) -> dict[str, Any]:
    shown = [
        {
            "id": job,
            "before": "2026-12-01T09:00:00Z",
            "after": "2026-12-02T09:00:00Z",
            "planned_with": {"tzdata": "2026a", "calendar": 1},
        }
        for job in moved
    ]
    page = {"tzdata": "2026b", "dry_run": False, "looked_at": len(moved) + 1, "moved": shown}
    return {**page, "standing": 0, "failed": [], "cursor": cursor, **fields}


def test_put_plans_all_its_jobs_again(api: ScriptedApi, capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"exclude": {"weekends": true}}')
    api.answer(200, {**STORED, "replanned": page("a", cursor="c1")}).answer(200, page("b"))
    assert run(["calendars", "put", "closed", "c.json", "--if-match", "1"]) == 0
    first, second = api.requests
    assert (first.method, first.path) == ("PUT", "/prod/calendars/closed")
    assert first.body == b'{"exclude": {"weekends": true}}'
    assert first.headers["if-match"] == '"1"'
    assert json.loads(second.body) == {"calendar": "closed", "cursor": "c1"}
    out = capsys.readouterr().out
    assert "weekends, holidays of DE-BY" in out
    assert "a    2026-12-01T09:00:00Z  2026-12-02T09:00:00Z" in out
    assert "b    2026-12-01T09:00:00Z  2026-12-02T09:00:00Z" in out


def test_put_of_the_same(api: ScriptedApi, capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{}")
    api.answer(200, {**STORED, "replanned": None})
    assert run(["calendars", "put", "closed", "c.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**STORED, "replanned": None}


def test_show_list_and_delete(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, STORED).answer(200, {"calendars": [STORED], "cursor": None}).answer(204)
    assert run(["calendars", "show", "closed"]) == 0
    assert "2026-01-01 to 2035-12-26" in capsys.readouterr().out
    assert run(["calendars", "list"]) == 0
    assert "closed    weekends, holidays of DE-BY  skip         3     2" in capsys.readouterr().out
    assert run(["calendars", "delete", "closed", "--if-match", "2"]) == 0
    assert api.requests[-1].headers["if-match"] == '"2"'


def test_delete_of_one_in_use(api: ScriptedApi, capsys: Any) -> None:
    detail = "jobs use the calendar 'closed': a, b"
    api.answer(409, {"title": "Jobs use the calendar", "detail": detail, "jobs": ["a", "b"]})
    assert run(["calendars", "delete", "closed"]) == 4
    assert "a, b" in capsys.readouterr().err


def test_replan_goes_through_all_pages(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, page("a", cursor="c1")).answer(200, page("b", standing=2))
    assert run(["replan", "--dry-run"]) == 0
    bodies = [json.loads(request.body) for request in api.requests]
    assert bodies == [{"dry_run": True}, {"dry_run": True, "cursor": "c1"}]
    out = capsys.readouterr().out
    assert "tzdata 2026b: 2 of 4 active jobs would move" in out
    assert "2 are too close to move" in out


def test_replan_that_left_some(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, page("a", failed=["b", "c"]))
    assert run(["replan", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["failed"] == ["b", "c"]
    assert "b, c" in told.err


def test_health_shows_the_time_zone_data(api: ScriptedApi, capsys: Any) -> None:
    api.answer(200, {"status": "ok", "deployment": "x", "version": "1", "tzdata": "2026b"})
    assert run(["health"]) == 0
    assert "tzdata      2026b" in capsys.readouterr().out
