"""A table restored to a point in time, a day later: what fires, and what runs twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from cronce.adapters.wire import Item
from cronce.domain.identity import RunKey
from cronce.domain.instants import to_api
from cronce.targets.contract import Call
from simulation.kernel import START
from support.stage import Stage, Started

MINUTE, HOUR = 60, 3600
# The copy is from 11:30; the restore is at 11:30 on the next day.
COPIED = 90 * MINUTE
DAY = 24 * HOUR
RESTORED = COPIED + DAY
HOURLY = "0 * * * *"


@dataclass
class Lives:
    """One deployment that went on for a day after its table was copied, and its table as it was,
    brought back with an empty queue."""

    first: Stage
    copy: list[Item]
    second: Stage

    def ran(self, stage: Stage, job_id: str) -> list[Started]:
        return [s for s in stage.started if s.key.job_id == job_id]

    def again(self, job_id: str) -> set[RunKey]:
        """Executed in both lives."""
        first, second = self.ran(self.first, job_id), self.ran(self.second, job_id)
        return {s.key for s in first} & {s.key for s in second}

    def hours(self, job_id: str) -> list[int]:
        """Hours since the beginning of what the second life ran of the lost day."""
        runs = [s.key.scheduled_for - START for s in self.ran(self.second, job_id)]
        return [int(r / timedelta(hours=1)) for r in runs if r <= timedelta(seconds=RESTORED)]


def jobs(stage: Stage) -> None:
    stage.put("once", schedule=HOURLY)
    stage.put("never", schedule=HOURLY, misfire="skip")
    stage.put("all", schedule=HOURLY, misfire={"policy": "run_all", "window": "3h"})
    stage.put("at", schedule={"at": to_api(START + timedelta(hours=5))})
    stage.put("long", schedule=HOURLY, timeout="14m")
    stage.put("deleted", schedule=HOURLY)


def takes(call: Call) -> float:
    """The run of 11:30 of this job is under way when the table is copied."""
    return 600.0 if call.job_id == "busy" else 0.2


@pytest.fixture(scope="module")
def past() -> Iterator[tuple[Stage, list[Item]]]:
    """The first life, to its end."""
    stage = Stage(takes=takes, pollers=1, poll=10_000)
    jobs(stage)
    stage.put(
        "busy", schedule={"at": to_api(START + timedelta(seconds=COPIED - 60))}, timeout="14m"
    )
    stage.run_to(COPIED)
    copy = stage.store.rows.all()
    stage.api(lambda control: control.delete("deleted"))
    stage.put("later", schedule=HOURLY)
    stage.run_to(RESTORED)
    yield stage, copy
    stage.close()


Restore = Callable[[], Lives]


@pytest.fixture
def restore(past: tuple[Stage, list[Item]]) -> Iterator[Restore]:
    """Brings the table back; nothing ticks yet."""
    made: list[Stage] = []

    def bring() -> Lives:
        first, copy = past
        stage = Stage(takes=takes, ticks=False, pollers=0)
        made.append(stage)
        stage.run_to(RESTORED)
        for item in copy:
            stage.store.rows.put(item)
        for _ in range(4):
            stage.kernel.spawn(stage.nature, stage._poll)
        return Lives(first, copy, stage)

    yield bring
    for stage in made:
        stage.close()


def go_on(stage: Stage, seconds: int = 40 * MINUTE) -> None:
    stage.kernel.spawn(stage.nature, stage._clockwork)
    stage.run(seconds)


@pytest.fixture
def lives(restore: Restore) -> Lives:
    """Restored, and then left to itself."""
    lives = restore()
    go_on(lives.second)
    return lives


def test_each_job_fires_by_its_misfire_policy(lives: Lives) -> None:
    assert lives.hours("once") == [25]
    assert lives.hours("never") == []
    assert sorted(lives.hours("all")) == [23, 24, 25]


def test_what_fires_of_the_lost_day_ran_before(lives: Lives) -> None:
    """The rows that would refuse it are gone with the day."""
    assert len(lives.again("once")) == 1
    assert lives.again("never") == set()
    assert len(lives.again("all")) == 3
    assert all(s.attempt == 1 for s in lives.ran(lives.second, "once"))


def test_what_does_not_fire_is_counted_as_missed(lives: Lives) -> None:
    missed = {
        job: sum(
            int(str(row["count"]))
            for row in lives.second.store.rows.all()
            if row["pk"] == f"JOB#{job}" and str(row["sk"]).startswith("MISSED#")
        )
        for job in ("once", "never", "all")
    }
    # Of 12:00 to 11:00 on the next day.
    assert missed == {"once": 23, "never": 24, "all": 21}


def test_a_one_time_job_of_the_lost_day_runs_again(lives: Lives) -> None:
    assert len(lives.again("at")) == 1


def test_what_was_under_way_is_taken_over_by_its_record(lives: Lives) -> None:
    (again,) = lives.ran(lives.second, "busy")
    assert again.attempt == 2
    assert lives.second.statuses("busy") == ["succeeded"]


def test_what_had_ended_before_the_copy_does_not_run_again(lives: Lives) -> None:
    copied = START + timedelta(seconds=COPIED)
    again = {s.key for s in lives.second.started if s.key.scheduled_for < copied}
    assert {key.job_id for key in again} == {"busy"}


def test_what_was_deleted_is_back_and_what_was_created_is_gone(lives: Lives) -> None:
    assert lives.hours("deleted") == [25]
    assert lives.second.store.read_job("later") is None


def test_from_then_on_it_is_as_ever(lives: Lives) -> None:
    at_noon = START + timedelta(hours=26)
    for job in ("once", "never", "all", "long"):
        now = [s for s in lives.ran(lives.second, job) if s.key.scheduled_for == at_noon]
        assert len(now) == 1, job


def test_without_the_tick_a_job_told_to_skip_runs_nothing_of_the_lost_day(
    restore: Restore,
) -> None:
    """The way out of the runbook: `skip` for all, while the dispatcher rests, and then back."""
    lives = restore()
    for job in ("once", "all", "deleted", "long"):
        lives.second.put(job, schedule=HOURLY, misfire="skip", **_more(job))
    one_time = {"at": to_api(START + timedelta(hours=5))}
    lives.second.put("at", schedule=one_time, misfire="skip")
    for job in ("once", "deleted", "long"):
        lives.second.put(job, schedule=HOURLY, **_more(job))
    lives.second.put("at", schedule=one_time)
    go_on(lives.second)
    for job in ("once", "all", "deleted", "long", "at"):
        assert lives.again(job) == set(), job
    stored = lives.second.store.read_job("at")
    assert stored is not None
    assert stored.job.status == "ended"


def test_a_pause_after_the_restore_is_in_time_where_no_worker_is_faster(restore: Restore) -> None:
    """It dispatches first what was due; the worker, when it comes, finds the job paused."""
    lives = restore()
    lives.second.api(lambda control: control.pause("all", by="somebody"))
    go_on(lives.second)
    assert lives.again("all") == set()
    assert lives.second.statuses("all")[-3:] == ["cancelled"] * 3


def test_messages_of_the_lost_life_would_run_again(restore: Restore) -> None:
    """Why the queue is purged: nothing in the table knows that their runs have ended."""
    from cronce.domain.message import Message
    from cronce.ports import Outgoing

    lives = restore()
    key = next(s.key for s in lives.ran(lives.first, "once") if s.second > RESTORED - HOUR)
    stored = lives.second.store.read_job("once")
    assert stored is not None
    now = lives.second.now
    message = Message(key, stored.job.generation, key.scheduled_for, now)
    lives.second.queue.send([Outgoing(message, 0)])
    lives.second.run(30)
    assert lives.again("once") == {key}


def _more(job: str) -> dict[str, Any]:
    return {"timeout": "14m"} if job == "long" else {}
