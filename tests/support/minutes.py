"""The shipped tick and worker over any store, minute by minute in virtual time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cronce import limits
from cronce.dispatch import TickReport, tick
from cronce.domain.identity import shard_of
from cronce.domain.job import Definition, Job, make_plan
from cronce.domain.misfire import Misfire
from cronce.domain.plan import first_due
from cronce.domain.run import LogPointer
from cronce.domain.schedule import parse_schedule
from cronce.ports import Ports, Store
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call
from cronce.testing.clock import SettableClock
from cronce.testing.memory import MemoryQueue
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from cronce.work import Delivery, Worker, work_batch
from support.stores import NOW

START = NOW.replace(second=0, microsecond=0)
LOG = LogPointer(
    "/aws/lambda/cronce-Worker4A1B2C3D-0123456789ab",
    "2026/11/30/[$LATEST]0123456789abcdef0123456789abcdef",
    "01234567-89ab-cdef-0123-456789abcdef",
)


class Succeeds:
    """A target whose answer is as long as an ordinary one."""

    def execute(self, call: Call) -> Answer:
        return Answer(True, "succeeded", False, "http_200", result='{"status": "accepted"}')


@dataclass
class Minutes:
    """A deployment. The store may be exchanged between two minutes."""

    store: Store
    clock: SettableClock
    queue: MemoryQueue = field(init=False)
    settings: Settings = field(default_factory=Settings)
    observer: RecordingObserver = field(default_factory=RecordingObserver)
    random: SeededRandom = field(default_factory=SeededRandom)

    def __post_init__(self) -> None:
        self.clock.set(START)
        self.queue = MemoryQueue(self.clock)

    @property
    def ports(self) -> Ports:
        return Ports(
            self.store, self.queue, self.clock, InlineThreads(), self.random, self.observer
        )

    def minute(self) -> int:
        """A tick at its beginning, and whatever becomes visible until its end; runs ended."""
        start = self.clock.now()
        self.tick()
        ended = 0
        end = start + timedelta(seconds=limits.TICK_PERIOD)
        while (at := self.queue.next_visible_at()) is not None and at < end:
            self.clock.set(max(at, self.clock.now()))
            ended += self.deliver()
        self.clock.set(end)
        return ended

    def tick(self) -> TickReport:
        now = self.clock.now()
        stop = now + timedelta(seconds=limits.DISPATCHER_STOP_AFTER)
        return tick(self.ports, self.settings, event_time=now, deadline=stop)

    def deliver(self) -> int:
        """One batch; the number acknowledged."""
        received = self.queue.receive()
        deadline = self.clock.now() + timedelta(seconds=limits.WORKER_TIMEOUT)
        worker = Worker(self.ports, self.settings, Succeeds(), deadline, LOG)
        deliveries = [Delivery(r.body, r.message_id, r.receipt) for r in received]
        returned = set(work_batch(worker, deliveries).returned)
        done = [r for r in received if r.message_id not in returned]
        for message in done:
            self.queue.delete(message.receipt)
        return len(done)


def recurring(
    n: int, schedule: Mapping[str, object] | str, *, payload: int = 0, at: datetime = START
) -> tuple[Job, Definition]:
    """The n-th of many jobs alike. payload: bytes."""
    job_id = f"report-{n:04d}"
    parsed = parse_schedule(schedule, now=at, anchor=at)
    uid = f"uid{n:05d}"
    job = Job(
        job_id=job_id,
        uid=uid,
        generation=1,
        version=1,
        status="active",
        plan=make_plan(parsed, Misfire()),
        shard=shard_of(job_id, limits.SHARDS),
        changed_at=at,
        next=first_due(uid, parsed, at),
    )
    target = {"http": {"url": f"https://reports.example.com/hooks/{job_id}", "method": "POST"}}
    definition = Definition(
        document={"schedule": schedule, "target": target},
        target=target,
        payload='"' + "x" * (payload - 2) + '"' if payload else None,
        created_at=at,
        created_by="arn:aws:iam::123456789012:user/somebody",
        updated_at=at,
        updated_by="arn:aws:iam::123456789012:user/somebody",
    )
    return job, definition
