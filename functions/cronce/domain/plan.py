"""What a tick does with a job: which occurrences fire, which were missed, which comes next.

Pure, and its cost does not grow with the length of an outage: missed occurrences are counted, not
visited.

Time runs on the intended instants. The occurrence after X is the first one after X, whatever the
jitter of X was and whenever X ran, so nothing drifts and a clock that goes back moves nothing back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.domain.misfire import MISFIRE_POLICIES, Misfire, MisfirePolicy, parse_misfire
from cronce.domain.timetable import Schedule, with_jitter

__all__ = [
    "MISFIRE_POLICIES",
    "ON_TIME_CAP",
    "Due",
    "Misfire",
    "MisfirePolicy",
    "Missed",
    "Plan",
    "first_due",
    "parse_misfire",
    "passed_over",
    "plan",
]

# A rate of one second has 195 occurrences inside the horizon and 90 inside the grace.
ON_TIME_CAP = 300
_TICK = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Due:
    """An occurrence and when its run may start: the occurrence plus jitter."""

    scheduled_for: datetime
    due: datetime


@dataclass(frozen=True)
class Missed:
    """Occurrences that will not run, as one entry: the first, the last, how many, and why.

    policy: the misfire policy that decided. reason: missed, paused or edited.
    """

    first: datetime
    last: datetime
    count: int
    policy: str
    reason: str = "missed"


@dataclass(frozen=True)
class Plan:
    """fire: oldest first. next: where the job stands afterwards; None when it has ended.
    runs_planned: what came in plus what fires."""

    fire: tuple[Due, ...]
    missed: Missed | None
    next: Due | None
    runs_planned: int


def plan(
    *,
    uid: str,
    schedule: Schedule,
    misfire: Misfire,
    current: Due,
    now: datetime,
    horizon: timedelta,
    runs_planned: int = 0,
    cap: int = ON_TIME_CAP,
) -> Plan:
    """Everything due at or before now + horizon, from `current` (the job's stored next) on.

    An occurrence due more than `misfire.grace` seconds ago is late; exactly that long ago it is
    not. The late ones, always the oldest:

    * run_once: the latest of them fires, under its own scheduled_for; the others are missed.
    * skip: all are missed.
    * run_all: those due inside `misfire.window` fire, oldest first and at most `misfire.cap` in
      this visit; older ones are missed. While some are left over, `next` is the first of them and
      nothing younger fires, so that order is kept.

    Of what is not late at most `cap` fire in one visit; the rest is `next`, for the visit after.
    With `max_runs` the job ends after that many have fired; a missed occurrence uses none up.
    """
    if schedule.max_runs is not None and runs_planned >= schedule.max_runs:
        return Plan((), None, None, runs_planned)
    limit = now + horizon
    if current.due > limit:
        return Plan((), None, current, runs_planned)
    walk = _Walk(uid, schedule, current)
    missed = None
    late_before = now - timedelta(seconds=misfire.grace)
    room = cap if schedule.max_runs is None else min(cap, schedule.max_runs - runs_planned)
    if current.due < late_before:
        missed, room = walk.late(misfire, now, late_before, room)
    walk.take(limit, room)
    planned = runs_planned + len(walk.fire)
    ended = schedule.max_runs is not None and planned >= schedule.max_runs
    return Plan(tuple(walk.fire), missed, None if ended else walk.at, planned)


def first_due(uid: str, schedule: Schedule, after: datetime) -> Due | None:
    """The first occurrence strictly after an instant: of a new, edited or resumed job."""
    found = schedule.next_after(after)
    return None if found is None else _due(uid, schedule, found)


def passed_over(
    schedule: Schedule, current: Due | None, until: datetime, *, policy: str, reason: str
) -> Missed | None:
    """The occurrences from `current` up to and including `until`, as an entry that says why they
    do not run (paused, edited). With `first_due(…, after=until)` no occurrence is lost or doubled
    at the boundary."""
    if current is None or current.scheduled_for > until:
        return None
    first = current.scheduled_for
    last = schedule.latest_at_or_before(until, not_before=first) or first
    return Missed(first, last, 1 + schedule.count(first, last), policy, reason)


class _Walk:
    """The occurrences of one job from where it stands, and those of them that fire."""

    def __init__(self, uid: str, schedule: Schedule, current: Due) -> None:
        self.uid, self.schedule = uid, schedule
        self.at: Due | None = current
        self.fire: list[Due] = []

    def take(self, until: datetime, room: int) -> None:
        """Fire what is due at or before `until`, at most `room` of it."""
        while self.at is not None and self.at.due <= until and room > 0:
            self.fire.append(self.at)
            self.at = self._after(self.at)
            room -= 1

    def late(
        self, misfire: Misfire, now: datetime, late_before: datetime, room: int
    ) -> tuple[Missed | None, int]:
        """Decide about everything due before `late_before`; what came before, and room left."""
        if misfire.policy == "skip":
            return self._pass_over(late_before, misfire.policy), room
        if misfire.policy == "run_once":
            missed = self._pass_over(late_before, misfire.policy, keep_last=True)
            self.take(late_before, 1)
            return missed, room - 1
        missed = self._pass_over(now - timedelta(seconds=misfire.window_seconds), misfire.policy)
        self.take(late_before - _TICK, min(misfire.cap, room))
        left_over = self.at is not None and self.at.due < late_before
        return missed, 0 if left_over else max(0, room - len(self.fire))

    def _pass_over(
        self, before: datetime, policy: str, *, keep_last: bool = False
    ) -> Missed | None:
        """Leave out everything due before that instant (with `keep_last` all but the latest)."""
        if self.at is None or self.at.due >= before:
            return None
        first = self.at
        latest = self._latest_due_before(before, first)
        last = self._previous(latest, first) if keep_last else latest
        if last is None:
            return None
        self.at = self._after(last)
        count = 1 + self.schedule.count(first.scheduled_for, last.scheduled_for)
        return Missed(first.scheduled_for, last.scheduled_for, count, policy)

    def _latest_due_before(self, before: datetime, first: Due) -> Due:
        """`first` is due before that instant. Occurrences and their due times rise together, each
        due before the next occurrence, so only the latest occurrence may still be waiting."""
        latest = self._before(before, first)
        if latest is not None and latest.due >= before:
            latest = self._previous(latest, first)
        return latest or first

    def _previous(self, due: Due, first: Due) -> Due | None:
        """The occurrence before this one; `first`, the stored one, is one whatever it is."""
        if due.scheduled_for <= first.scheduled_for:
            return None
        return self._before(due.scheduled_for, first) or first

    def _before(self, instant: datetime, first: Due) -> Due | None:
        found = self.schedule.latest_at_or_before(
            instant - _TICK, not_before=first.scheduled_for + _TICK
        )
        return None if found is None else _due(self.uid, self.schedule, found)

    def _after(self, due: Due) -> Due | None:
        return first_due(self.uid, self.schedule, due.scheduled_for)


def _due(uid: str, schedule: Schedule, found: datetime) -> Due:
    if not schedule.jitter:
        return Due(found, found)
    return Due(found, with_jitter(uid, found, schedule, schedule.next_after(found)))
