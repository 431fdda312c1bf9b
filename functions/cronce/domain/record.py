"""The dispatch record: an outbox, written before its messages are sent, kept as the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cronce.domain.identity import RunKey
from cronce.domain.instants import from_wire, to_wire

MAX_RUNS = 100
FIRST_LOOK = timedelta(seconds=120)
LONGEST_INTERVAL = timedelta(seconds=600)


@dataclass(frozen=True)
class Sent:
    """One run of a record. generation: the job's at dispatch; due: when it may start."""

    key: RunKey
    generation: int
    due: datetime

    def to_text(self) -> str:
        """`job|uid|scheduled_for|trigger|generation`, and `|due` where jitter moved it."""
        k = self.key
        parts = [k.job_id, k.uid, to_wire(k.scheduled_for), k.trigger, str(self.generation)]
        if self.due != k.scheduled_for:
            parts.append(to_wire(self.due))
        return "|".join(parts)

    @staticmethod
    def from_text(text: str) -> Sent:
        """Raises ValueError."""
        job_id, uid, at, trigger, generation, *due = text.split("|")
        key = RunKey(job_id, uid, from_wire(at), trigger)
        return Sent(key, int(generation), from_wire(due[0]) if due else key.scheduled_for)


@dataclass(frozen=True)
class DispatchRecord:
    """runs: those not known to have ended, at most 100. total: as many as it listed at first.
    counts: ended status -> how many. looks: reconciliations so far. resent: messages sent again.
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

    @property
    def last_due(self) -> datetime:
        return max(s.due for s in self.runs)


def first_look(runs: tuple[Sent, ...], now: datetime) -> datetime:
    return max(now, max(s.due for s in runs)) + FIRST_LOOK


def next_look(now: datetime, looks: int) -> datetime:
    """Intervals double from 120 s up to 10 minutes.

    looks: reconciliations done, this one included.
    """
    doubled: timedelta = FIRST_LOOK * (1 << min(looks, 10))
    return now + min(doubled, LONGEST_INTERVAL)
