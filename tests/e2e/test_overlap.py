"""One story per overlap policy: a job is due every six seconds, four times, and takes nine."""

from __future__ import annotations

import time
import uuid
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from cronce.client import ApiError, Client
from support.emulator import eventually
from support.hooks import Hooks

Run = dict[str, Any]

POLICIES = ("allow", "skip", "queue_one", "queue_all", "replace")
PERIOD, TAKES, TIMES = 6, 9, 4


@pytest.fixture(scope="module")
def stories(client: Client, hooks: Hooks) -> dict[str, list[Run]]:
    """The runs of each policy's job, by occurrence, when all of them have ended: told at once."""
    with pytest.raises(ApiError):
        client.get_job("nothing")
    names = {policy: f"overlap.{policy}.{uuid.uuid4().hex[:6]}" for policy in POLICIES}
    for policy, job_id in names.items():
        document = {
            "schedule": {"rate": PERIOD, "max_runs": TIMES},
            "target": {"http": {"url": f"{hooks.url}/slow/{TAKES}"}},
            "timeout": 30,
            "overlap": policy,
        }
        client.put_job(job_id, document)

    def look() -> dict[str, list[Run]]:
        found = {policy: list(client.list_runs(job_id)) for policy, job_id in names.items()}
        over = all(
            len(runs) == TIMES and all(run["finished_at"] for run in runs)
            for runs in found.values()
        )
        return found if over else {}

    found = eventually(look, 240)
    return {policy: runs[::-1] for policy, runs in found.items()}


def statuses(runs: list[Run]) -> list[str]:
    return [run["status"] for run in runs]


def spans(runs: list[Run]) -> list[tuple[float, float]]:
    """(start, end) of those that ran, by start."""
    return sorted(
        (instant(run["started_at"]), instant(run["finished_at"]))
        for run in runs
        if run["started_at"]
    )


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def overlapping(runs: list[Run]) -> int:
    return sum(start < end for (_, end), (start, _) in pairwise(spans(runs)))


def test_allow(stories: dict[str, list[Run]]) -> None:
    runs = stories["allow"]
    assert statuses(runs) == ["succeeded"] * TIMES
    assert overlapping(runs) >= 1


def test_skip(stories: dict[str, list[Run]]) -> None:
    runs = stories["skip"]
    assert runs[0]["status"] == "succeeded"
    assert set(statuses(runs)) == {"succeeded", "skipped"}
    assert overlapping(runs) == 0
    skipped = [run for run in runs if run["status"] == "skipped"]
    assert {run["code"] for run in skipped} == {"overlap"}
    assert runs[0]["run_id"] in skipped[0]["detail"]
    assert not [run for run in skipped if run["started_at"]]


def test_queue_one(stories: dict[str, list[Run]]) -> None:
    runs = stories["queue_one"]
    assert statuses(runs)[:2] == ["succeeded"] * 2
    assert set(statuses(runs)) <= {"succeeded", "skipped"}
    assert overlapping(runs) == 0


def test_queue_all(stories: dict[str, list[Run]]) -> None:
    runs = stories["queue_all"]
    assert statuses(runs) == ["succeeded"] * TIMES
    assert overlapping(runs) == 0
    by_start = sorted(runs, key=lambda run: run["started_at"])
    assert by_start == runs
    handed = [start - end for (_, end), (start, _) in pairwise(spans(runs))]
    assert min(handed) >= 0
    assert max(run["attempt"] for run in runs) == 1


def test_replace(stories: dict[str, list[Run]], hooks: Hooks) -> None:
    runs = stories["replace"]
    assert runs[-1]["status"] == "succeeded"
    assert set(statuses(runs)) == {"succeeded", "cancelled"}
    cancelled = [run for run in runs if run["status"] == "cancelled"]
    assert {run["code"] for run in cancelled} == {"replaced"}
    assert overlapping(runs) == 0
    assert len(hooks.of(runs[0]["job_id"])) == TIMES


def test_a_backfill_of_a_job_that_takes_turns(client: Client, hooks: Hooks) -> None:
    """Hourly occurrences of this night, run one after the other, in order."""
    job_id = f"backfill.{uuid.uuid4().hex[:6]}"
    client.put_job(
        job_id,
        {
            "schedule": "0 * * * *",
            "target": {"http": {"url": f"{hooks.url}/slow/1"}},
            "overlap": "skip",
        },
    )
    now = time.time()
    since, until = (
        f"{datetime.fromtimestamp(now - hours * 3600).astimezone().isoformat(timespec='seconds')}"
        for hours in (5, 1)
    )
    asked = {"since": since, "until": until, "backfill_id": "night", "pace": 60}
    dry = client.backfill(job_id, dry_run=True, **asked)  # type: ignore[arg-type]
    assert (dry["total"], dry["existing"]) == (4, 0)
    client.backfill(job_id, **asked)  # type: ignore[arg-type]
    assert client.backfill(job_id, **asked)["id"] == "night"  # type: ignore[arg-type]

    def look() -> list[Run]:
        runs = [run for run in client.list_runs(job_id) if run["trigger"] == "b-night"]
        return runs if len(runs) == 4 and all(run["finished_at"] for run in runs) else []

    runs = eventually(look, 180)[::-1]
    assert statuses(runs) == ["succeeded"] * 4
    assert overlapping(runs) == 0
    assert eventually(lambda: client.get_backfill(job_id, "night")["status"] == "done", 180)


def test_a_group_keeps_to_its_limit(client: Client, hooks: Hooks) -> None:
    group = f"g{uuid.uuid4().hex[:6]}"
    client.limit_group(group, "1")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 8))
    names = [f"{group}.{n}" for n in range(5)]
    for name in names:
        document = {
            "schedule": {"at": at},
            "target": {"http": {"url": f"{hooks.url}/ok"}},
            "group": group,
        }
        client.put_job(name, document)
    eventually(lambda: all(hooks.of(name) for name in names), 120)
    hits = sorted(hooks.of(name)[0].at for name in names)
    due = instant(at)
    assert all(hit >= due + n for n, hit in enumerate(hits))
    held = [run["held_until"] for name in names for run in client.list_runs(name)]
    assert held.count(None) == 1
