"""Virtual time and a seeded scheduler.

Strands are greenlets; exactly one runs at a time, and it gives way only where it pauses: at a call
to store, queue, clock, threads or target. Who comes next is the earliest wake-up, ties drawn by
lot, so one seed is one interleaving. A process is what dies, freezes and owns a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from random import Random

from greenlet import getcurrent, greenlet

START = datetime(2026, 11, 29, 10, tzinfo=UTC)


class Killed(BaseException):
    """The process of the strand is gone. No `except Exception` may notice."""


class Process:
    """offset: milliseconds that its clock is ahead of true time. wounded: something befell it that
    excuses what it leaves undone. vital: its failure is the simulation's own. doom: the call, and
    the side of it, at which it will die. facts: what is known of it."""

    __slots__ = (
        "dead",
        "doom",
        "facts",
        "frozen_until",
        "name",
        "offset",
        "strands",
        "vital",
        "wounded",
    )

    def __init__(self, name: str, offset: int = 0) -> None:
        self.name, self.offset = name, offset
        self.dead = False
        self.frozen_until = 0
        self.wounded = False
        self.vital = False
        self.doom: tuple[str, str] | None = None
        self.strands: list[Strand] = []
        self.facts: dict[object, object] = {}


class Strand:
    __slots__ = (
        "done",
        "error",
        "glet",
        "kernel",
        "process",
        "started",
        "token",
        "value",
        "waiters",
    )

    def __init__(self, kernel: Kernel, process: Process, work: Callable[[], object]) -> None:
        self.kernel, self.process = kernel, process
        self.done = self.started = False
        self.value: object = None
        self.error: BaseException | None = None
        self.token = 0
        self.waiters: list[tuple[Strand, int]] = []
        self.glet = greenlet(lambda: self._main(work), kernel.hub)

    def _main(self, work: Callable[[], object]) -> None:
        self.started = True
        try:
            self.value = work()
        except BaseException as e:
            self.error = e
            if self.process.vital and not isinstance(e, Killed):
                self.kernel.failure = e
        self._end()

    def _end(self) -> None:
        self.done = True
        for waiter, token in self.waiters:
            self.kernel.wake(waiter, token)
        self.waiters.clear()

    def wait(self, seconds: float) -> bool:
        """Part of the port `Task`."""
        return self.done or self.kernel.wait(self, round(seconds * 1000))

    def result(self) -> object:
        if self.error is not None:
            raise self.error
        return self.value


class Kernel:
    """now: milliseconds of true time since START."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0
        self.until = 0
        self.hub = getcurrent()
        self.current: Strand | None = None
        self.failure: BaseException | None = None
        self.stopped = False
        self.processes: list[Process] = []
        self._heap: list[tuple[int, float, int, Strand, int]] = []
        self._pushed = 0

    def instant(self, offset: int = 0) -> datetime:
        return START + timedelta(milliseconds=self.now + offset)

    def process(self, name: str, offset: int = 0) -> Process:
        process = Process(name, offset)
        self.processes.append(process)
        if len(self.processes) > 256:
            self.processes = [p for p in self.processes if not _finished(p)]
        return process

    def spawn(self, process: Process, work: Callable[[], object], after: int = 0) -> Strand:
        strand = Strand(self, process, work)
        process.strands.append(strand)
        self._push(strand, self.now + after)
        return strand

    def pause(self, ms: int) -> None:
        """The current strand goes on so much later, unless its process is dead by then."""
        strand = self.current
        assert strand is not None
        process = strand.process
        at = self.now + ms
        if process.frozen_until <= at <= self.until and (not self._heap or self._heap[0][0] > at):
            self.now = at
            return
        self._push(strand, at)
        self._yield(process)

    def wait(self, other: Strand, ms: int) -> bool:
        strand = self.current
        assert strand is not None
        if ms > 0:
            other.waiters.append((strand, strand.token))
            self._push(strand, self.now + ms)
            self._yield(strand.process)
        return other.done

    def doze(self, ms: int, where: list[tuple[Strand, int]]) -> None:
        """At most so long; `wake` of what it leaves in `where` ends it early."""
        strand = self.current
        assert strand is not None
        where.append((strand, strand.token))
        self._push(strand, self.now + ms)
        self._yield(strand.process)

    def wake(self, strand: Strand, token: int) -> None:
        """Ends the pause that had this token; nothing, if it is over."""
        if not strand.done and strand.token == token:
            self._push(strand, self.now)

    def kill(self, process: Process) -> None:
        """Its strands end where they stand. Returns, unless the current strand is one of them."""
        process.dead = True
        for strand in process.strands:
            if not strand.done and strand is not self.current:
                self._push(strand, self.now)
        if self.current is not None and self.current.process is process:
            raise Killed

    def freeze(self, process: Process, ms: int) -> None:
        process.frozen_until = max(process.frozen_until, self.now + ms)

    def run(self, until: int) -> None:
        """Everything that happens up to `until`; nothing more once `stopped`."""
        self.until = until
        heap = self._heap
        while heap and heap[0][0] <= until and not self.stopped:
            at, _, _, strand, token = heappop(heap)
            if strand.done or token != strand.token:
                continue
            process = strand.process
            if process.frozen_until > at and not process.dead:
                heappush(
                    heap, (process.frozen_until, self.rng.random(), self._number(), strand, token)
                )
                continue
            self.now = max(self.now, at)
            self._switch(strand)
            if self.failure is not None:
                raise self.failure
        if not self.stopped:
            self.now = max(self.now, until)

    def close(self) -> None:
        """Ends every strand that is left."""
        for process in self.processes:
            process.dead = True
            for strand in process.strands:
                if not strand.done:
                    self._switch(strand)
        self._heap.clear()

    def _switch(self, strand: Strand) -> None:
        strand.token += 1
        self.current = strand
        if not strand.process.dead:
            strand.glet.switch()
        elif strand.started:
            strand.glet.throw(Killed)
        else:
            strand.error = Killed()
            strand._end()
        self.current = None

    def _push(self, strand: Strand, at: int) -> None:
        heappush(self._heap, (at, self.rng.random(), self._number(), strand, strand.token))

    def _number(self) -> int:
        self._pushed += 1
        return self._pushed

    def _yield(self, process: Process) -> None:
        self.hub.switch()
        if process.dead:
            raise Killed


def _finished(process: Process) -> bool:
    return all(s.done for s in process.strands)
