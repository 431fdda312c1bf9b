"""A backfill: occurrences of the past that are run, with a pace and an overlap policy of its own.

What the schedule has run, or is running, is left out; what was missed, skipped or cancelled runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.job import Job
from cronce.domain.overlap import MAX_WAITING, Lock, Overlap
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule

BackfillStatus = Literal["running", "done", "cancelled"]
BACKFILL_STATUSES: tuple[str, ...] = get_args(BackfillStatus)
MOST_OCCURRENCES = 10_000
PACE = (1, 600)
PACE_DEFAULT = 60
# Where runs wait for each other, no more of them are started than half the line takes.
MOST_IN_LINE = MAX_WAITING // 2
# A little less than the period, so that the next tick is never a moment too early for it.
UNTIL_NEXT_VISIT = limits.TICK_PERIOD - 15
EXECUTED = frozenset({"pending", "running", "retrying", "succeeded", "failed"})
PREFIX = "b-"
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Backfill:
    """first, before: the range, its end not included. pace: runs a minute. overlap: None is the
    job's own, with waiting in place of skipping. total: occurrences in the range as it was made.
    done_up_to: the last occurrence looked at. started, existing: how many were, so far. version:
    counts the writes. next_run: when it goes on; None when it is over. reason: of a cancellation.
    """

    job_id: str
    id: str
    uid: str
    first: datetime
    before: datetime
    pace: int
    total: int
    shard: int
    created_at: datetime
    created_by: str = ""
    overlap: Overlap | None = None
    status: BackfillStatus = "running"
    done_up_to: datetime | None = None
    started: int = 0
    existing: int = 0
    version: int = 1
    next_run: datetime | None = None
    reason: str = ""
    finished_at: datetime | None = None

    @property
    def trigger(self) -> str:
        return PREFIX + self.id

    def key(self, occurrence: datetime) -> RunKey:
        return RunKey(self.job_id, self.uid, occurrence, self.trigger)

    def asks_for_the_same(self, other: Backfill) -> bool:
        asked = (self.uid, self.first, self.pace, self.overlap)
        return asked == (other.uid, other.first, other.pace, other.overlap)

    def overlap_of(self, job: Overlap) -> Overlap:
        """A job that limits overlap wants one run at a time, and the user wants all of them."""
        return self.overlap or ("allow" if job == "allow" else "queue_all")

    def pace_of(self, policy: Overlap) -> int:
        """Runs a minute."""
        return self.pace if policy != "queue_all" else min(self.pace, MOST_IN_LINE)

    def room(self, policy: Overlap, lock: Lock | None) -> int:
        """How many may be started now."""
        if policy != "queue_all" or lock is None or lock.uid != self.uid:
            return self.pace_of(policy)
        return max(0, min(self.pace, MOST_IN_LINE - len(lock.waiting)))

    def moved(
        self, up_to: datetime | None, *, started: int, existing: int, over: bool, now: datetime
    ) -> Backfill:
        """After a visit that has looked at everything up to and including `up_to`."""
        moved = replace(
            self,
            done_up_to=up_to or self.done_up_to,
            started=self.started + started,
            existing=self.existing + existing,
            version=self.version + 1,
            next_run=now + timedelta(seconds=UNTIL_NEXT_VISIT),
        )
        return replace(moved, status="done", next_run=None, finished_at=now) if over else moved

    def cancelled(self, reason: str, now: datetime) -> Backfill:
        return replace(
            self,
            status="cancelled",
            version=self.version + 1,
            next_run=None,
            reason=reason,
            finished_at=now,
        )


def backfill_of(key: RunKey) -> str | None:
    """The id of the backfill that a run belongs to."""
    return key.trigger.removeprefix(PREFIX) if key.trigger.startswith(PREFIX) else None


def occurrences(schedule: Schedule, first: datetime, before: datetime, most: int) -> list[datetime]:
    """Those in [first, before), oldest first, at most so many."""
    found: list[datetime] = []
    at = schedule.next_after(first - _TICK)
    while at is not None and at < before and len(found) < most:
        found.append(at)
        at = schedule.next_after(at)
    return found


def count(schedule: Schedule, first: datetime, before: datetime) -> int:
    """How many there are in [first, before)."""
    return schedule.count(first - _TICK, before - _TICK) if first < before else 0


def next_chunk(b: Backfill, schedule: Schedule, most: int) -> list[datetime]:
    """The occurrences to look at next."""
    first = b.first if b.done_up_to is None else b.done_up_to + _TICK
    return occurrences(schedule, first, b.before, most)


Standing = Literal["executed", "free", "unknown"]


def standing(at: datetime, own: Run | None, created_at: datetime, now: datetime) -> Standing:
    """own: the schedule's own run of this occurrence. unknown: it has no row and may still have a
    message, unless it is recorded as missed."""
    if own is not None:
        return "executed" if own.status in EXECUTED else "free"
    older_than_messages = now - at > timedelta(seconds=limits.QUEUE_RETENTION)
    return "free" if at < created_at or older_than_messages else "unknown"


def planned_standing(
    at: datetime, job: Job, schedule: Schedule
) -> Literal["executed", "free", "open"]:
    """Of an occurrence without a row that nobody recorded as missed, by what became of the job's
    schedule since it was last changed. executed: it was dispatched, so that its message is on its
    way or it waits for its turn. free: a paused job runs nothing. open: nobody can tell."""
    if at <= job.changed_at:
        return "open"
    if job.status == "paused":
        return "free"
    all_planned = job.status == "active" or (job.status == "ended" and schedule.max_runs is None)
    return "executed" if all_planned else "open"
