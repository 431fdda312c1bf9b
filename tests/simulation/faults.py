"""The ports of one process, with trouble: at every call it may die or be disappointed.

A call travels, is applied, and its answer travels back; others run in between. What can go wrong
with it: the process dies before or after it is applied, it is refused for its rate, its answer is
lost, or the SDK sends it a second time because the first answer was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

from cronce.domain.errors import Throttled, Unavailable
from cronce.ports import RunQueue, Store

from .kernel import Kernel, Process

CRASH_BEFORE, CRASH_AFTER = "crash before", "crash after"
THROTTLED, LOST_ANSWER, SENT_TWICE = "throttled", "lost answer", "sent twice"
KINDS = (CRASH_BEFORE, CRASH_AFTER, THROTTLED, LOST_ANSWER, SENT_TWICE)
CRASHES = (CRASH_BEFORE, CRASH_AFTER)

# Read from the ports, so that a method that is added is a cell that must be reached.
METHODS_OF = {
    port.__name__: [name for name in vars(port) if not name.startswith("_")]
    for port in Store.__mro__
    if port.__name__.endswith("Store")
}
STORE_METHODS = [name for names in METHODS_OF.values() for name in names]
# Called by users for themselves only, or not by the jobs of the simulation: through the same
# wrapper, but no cells.
NOT_JUDGED = ("CalendarStore", "OperateStore", "BackfillStore", "GroupStore")
_APART = {
    "expire_job",
    "set_failing",
    *(m for port in NOT_JUDGED for m in METHODS_OF.get(port, [])),
}
QUEUE_METHODS = [name for name in vars(RunQueue) if not name.startswith("_")]
SHELL_METHODS = ["clock.sleep", "target.execute"]
CALLS = [m for m in (*STORE_METHODS, *QUEUE_METHODS) if m not in _APART]
CELLS: tuple[tuple[str, str], ...] = (
    *((m, k) for m in CALLS for k in KINDS),
    *((m, k) for m in SHELL_METHODS for k in CRASHES),
)


class Faults:
    """rate: of all calls. focus: cells that are met far more often. slow: of all calls, too. lag:
    milliseconds, at most. counts: what was injected."""

    def __init__(self, kernel: Kernel, rate: float, kinds: tuple[str, ...]) -> None:
        self.kernel, self.rate, self.kinds = kernel, rate, kinds
        self.focus: tuple[tuple[str, str], ...] = ()
        self.focus_left = 8
        self.active = False
        self.slow = 0.0
        self.lag = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.tell: Callable[[Process, str, str], None] = lambda process, method, kind: None

    def draw(self, method: str, process: Process) -> str | None:
        if not self.active:
            return None
        rng = self.kernel.rng
        kind = None
        if process.doom is not None and process.doom[0] == method:
            kind = process.doom[1]
        elif self.focus_left and self._in_focus(method) and rng.random() < self._eagerness(method):
            self.focus_left -= 1
            kind = rng.choice([k for m, k in self.focus if m == method])
        elif self.rate and rng.random() < self.rate:
            kind = rng.choice(self.kinds)
            if kind not in CRASHES and method in SHELL_METHODS:
                kind = None
        if kind is not None:
            self.counts[method, kind] += 1
            self.tell(process, method, kind)
            # An SDK that sends again loses nothing: whoever lets it is not excused.
            process.wounded = process.wounded or kind != SENT_TWICE
        return kind

    def _eagerness(self, method: str) -> float:
        return 0.35 if method in ("read_job", "claim", "hide", "send", "due") else 0.7

    def _in_focus(self, method: str) -> bool:
        return any(m == method for m, _ in self.focus)

    def latency(self) -> int:
        rng = self.kernel.rng
        if self.active and self.slow and rng.random() < self.slow:
            return int(200 + rng.random() * 6_000)
        return int(1 + rng.random() * 24)

    def crash(self, process: Process) -> None:
        self.kernel.kill(process)

    def age(self) -> timedelta:
        """How old what an index shows is, this time."""
        return timedelta(milliseconds=int(self.kernel.rng.random() * self.lag) * self.active)

    def call(self, process: Process, method: str, apply: Callable[[], Any]) -> Any:
        kernel = self.kernel
        kernel.pause(self.latency())
        kind = self.draw(method, process)
        result = apply() if kind is None else self._troubled(process, kind, apply)
        if self.active and kernel.rng.random() < 0.3:
            kernel.pause(self.latency())
        return result

    def _troubled(self, process: Process, kind: str, apply: Callable[[], Any]) -> Any:
        if kind == CRASH_BEFORE:
            self.crash(process)
        if kind == THROTTLED:
            raise Throttled("injected")
        result = apply()
        if kind == CRASH_AFTER:
            self.crash(process)
        if kind == LOST_ANSWER:
            raise Unavailable("injected: the answer was lost")
        if kind == SENT_TWICE:
            self.kernel.pause(self.latency())
            return apply()
        return result


class FaultyStore:
    """Each method of the port, through `Faults.call`."""

    def __init__(self, inner: Any, faults: Faults, process: Process) -> None:
        self._inner, self._faults, self._process = inner, faults, process

    def due(self, shards: Any, until: Any) -> Iterator[Any]:
        """A page at a time: between pages others write, and trouble may come in the middle."""
        call, process = self._faults.call, self._process
        items = call(process, "due", lambda: iter(self._inner.due(shards, until)))
        while True:
            self._inner.age(self._faults.age())
            page = list(islice(items, 3))
            yield from page
            if len(page) < 3:
                return
            call(process, "due", lambda: None)

    def read_runs(self, keys: Any) -> Any:
        def read() -> Any:
            self._inner.age(self._faults.age())
            return self._inner.read_runs(keys)

        return self._faults.call(self._process, "read_runs", read)


class FaultyQueue:
    """As `FaultyStore`. What a batch is refused in part, or applied without an answer, is False."""

    def __init__(self, inner: Any, faults: Faults, process: Process) -> None:
        self._inner, self._faults, self._process = inner, faults, process

    def send(self, outgoing: Any) -> list[bool]:
        faults, rng = self._faults, self._faults.kernel.rng
        outgoing = list(outgoing)
        if faults.active and faults.rate and rng.random() < faults.rate:
            faults.counts["send", "refused in part"] += 1
            taken = [rng.random() < 0.5 for _ in outgoing]
            part = [o for o, take in zip(outgoing, taken, strict=True) if take]
            faults.call(self._process, "send", lambda: self._inner.send(part))
            return taken
        try:
            sent: list[bool] = faults.call(
                self._process, "send", lambda: self._inner.send(outgoing)
            )
        except Unavailable:
            if rng.random() < 0.5:
                raise
            return [False] * len(outgoing)
        return sent


def _through(method: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        inner = getattr(self._inner, method)
        return self._faults.call(self._process, method, lambda: inner(*args, **kwargs))

    call.__name__ = method
    return call


for _name in STORE_METHODS:
    if _name not in ("due", "read_runs"):
        setattr(FaultyStore, _name, _through(_name))
for _name in QUEUE_METHODS:
    if _name != "send":
        setattr(FaultyQueue, _name, _through(_name))
