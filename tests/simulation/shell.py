"""Clock, threads, random and observer of one process, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from cronce.ports import Ports

from .faults import Faults, FaultyQueue, FaultyStore
from .kernel import Kernel, Process, Strand

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class ProcessClock:
    def __init__(self, kernel: Kernel, faults: Faults, process: Process) -> None:
        self._kernel, self._faults, self._process = kernel, faults, process

    def now(self) -> datetime:
        return self._kernel.instant(self._process.offset)

    def sleep(self, seconds: float) -> None:
        ms = max(0, -int(-seconds * 1000 // 1))
        self._faults.call(self._process, "clock.sleep", lambda: self._kernel.pause(ms))


class Strands:
    """The port `Threads`."""

    def __init__(self, kernel: Kernel, process: Process) -> None:
        self._kernel, self._process = kernel, process

    def start(self, work: Callable[[], object]) -> Strand:
        return self._kernel.spawn(self._process, work)

    def each(self, work: Callable[[Any], object], items: Iterable[Any]) -> list[object]:
        todo = list(items)
        if len(todo) == 1:
            return [work(todo[0])]
        strands = [self.start(lambda item=item: work(item)) for item in todo]  # type: ignore[misc]
        for strand in strands:
            while not strand.done:
                self._kernel.wait(strand, 3_600_000)
        return [strand.result() for strand in strands]


class Lots:
    """The port `Random`, from the seed."""

    def __init__(self, kernel: Kernel) -> None:
        self._rng = kernel.rng

    def token(self) -> str:
        return f"{self._rng.getrandbits(96):024x}"

    def uid(self) -> str:
        return "".join(self._rng.choices(ALPHABET, k=8))

    def fraction(self) -> float:
        return self._rng.random()


class Watcher:
    """The port `Observer`: to the trace, when there is one."""

    def __init__(self, trace: Callable[..., None] | None, process: Process) -> None:
        self._trace, self._process = trace, process

    def event(self, action: str, **fields: object) -> None:
        if self._trace is not None:
            self._trace(self._process, action, fields)


def ports_of(
    kernel: Kernel,
    faults: Faults,
    process: Process,
    store: Any,
    queue: Any,
    trace: Callable[..., None] | None = None,
) -> Ports:
    return Ports(
        store=FaultyStore(store, faults, process),  # type: ignore[arg-type]
        queue=FaultyQueue(queue, faults, process),  # type: ignore[arg-type]
        clock=ProcessClock(kernel, faults, process),
        threads=Strands(kernel, process),
        random=Lots(kernel),
        observer=Watcher(trace, process),
    )
