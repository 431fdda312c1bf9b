"""The dispatch record: an outbox, written before its messages are sent, kept as the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.instants import from_wire, to_wire
from cronce.domain.message import Message

MAX_RUNS = limits.RECORD_RUNS
# Milliseconds.
LATENESS = (100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000)
LATER = "later"
FIRST_LOOK = timedelta(seconds=limits.RECONCILE_AFTER)
LONGEST_INTERVAL = timedelta(seconds=limits.RECONCILE_MAX_INTERVAL)


@dataclass(frozen=True)
class Sent:
    """One run of a record. generation: the job's at dispatch. due, held_until: as in Message."""

    key: RunKey
    generation: int
    due: datetime
    held_until: datetime | None = None

    @property
    def start(self) -> datetime:
        """Not before this."""
        return self.held_until or self.due

    def message(self, first_sent: datetime) -> Message:
        return Message(self.key, self.generation, self.due, first_sent, self.held_until)

    def to_text(self) -> str:
        """`job|uid|scheduled_for|trigger|generation`, `|due` where jitter moved it, and behind that
        `|held_until`."""
        k = self.key
        parts = [k.job_id, k.uid, to_wire(k.scheduled_for), k.trigger, str(self.generation)]
        if self.due != k.scheduled_for or self.held_until is not None:
            parts.append(to_wire(self.due))
        if self.held_until is not None:
            parts.append(to_wire(self.held_until))
        return "|".join(parts)

    @staticmethod
    def from_text(text: str) -> Sent:
        """Raises ValueError."""
        job_id, uid, at, trigger, generation, *times = text.split("|")
        key = RunKey(job_id, uid, from_wire(at), trigger)
        due, held = [*map(from_wire, times), None, None][:2]
        return Sent(key, int(generation), due or key.scheduled_for, held)


@dataclass(frozen=True)
class DispatchRecord:
    """runs: those not known to have ended, at most 100. total: as many as it listed at first.
    counts: ended status -> how many. lateness: by `late_within`, how many first attempts of those
    that ended. looks: reconciliations so far. resent: messages sent again.
    next_run: when to look again; None once every run has ended. by: the tick or call that wrote it.
    """

    slice: int
    record_id: str
    shard: int
    dispatched_at: datetime
    runs: tuple[Sent, ...]
    total: int
    by: str
    next_run: datetime | None
    looks: int = 0
    resent: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    lateness: Mapping[str, int] = field(default_factory=dict)

    @property
    def last_start(self) -> datetime:
        return max(s.start for s in self.runs)


def late_within(start: datetime, started_at: datetime) -> str:
    """The first bound, in milliseconds, that a start was no later than.

    >>> at = datetime(2026, 11, 30)
    >>> late_within(at, at), late_within(at, at + timedelta(seconds=0.3))
    ('100', '500')
    """
    late = (started_at - start) / timedelta(milliseconds=1)
    return next((str(bound) for bound in LATENESS if late <= bound), LATER)


def first_look(runs: tuple[Sent, ...], now: datetime) -> datetime:
    return max(now, max(s.start for s in runs)) + FIRST_LOOK


def next_look(now: datetime, looks: int) -> datetime:
    """Intervals double from 120 s up to 10 minutes.

    looks: reconciliations done, this one included.
    """
    doubled: timedelta = FIRST_LOOK * (1 << min(looks, 10))
    return now + min(doubled, LONGEST_INTERVAL)
