"""B25: rows that nobody can read lie in the index before good ones that are due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.dispatch import tick
from cronce.domain.identity import RunKey
from cronce.domain.job import Definition, Job, make_plan
from cronce.domain.plan import Due, Misfire
from cronce.domain.record import DispatchRecord, Sent
from cronce.domain.schedule import parse_schedule
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.testing.clock import SettableClock
from cronce.testing.memory import MemoryQueue, MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from cronce.visits import TickReport

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(seconds=30)
SETTINGS = Settings(shards=1)
TARGET = {"http": {"url": "https://hooks.example.com"}}


@dataclass
class Table:
    store: MemoryStore
    queue: MemoryQueue
    ports: Ports
    observer: RecordingObserver

    def job(self, job_id: str, due: datetime, **broken: Any) -> None:
        plan = make_plan(parse_schedule("* * * * *", now=EARLIER), Misfire("run_once"))
        job = Job(job_id, "k3f9a2qd", 1, 1, "active", plan, 0, EARLIER, Due(due, due))
        self.store.create_job(job, Definition({"target": TARGET}, TARGET))
        if broken:
            row = self.store.rows.get(f"JOB#{job_id}", "JOB")
            assert row is not None
            self.store.rows.put({**row, **broken})

    def tick(self) -> TickReport:
        return tick(self.ports, SETTINGS, event_time=NOW, deadline=NOW + timedelta(seconds=45))

    def state(self, job_id: str) -> tuple[Any, Any, bool]:
        row = self.store.rows.get(f"JOB#{job_id}", "JOB")
        assert row is not None
        return row["status"], row.get("reason"), "next_run" in row


@pytest.fixture
def table() -> Table:
    clock = SettableClock(NOW)
    store, queue, observer = MemoryStore(clock, shards=1), MemoryQueue(clock), RecordingObserver()
    ports = Ports(store, queue, clock, InlineThreads(), SeededRandom(3), observer)
    return Table(store, queue, ports, observer)


BROKEN: dict[str, Any] = {
    "impossible-cron": {"plan": {"schedule": {"cron": "0 0 31 2 *"}, "misfire": {}}},
    "unknown-zone": {"plan": {"schedule": {"cron": "* * * * *", "timezone": "Mars/Phobos"}}},
    "cron-of-a-number": {"plan": {"schedule": {"cron": 7}, "misfire": {"policy": "run_once"}}},
    "no-plan": {"plan": "soon"},
    "odd-time": {"next_run": "2026-11-30"},
    "no-generation": {"generation": "one"},
}


def test_b25_broken_rows_leave_the_index_and_the_good_ones_run(table: Table) -> None:
    for name, broken in BROKEN.items():
        table.job(name, EARLIER, **broken)
    for n in range(5):
        table.job(f"good-{n}", NOW)
    report = table.tick()
    assert report.finished
    assert report.errors == len(BROKEN)
    assert report.advanced == 5
    for name in BROKEN:
        status, reason, indexed = table.state(name)
        assert (status, indexed) == ("error", False), name
        assert reason, name
    assert {e.fields["job"] for e in table.observer.of("job_error")} >= {"unknown-zone"}
    assert table.tick().errors == 0


def test_a_row_of_a_newer_release_is_passed_over(table: Table) -> None:
    table.job("newer", EARLIER, v=99)
    table.job("good", NOW)
    report = table.tick()
    assert (report.errors, report.advanced) == (0, 1)
    assert table.state("newer") == ("active", None, True)


def test_a_record_that_cannot_be_read_keeps_no_job_waiting(table: Table) -> None:
    sent = Sent(RunKey("gone", "k3f9a2qd", EARLIER), 1, EARLIER)
    record = DispatchRecord(0, "r1", 0, EARLIER, (sent,), 1, "tick", EARLIER)
    table.store.put_record(record)
    row = table.store.rows.get("DISPATCH#0", "r1")
    assert row is not None
    table.store.rows.put({**row, "runs": ["not|a|run"]})
    table.job("good", NOW)
    report = table.tick()
    assert report.finished
    assert (report.advanced, report.failed) == (1, 1)
    assert len(table.observer.of("reconcile_failed")) == 1
