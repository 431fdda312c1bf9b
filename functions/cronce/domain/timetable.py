"""A schedule: which instants a job is meant to run at. The same object serves tick and preview."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Literal, Protocol, cast, get_args

from cronce.domain.calendar import Calendar
from cronce.domain.durations import format_duration
from cronce.domain.errors import Invalid, Unplannable
from cronce.domain.hole import Without
from cronce.domain.instants import EPOCH, to_api
from cronce.domain.jitter import jitter_seconds
from cronce.domain.local_time import read_time
from cronce.domain.once import once
from cronce.domain.rate import Rate
from cronce.domain.stored import Fields, calendar_from_plan, calendar_to_plan, whole
from cronce.domain.wall_clock import Gap, Overlap, wall_clock
from cronce.domain.zones import load_zone, tzdata_version

Kind = Literal["cron", "rate", "at"]
_SECOND = timedelta(seconds=1)
# The last day of all stays free: on a wall clock further east it is in a year that has no number.
_LAST = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH) // _SECOND - 1


class Occurrences(Protocol):
    """What cron, rate and at have in common. Whole seconds since 1970, UTC."""

    def at_or_after(self, instant: int) -> int | None: ...
    def at_or_before(self, instant: int, floor: int) -> int | None: ...
    def count(self, low: int, high: int) -> int: ...
    def note(self, instant: int) -> str | None: ...


@dataclass(frozen=True)
class Schedule:
    """expression: the canonical text of a cron or an at; a rate's period is `period`, in seconds.

    jitter: seconds. anchor: seconds since 1970, for a rate. start, end: inclusive.
    gap, overlap: what the job chose instead of the rule in wall_clock.py. hole: (after, until],
    seconds since 1970, in which nothing occurs; never stored.
    """

    kind: Kind
    timezone: str = "UTC"
    expression: str = ""
    seconds: bool = False
    period: int = 0
    anchor: int = 0
    jitter: int = 0
    start: datetime | None = None
    end: datetime | None = None
    max_runs: int | None = None
    gap: Gap | None = None
    overlap: Overlap | None = None
    calendar: Calendar | None = None
    hole: tuple[int, int] | None = None

    @property
    def has_an_end(self) -> bool:
        return self.kind == "at" or self.end is not None or self.max_runs is not None

    def next_after(self, t: datetime) -> datetime | None:
        """The first occurrence strictly after `t`, in UTC; None when there is none any more."""
        found = self._at_or_after((t - EPOCH) // _SECOND + 1)
        return None if found is None else EPOCH + timedelta(seconds=found)

    def latest_at_or_before(self, t: datetime, *, not_before: datetime) -> datetime | None:
        """The last occurrence in [not_before, t]. Does not visit those in between."""
        high = (t - EPOCH) // _SECOND
        if self.end is not None:
            high = min(high, (self.end - EPOCH) // _SECOND)
        found = self._occurrences.at_or_before(high, max(self._floor, _ceil(not_before)))
        return None if found is None else EPOCH + timedelta(seconds=found)

    def count(self, after: datetime, until: datetime) -> int:
        """How many occurrences lie in (after, until]. Does not visit them."""
        low, high = (after - EPOCH) // _SECOND + 1, (until - EPOCH) // _SECOND + 1
        if self.end is not None:
            high = min(high, (self.end - EPOCH) // _SECOND + 1)
        return self._occurrences.count(max(low, self._floor), high)

    def contains(self, t: datetime) -> bool:
        """Whether `t` is an occurrence."""
        return self.next_after(t - timedelta(microseconds=1)) == t

    def without(self, after: datetime, until: datetime) -> Schedule:
        """The same schedule, in which nothing occurs in (after, until]."""
        return replace(self, hole=((after - EPOCH) // _SECOND, (until - EPOCH) // _SECOND))

    def note(self, occurrence: datetime) -> str | None:
        """What is unusual about an occurrence: moved, one of two passes, shifted; or None."""
        return self._occurrences.note((occurrence - EPOCH) // _SECOND)

    def to_plan(self) -> dict[str, object]:
        """The map that lies in the job's row: strings, integers, booleans, lists and maps only.

        A named calendar is there by name and version; `from_plan` wants it handed in.
        """
        plan: dict[str, object] = {"timezone": self.timezone, "tzdata": tzdata_version()}
        if self.kind == "rate":
            plan |= {"rate": self.period, "anchor": self.anchor}
        else:
            plan[self.kind] = self.expression
        for name in ("start", "end"):
            if (at := getattr(self, name)) is not None:
                plan[name] = (at - EPOCH) // _SECOND
        for name in ("seconds", "jitter", "max_runs", "gap", "overlap"):
            if value := getattr(self, name):
                plan[name] = value
        if self.calendar is not None:
            plan["calendar"] = calendar_to_plan(self.calendar)
        return plan

    @staticmethod
    def from_plan(plan: object, calendar: Calendar | None = None) -> Schedule:
        """Inverse of `to_plan`. Kept, so that a tick parses each schedule once.

        calendar: the row of the named calendar, for a plan that names one.
        Raises Unplannable for anything that cannot be read.
        """
        try:
            text = json.dumps(plan, sort_keys=True, default=whole)
        except (TypeError, ValueError, RecursionError) as broken:
            raise Unplannable(f"the plan is not a map of plain values: {broken}") from None
        return _from_plan(text, calendar)

    def to_document(self) -> dict[str, object]:
        """What a user may send again to get this schedule (a rate's anchor stays the job's)."""
        document: dict[str, object] = {}
        if self.kind == "rate":
            document["rate"] = format_duration(self.period)
        else:
            document[self.kind] = self.expression
        if self.seconds:
            document["seconds"] = True
        document["timezone"] = self.timezone
        for name in ("start", "end"):
            if (at := getattr(self, name)) is not None:
                document[name] = to_api(at)
        if self.jitter:
            document["jitter"] = format_duration(self.jitter)
        if self.max_runs is not None:
            document["max_runs"] = self.max_runs
        chosen = {"gap": self.gap, "overlap": self.overlap}
        if dst := {key: value for key, value in chosen.items() if value}:
            document["dst"] = dst
        if self.calendar is not None:
            document["calendar"] = self.calendar.reference()
        return document

    def local(self, t: datetime) -> datetime:
        """The instant on the wall clock of the schedule's zone."""
        return t.astimezone(load_zone(self.timezone))

    def check(self) -> None:
        """Read the expression now, so that what cannot be read is not found in a tick.
        Raises Invalid or Unplannable."""
        self._occurrences  # noqa: B018

    @cached_property
    def _occurrences(self) -> Occurrences:
        found = self._all_occurrences()
        return Without(found, *self.hole) if self.hole else found

    def _all_occurrences(self) -> Occurrences:
        if self.kind == "cron":
            return wall_clock(
                self.expression, self.seconds, self.timezone, self.gap, self.overlap, self.calendar
            )
        if self.kind == "rate":
            return Rate(self.anchor, self.period)
        return once(read_time(self.expression, "/at"), self.timezone, self.gap, self.overlap)

    @cached_property
    def _floor(self) -> int:
        return 0 if self.start is None else _ceil(self.start)

    def _at_or_after(self, instant: int) -> int | None:
        found = self._occurrences.at_or_after(max(instant, self._floor))
        if (
            found is None
            or found > _LAST
            or (self.end is not None and found > (self.end - EPOCH) // _SECOND)
        ):
            return None
        return found


def jittered(uid: str, occurrence: datetime, schedule: Schedule) -> datetime:
    """When the occurrence's run may start: not before it, and before the next occurrence."""
    if not schedule.jitter:
        return occurrence
    return with_jitter(uid, occurrence, schedule, schedule.next_after(occurrence))


def with_jitter(
    uid: str, occurrence: datetime, schedule: Schedule, following: datetime | None
) -> datetime:
    """As `jittered`, when the next occurrence is known already."""
    if not schedule.jitter:
        return occurrence
    gap = None if following is None else (following - occurrence) // _SECOND
    at = (occurrence - EPOCH) // _SECOND
    return occurrence + timedelta(seconds=jitter_seconds(uid, at, schedule.jitter, gap))


@lru_cache(maxsize=16_384)
def _from_plan(text: str, calendar: Calendar | None) -> Schedule:
    plan = json.loads(text)
    if not isinstance(plan, dict):
        raise Unplannable("the plan is not a map")
    kinds = [kind for kind in get_args(Kind) if kind in plan]
    if len(kinds) != 1:
        raise Unplannable(f"the plan names {len(kinds)} kinds of schedule")
    kind = cast(Kind, kinds[0])
    field = Fields(plan)
    try:
        schedule = Schedule(
            kind=kind,
            timezone=field.text("timezone"),
            expression="" if kind == "rate" else field.text(kind),
            seconds=field.flag("seconds"),
            period=field.whole("rate", 1) or 0,
            anchor=field.whole("anchor", 0) or 0,
            jitter=field.whole("jitter", 0) or 0,
            start=_instant(field.whole("start", 0)),
            end=_instant(field.whole("end", 0)),
            max_runs=field.whole("max_runs", 1),
            gap=cast(Gap | None, field.word("gap", get_args(Gap))),
            overlap=cast(Overlap | None, field.word("overlap", get_args(Overlap))),
            calendar=calendar_from_plan(plan.get("calendar"), calendar),
        )
        load_zone(schedule.timezone)
        schedule.check()
    except (Invalid, ValueError, OverflowError) as broken:
        raise Unplannable(f"the plan cannot be read: {broken}") from None
    return schedule


def _instant(value: int | None) -> datetime | None:
    return None if value is None else EPOCH + timedelta(seconds=value)


def _ceil(t: datetime) -> int:
    return -((EPOCH - t) // _SECOND)
