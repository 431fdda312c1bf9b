"""A deployment in virtual time: the shipped modules over the store and the queue in memory, the
tick once a minute, workers that receive, a target that takes its time. Nothing goes wrong but what
a test asks for: a process of one role may be killed right after the n-th write of that role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from cronce import limits
from cronce.control import Control
from cronce.dispatch import tick
from cronce.domain.definition import parse_job
from cronce.domain.identity import RunKey, parse_run_id
from cronce.domain.run import Run
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call, retried, succeeded
from cronce.testing.memory import MemoryQueue, MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.visits import TickReport
from cronce.work import BatchReport, Delivery, Worker, work_batch
from simulation.kernel import START, Kernel, Killed, Process, Strand
from simulation.shell import Lots, Strands

T = TypeVar("T")

TICK_AFTER = 1_000
CALL_MS = 3
POLL_MS = 250
WRITES = frozenset(
    {
        *("write_lock", "claim", "take_over", "succeed", "fail", "retry", "lose", "concede"),
        *("skip", "miss", "cancel", "send", "put_record", "advance", "dispatched", "put_missed"),
        *("trigger", "create_backfill", "update_backfill", "write_group", "expire_job"),
    }
)
BY = "somebody"


@dataclass(frozen=True)
class Started:
    """The target was called. second: since the beginning."""

    key: RunKey
    attempt: int
    second: float


@dataclass
class Stage:
    """takes: seconds that the target takes, by call. answer: what it says. doom: (role, n): after
    the n-th write of that role, counted over its processes, the one that made it dies. poll: ms
    between two looks of a poller."""

    takes: Callable[[Call], float] = lambda call: 0.2
    answer: Callable[[Call], Answer] = lambda call: succeeded("http_200")
    pollers: int = 4
    poll: int = POLL_MS
    ticks: bool = True
    shards: int = 3
    started: list[Started] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    observer: RecordingObserver = field(default_factory=RecordingObserver)
    writes: Counter[str] = field(default_factory=Counter)
    doom: tuple[str, int] | None = None
    died: bool = False

    def __post_init__(self) -> None:
        self.kernel = Kernel(1)
        self.store = MemoryStore(_Clock(self.kernel, None), shards=self.shards)
        self.queue = MemoryQueue(_Clock(self.kernel, None))
        self.settings = Settings(shards=self.shards)
        self.nature = self.kernel.process("nature")
        self.nature.vital = True
        self.reports: list[TickReport] = []
        if self.ticks:
            self.kernel.spawn(self.nature, self._clockwork)
        for _ in range(self.pollers):
            self.kernel.spawn(self.nature, self._poll)

    # --- what a test does

    def put(self, job_id: str = "a", **document: Any) -> None:
        doc = {"schedule": "rate(5 minutes)", "target": {"http": {"url": "https://x/"}}} | document

        def parse(now: datetime, anchor: datetime) -> Any:
            return parse_job(doc, now=now, anchor=anchor, check_target=lambda target: [])

        self.api(lambda control: control.put(job_id, parse, by=BY))

    def api(self, ask: Callable[[Control], T]) -> T:
        """One request, done when this returns."""
        strand = self.spawn(ask)
        while not strand.done:
            self.kernel.run(self.kernel.now + CALL_MS)
        if strand.error is not None:
            raise strand.error
        return strand.value  # type: ignore[return-value]

    def spawn(self, ask: Callable[[Control], object]) -> Strand:
        """One request, which has only begun."""
        process = self.kernel.process("api")
        control = Control(self.ports(process), self.settings)
        return self.kernel.spawn(process, lambda: ask(control))

    def run(self, seconds: float) -> None:
        """Everything that happens within so many seconds."""
        self.kernel.run(self.kernel.now + int(seconds * 1000))

    def run_to(self, second: float) -> None:
        self.kernel.run(int(second * 1000))

    def close(self) -> None:
        self.kernel.close()

    # --- what a test looks at

    @property
    def now(self) -> datetime:
        return self.kernel.instant()

    def runs(self, job_id: str = "a") -> list[Run]:
        """By occurrence."""
        page = self.store.list_runs(job_id, limit=10_000)
        return [run for run in reversed(page.items) if isinstance(run, Run)]

    def statuses(self, job_id: str = "a") -> list[str]:
        return [run.status for run in self.runs(job_id)]

    def second(self, at: datetime | None) -> float:
        """Since the beginning."""
        assert at is not None
        return (at - START).total_seconds()

    def spans(self, job_id: str = "a") -> list[tuple[float, float]]:
        """(started, finished) of the runs that ran, by start."""
        found = [
            (self.second(run.started_at), self.second(run.finished_at or self.now))
            for run in self.runs(job_id)
            if run.started_at is not None
        ]
        return sorted(found)

    def open_spans(self, job_id: str = "a") -> list[tuple[float, float, RunKey]]:
        """From a run's first execution to its end, by start."""
        first: dict[RunKey, float] = {}
        for s in self.started:
            first.setdefault(s.key, s.second)
        ends = {r.key: self.second(r.finished_at or self.now) for r in self.runs(job_id)}
        return sorted((at, ends[key], key) for key, at in first.items() if key.job_id == job_id)

    # --- how it works

    def ports(self, process: Process) -> Ports:
        return Ports(
            store=_Through(self, self.store, process),  # type: ignore[arg-type]
            queue=_Through(self, self.queue, process),  # type: ignore[arg-type]
            clock=_Clock(self.kernel, process),
            threads=Strands(self.kernel, process),
            random=Lots(self.kernel),
            observer=self.observer,
        )

    def tick(self) -> Strand:
        """One tick, now."""
        process = self.kernel.process("dispatcher")
        ports = self.ports(process)
        event_time = self.now

        def work() -> None:
            deadline = ports.clock.now() + timedelta(seconds=limits.DISPATCHER_STOP_AFTER)
            report = tick(ports, self.settings, event_time=event_time, deadline=deadline)
            self.reports.append(report)

        return self._spawned(process, work)

    def _spawned(self, process: Process, work: Callable[[], object]) -> Strand:
        """A fault of the code under test is the test's."""

        def guarded() -> object:
            try:
                return work()
            except Exception as e:
                self.kernel.failure = e
                raise

        return self.kernel.spawn(process, guarded)

    def _clockwork(self) -> None:
        while True:
            minute = (self.kernel.now // 60_000 + 1) * 60_000
            self.kernel.pause(minute + TICK_AFTER - self.kernel.now)
            self.tick()

    def _poll(self) -> None:
        while True:
            batch = self.queue.receive(10)
            if not batch:
                self.kernel.pause(self.poll)
                continue
            deliveries = [Delivery(m.body, m.message_id, m.receipt) for m in batch]
            self._work(deliveries)

    def _work(self, deliveries: list[Delivery]) -> None:
        process = self.kernel.process("worker")
        ports = self.ports(process)
        deadline = ports.clock.now() + timedelta(seconds=limits.WORKER_TIMEOUT)
        worker = Worker(ports, self.settings, _Target(self), deadline)
        strand = self._spawned(process, lambda: work_batch(worker, deliveries))
        strand.wait(limits.WORKER_TIMEOUT)
        report = strand.value
        if not isinstance(report, BatchReport):
            assert strand.done
            assert isinstance(strand.error, Killed)
            return
        for delivery in deliveries:
            if delivery.message_id not in report.returned:
                self.queue.delete(delivery.receipt)

    def called(self, process: Process, method: str, apply: Callable[[], Any]) -> Any:
        self.kernel.pause(CALL_MS)
        self.calls[method] += 1
        result = apply()
        if method in WRITES:
            self.writes[process.name] += 1
            if self.doom == (process.name, self.writes[process.name]):
                self.died = True
                self.kernel.kill(process)
        return result


class _Clock:
    def __init__(self, kernel: Kernel, process: Process | None) -> None:
        self._kernel = kernel

    def now(self) -> datetime:
        return self._kernel.instant()

    def sleep(self, seconds: float) -> None:
        self._kernel.pause(max(0, -int(-seconds * 1000 // 1)))


class _Through:
    """Each method of a port is one call over the wire."""

    def __init__(self, stage: Stage, inner: Any, process: Process) -> None:
        self._stage, self._inner, self._process = stage, inner, process

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._stage.called(self._process, name, lambda: method(*args, **kwargs))

        return call


class _Target:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def execute(self, call: Call) -> Answer:
        key = parse_run_id(call.job_id, call.run_id)
        assert key is not None
        stage = self._stage
        stage.started.append(Started(key, call.attempt, stage.kernel.now / 1000))
        stage.kernel.pause(int(stage.takes(call) * 1000))
        return stage.answer(call)


def failing(call: Call) -> Answer:
    return retried("http_503", "no")


@pytest.fixture
def stages() -> Iterator[Callable[..., Stage]]:
    """Makes stages, and closes them."""
    made: list[Stage] = []

    def make(**choices: Any) -> Stage:
        made.append(Stage(**choices))
        return made[-1]

    yield make
    for stage in made:
        stage.close()
