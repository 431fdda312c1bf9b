"""A whole deployment in one object, for tests of your own jobs: the shipped dispatcher, worker and
control plane over the store and queue in memory, at a time that you set.

    driver = Driver(MyTarget(), at=datetime(2026, 11, 29, 10, tzinfo=UTC))
    driver.put("report", {"schedule": "*/5 * * * *", "target": {"http": {"url": "https://x/"}}})
    driver.run_for(600)
    assert [run.status for run in driver.runs("report")] == ["succeeded", "succeeded"]
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from cronce import limits
from cronce.control import Control
from cronce.dispatch import tick
from cronce.domain.definition import JobSpec, parse_job
from cronce.domain.instants import seconds
from cronce.domain.job import StoredJob
from cronce.domain.run import Run
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Target
from cronce.testing.clock import SettableClock
from cronce.testing.memory import MemoryQueue, MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from cronce.visits import TickReport
from cronce.work import BatchReport, Delivery, Worker, work_batch

MOST_STEPS = 100_000
PAGE = 1000


class Driver:
    """target: what every job calls. at: aware, when the deployment comes into being.

    Everything happens in the caller, one thing after the other. A target that wants to take time
    advances `clock`. `control` is every call of the API, `observer.events` what was logged.
    """

    def __init__(self, target: Target, *, at: datetime, settings: Settings | None = None) -> None:
        self.target = target
        self.settings = settings or Settings()
        self.clock = SettableClock(at)
        self.store = MemoryStore(self.clock, shards=self.settings.shards)
        self.queue = MemoryQueue(self.clock)
        self.observer = RecordingObserver()
        self.ports = Ports(
            store=self.store,
            queue=self.queue,
            clock=self.clock,
            threads=InlineThreads(),
            random=SeededRandom(),
            observer=self.observer,
        )
        self.control = Control(self.ports, self.settings)

    def put(self, job_id: str, document: Mapping[str, object], *, by: str = "test") -> StoredJob:
        """Creates or replaces a job, as `PUT /jobs/<job_id>` does; any target is allowed.
        Raises Invalid."""

        def parse(now: datetime, anchor: datetime) -> JobSpec:
            return parse_job(document, now=now, anchor=anchor, check_target=lambda target: [])

        return self.control.put(job_id, parse, by=by).stored

    def tick(self) -> TickReport:
        """One invocation of the dispatcher, now."""
        now = self.clock.now()
        deadline = now + seconds(limits.DISPATCHER_STOP_AFTER)
        return tick(self.ports, self.settings, event_time=now, deadline=deadline)

    def deliver(self, most: int = limits.BATCH_SIZE) -> BatchReport | None:
        """One invocation of the worker with what is visible in the queue; what it does not return
        is acknowledged. None when nothing is visible."""
        received = self.queue.receive(most)
        if not received:
            return None
        deadline = self.clock.now() + seconds(limits.WORKER_TIMEOUT)
        worker = Worker(self.ports, self.settings, self.target, deadline)
        report = work_batch(worker, [Delivery(m.body, m.message_id, m.receipt) for m in received])
        for m in received:
            if m.message_id not in report.returned:
                self.queue.delete(m.receipt)
        return report

    def run_for(self, duration: float) -> None:
        """duration: seconds. As `run_until`."""
        self.run_until(self.clock.now() + seconds(duration))

    def run_until(self, at: datetime) -> None:
        """A tick at every full minute and every delivery at its time, up to `at`, inclusive."""
        for _ in range(MOST_STEPS):
            self._deliver_all()
            minute = _next_minute(self.clock.now())
            visible = self.queue.next_visible_at() or at
            then = min(minute, max(visible, self.clock.now()), at)
            self.clock.set(max(then, self.clock.now()))
            if self.clock.now() >= minute:
                self.tick()
            elif self.clock.now() >= at:
                self._deliver_all()
                return
        raise RuntimeError(f"not at {at} after {MOST_STEPS} steps")

    def run_until_idle(self, *, at_most: float = 86_400) -> None:
        """Until no message waits, not even a delayed one; at most so many seconds. For jobs without
        an end choose `run_until`: theirs never stops."""
        end = self.clock.now() + seconds(at_most)
        while self.queue.waiting and self.clock.now() < end:
            self.run_until(min(self.queue.next_visible_at() or end, end))

    def runs(self, job_id: str) -> list[Run]:
        """Of the job, the oldest occurrence first."""
        found: list[Run] = []
        cursor = None
        while True:
            page = self.store.list_runs(job_id, limit=PAGE, cursor=cursor)
            found += [run for run in page.items if isinstance(run, Run)]
            cursor = page.cursor
            if cursor is None:
                return found[::-1]

    def _deliver_all(self) -> None:
        for _ in range(MOST_STEPS):
            if self.deliver() is None:
                return


def _next_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)
