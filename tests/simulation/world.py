"""One simulated deployment: table, queue, machines, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from cronce.domain.errors import CronceError
from cronce.domain.identity import RunKey
from cronce.domain.message import Message
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
    def __init__(self, scenario: Scenario, trace: Callable[..., None] | None = None) -> None:
        self.scenario = scenario
        self.kernel = kernel = Kernel(scenario.seed)
        self.settings = Settings(shards=3)
        self.faults = Faults(kernel, scenario.rate, scenario.kinds)
        self.faults.focus, self.faults.slow = scenario.focus, scenario.slow
        self.faults.lag = scenario.lag
        self.faults.on_crash = lambda process: self.note("crash", process=process.name)
        true = TrueClock(kernel)
        self.inner = MemoryStore(true, shards=self.settings.shards, page=5)
        self.history = History(kernel, self.inner, trace=trace)
        self.queue = SentQueue(self, true)
        self.trace = trace
        self.nature = kernel.process("nature")
        self.nature.vital = True
        self.drafts: dict[str, Draft] = {}
        self.promised: list[RunKey] = []
        self.taken: set[RunKey] = set()
        self.dozing: list[tuple[Strand, int]] = []
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
            if action == "message_failed":
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

    def wake_pollers(self) -> None:
        for strand, token in self.dozing:
            self.kernel.wake(strand, token)
        self.dozing.clear()

    def acknowledge(self, delivery: Delivery, begun: int) -> None:
        self._check_acknowledged(delivery, begun)
        self.queue.delete(delivery.receipt)

    def _check_acknowledged(self, delivery: Delivery, begun: int) -> None:
        """A message may go when its run has ended, lies in the index, or has another message."""
        try:
            message = Message.from_body(delivery.body)
        except ValueError:
            return
        key = message.key
        if key in self.taken or (self.kernel.instant() - message.first_sent).days >= 14:
            return
        run = self.inner.read_run(key)
        since = [w for w in self.history.runs[key] if w.at >= begun]
        states = [run, *(w.before for w in since), *(w.after for w in since)]
        if any(r is not None and (r.status in ENDED or r.indexed_at) for r in states):
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


class SentQueue(MemoryQueue):
    """Knows what was accepted, and wakes who waits for it."""

    def __init__(self, world: World, clock: Any) -> None:
        super().__init__(clock)
        self._world = world
        self._keys: dict[str, RunKey | None] = {}

    def send(self, outgoing: Any) -> list[bool]:
        for o in outgoing:
            self._world.history.sent.setdefault(o.message.key, self._world.kernel.now)
        accepted = super().send(outgoing)
        self._world.wake_pollers()
        return accepted

    def hide(self, receipts: Any, seconds: int) -> None:
        super().hide(receipts, seconds)
        self._world.wake_pollers()

    def idle(self) -> bool:
        return not self._world.scenario.busy and super().idle()

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
