"""One simulated deployment: table, queue, machines, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cronce.adapters.dispatch_items import record_from_item
from cronce.adapters.items import LAST, MISSED_PREFIX, job_pk
from cronce.adapters.job_items import missed_from_item
from cronce.domain.errors import CronceError
from cronce.domain.identity import RunKey
from cronce.domain.message import Message
from cronce.domain.plan import Missed
from cronce.domain.run import Run
from cronce.ports import Outgoing, Ports
from cronce.settings import Settings
from cronce.testing.memory import MemoryStore
from cronce.testing.memory_queue import MemoryQueue, Waiting
from cronce.work import Delivery

from .faults import Faults
from .history import ENDED, History
from .kernel import Kernel, Process, Strand
from .scenario import Draft, Scenario
from .shell import ports_of

MACHINES = 8
SKEW = 5_000


class TrueClock:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def now(self) -> datetime:
        return self._kernel.instant()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps by the true clock")


class World:
    def __init__(self, scenario: Scenario, tell: Callable[..., None] | None = None) -> None:
        self.scenario = scenario
        self.kernel = kernel = Kernel(scenario.seed)
        trace = partial(_timed, kernel, tell) if tell else None
        self.settings = Settings(shards=3)
        self.faults = Faults(kernel, scenario.rate, scenario.kinds)
        self.faults.focus, self.faults.slow = scenario.focus, scenario.slow
        self.faults.lag = scenario.lag
        self.faults.tell = lambda process, method, kind: self.note(f"FAULT {kind}", call=method)
        true = TrueClock(kernel)
        self.inner = MemoryStore(true, shards=self.settings.shards, page=5)
        self.history = History(kernel, self.inner, trace=trace)
        self.queue = SentQueue(self, true)
        if scenario.held:
            self.history.before_missed = self.release
            self.history.after_find = self.count_now
        self.trace = trace
        self.nature = kernel.process("nature")
        self.nature.vital = True
        self.drafts: dict[str, Draft] = {}
        self.promised: list[RunKey] = []
        self.taken: set[RunKey] = set()
        self.dozing: list[tuple[Strand, int]] = []
        self.counting: list[tuple[Strand, int]] = []
        self.live: dict[str, list[Process]] = {}
        self.purges: list[tuple[int, dict[RunKey, datetime]]] = []
        self.kills: list[tuple[int, Process]] = []
        self.troubled = False
        base = -kernel.rng.random() * SKEW
        self._offsets = [int(base + kernel.rng.random() * SKEW) for _ in range(MACHINES)]

    def machine(self, name: str) -> Process:
        """A fresh process on one of the machines, whose clocks differ by up to 5 s."""
        process = self.kernel.process(name, self.kernel.rng.choice(self._offsets))
        alive = self.live.setdefault(name.split("-")[0], [])
        alive[:] = [p for p in alive if not p.dead and any(not s.done for s in p.strands)]
        alive.append(process)
        return process

    def ports(self, process: Process) -> Ports:
        def watch(process: Process, action: str, fields: Any) -> None:
            if action == "message_failed" or fields.get("fault"):
                self.history.violate("no fault of ours", f"{process.name}: {fields}")
            if self.trace is not None:
                self.trace(process, action, fields)

        return ports_of(self.kernel, self.faults, process, self.history, self.queue, watch)

    def invoke(
        self, process: Process, work: Callable[[], object], timeout: int, after: int
    ) -> Strand:
        """As Lambda does: whoever is not done in time is killed."""

        def guarded() -> object:
            try:
                return work()
            except CronceError:
                raise
            except Exception as e:
                self.history.violate("no fault of ours", f"{process.name}: {e!r}")
                raise

        strand = self.kernel.spawn(process, guarded, after)

        def limit() -> None:
            if not strand.wait(timeout):
                self.kernel.kill(process)

        self.kernel.spawn(self.nature, limit, after)
        return strand

    def until_next_message(self) -> int:
        """Milliseconds until something is visible."""
        at = self.queue.next_visible_at()
        if at is None:
            return 600_000
        return max(1, int((at - self.kernel.instant()).total_seconds() * 1000) + 1)

    def missed_rows(self, job_id: str, uid: str) -> list[Missed]:
        rows = self.inner.rows.between(job_pk(job_id), MISSED_PREFIX, MISSED_PREFIX + LAST)
        return [missed_from_item(item) for item in rows if item["uid"] == uid]

    def next_looks(self, keys: set[RunKey]) -> dict[RunKey, datetime]:
        """When the first record of each of these runs will be looked at."""
        looks: dict[RunKey, datetime] = {}
        for item in self.inner.rows.all():
            if not str(item["pk"]).startswith("DISPATCH#"):
                continue
            record = record_from_item(item)
            for sent in record.runs if record.next_run else ():
                if sent.key in keys and record.next_run is not None:
                    first = looks.get(sent.key, record.next_run)
                    looks[sent.key] = min(first, record.next_run)
        return looks

    def hold(self, until: int) -> None:
        """What is in the queue comes only then."""
        at = self.kernel.instant() + timedelta(milliseconds=until - self.kernel.now)
        for message in self.queue.waiting:
            message.visible_at = max(message.visible_at, at)

    def release(self, job_id: str, uid: str, missed: Missed) -> None:
        """The messages of what is just being counted arrive now, of all times; and the count is
        written when a worker has just looked for it in vain."""
        if not self.troubled or missed.reason != "missed":
            return
        for message in self.queue.waiting:
            key = self.queue.key_of(message)
            if key and key.uid == uid and missed.first <= key.scheduled_for <= missed.last:
                message.visible_at = min(message.visible_at, self.kernel.instant())
        self.wake_pollers()
        self.kernel.doze(int(self.kernel.rng.random() * 3_000), self.counting)

    def count_now(self) -> None:
        for strand, token in self.counting:
            self.kernel.wake(strand, token)
        self.counting.clear()

    def wake_pollers(self) -> None:
        for strand, token in self.dozing:
            self.kernel.wake(strand, token)
        self.dozing.clear()

    def acknowledge(self, delivery: Delivery, begun: int) -> None:
        self._check_acknowledged(delivery, begun)
        self.note("acknowledged", message=delivery.message_id)
        self.queue.delete(delivery.receipt)

    def _check_acknowledged(self, delivery: Delivery, begun: int) -> None:
        """A message may go when its run has ended, lies in the index, waits in line, is held under
        another message (which a zombie may have, though it is gone), or has another message."""
        try:
            message = Message.from_body(delivery.body)
        except ValueError:
            return
        key = message.key
        if key in self.taken or (self.kernel.instant() - message.first_sent).days >= 14:
            return
        run = self.inner.read_run(key)
        since = [w for w in self.history.runs.get(key, ()) if w.at >= begun]
        states = [run, *(w.before for w in since), *(w.after for w in since)]
        if any(r is not None and _is_settled(r, delivery.message_id) for r in states):
            return
        if any(lock.has(key) for lock in self.history.locks_since(key.job_id, begun)):
            return
        others = [
            m
            for m in self.queue.waiting
            if m.receipt != delivery.receipt and self.queue.key_of(m) == key
        ]
        if not others:
            status = run.status if run else "no row"
            self.history.violate(
                "the last message of an open run stays", f"{key.job_id} {key.run_id}: {status}"
            )

    def note(self, action: str, **fields: object) -> None:
        if self.trace is not None:
            current = self.kernel.current
            self.trace(current.process if current else self.nature, action, fields)


def _is_settled(run: Run, message_id: str) -> bool:
    held = run.status == "running" and run.message_id != message_id
    return run.status in ENDED or run.indexed_at is not None or held


def _timed(kernel: Kernel, tell: Callable[..., None], *what: Any) -> None:
    tell(kernel.now, *what)


class SentQueue(MemoryQueue):
    """Knows what was accepted, and wakes who waits for it."""

    def __init__(self, world: World, clock: Any) -> None:
        super().__init__(clock)
        self._world = world
        self._keys: dict[str, RunKey | None] = {}
        self.busy_at: list[datetime] = []

    def send(self, outgoing: Any) -> list[bool]:
        for o in outgoing:
            self._world.history.sent.setdefault(o.message.key, self._world.kernel.now)
            self._world.note("send", run=o.message.key.run_id, delay=o.delay)
        accepted = super().send(outgoing)
        self._world.wake_pollers()
        return accepted

    def hide(self, receipts: Any, seconds: int) -> None:
        super().hide(receipts, seconds)
        self._world.wake_pollers()

    def idle(self) -> bool:
        idle = not self._world.scenario.busy and super().idle()
        if not idle:
            self.busy_at.append(self._world.kernel.instant())
        self._world.note("idle", answer=idle)
        return idle

    def key_of(self, message: Waiting) -> RunKey | None:
        if message.body not in self._keys:
            try:
                self._keys[message.body] = Message.from_body(message.body).key
            except ValueError:
                self._keys[message.body] = None
        return self._keys[message.body]

    def plant(self, message: Message) -> None:
        """A message that nobody sent now."""
        super().send([Outgoing(message, 0)])
        self._world.wake_pollers()

    def plant_body(self, body: str) -> None:
        number = self._next()
        self.waiting.append(
            Waiting(number, f"message-{number}", body, self._world.kernel.instant())
        )
        self._world.wake_pollers()

    def take(self, message: Waiting) -> None:
        """Lost by the queue."""
        key = self.key_of(message)
        if key is not None:
            self._world.taken.add(key)
        self.lose(message)
