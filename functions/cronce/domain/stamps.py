"""With which data a job's next occurrence was planned, kept beside the schedule in its plan.

The data changes under a job: a calendar is put again, an upgrade brings other rules for a zone.
What is done about it stands in `replan.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from cronce.domain.plan import Due
from cronce.domain.timetable import Schedule
from cronce.domain.zones import tzdata_version

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Stamp:
    """tzdata: the IANA release. offset: of the next occurrence's local time, seconds east of UTC:
    with it the wall time that was meant is known, whatever the zone's rules say by now.
    calendar: the version of the named calendar. None: not known, or there is no such thing."""

    tzdata: str | None = None
    offset: int | None = None
    calendar: int | None = None


def stamp_for(schedule: Schedule, next_: Due | None) -> Stamp:
    """What this release plans with; `next_`: the occurrence that was planned."""
    offset = None
    if next_ is not None and schedule.kind != "rate":
        east = schedule.local(next_.scheduled_for).utcoffset()
        offset = None if east is None else east // _SECOND
    named = schedule.calendar if schedule.calendar and schedule.calendar.name else None
    return Stamp(tzdata_version(), offset, named.version if named else None)


def stamp_of(plan: Mapping[str, object]) -> Stamp:
    """As it stands in a job's plan; what cannot be read is not known."""
    schedule = _schedule(plan)
    calendar = schedule.get("calendar")
    version = calendar.get("version") if isinstance(calendar, Mapping) else None
    tzdata, offset = schedule.get("tzdata"), schedule.get("offset")
    return Stamp(
        tzdata if isinstance(tzdata, str) else None,
        offset if type(offset) is int else None,
        version if type(version) is int and calendar_of(plan) else None,
    )


def news(plan: Mapping[str, object], stamp: Stamp) -> Stamp | None:
    """The stamp, if it says something that the plan does not say yet."""
    return stamp if stamped(plan, stamp) != plan else None


def stamped(plan: Mapping[str, object], stamp: Stamp) -> dict[str, object]:
    """The plan with what the stamp knows."""
    schedule = dict(_schedule(plan))
    if stamp.tzdata is not None:
        schedule["tzdata"] = stamp.tzdata
    if stamp.offset is not None:
        schedule["offset"] = stamp.offset
    calendar = schedule.get("calendar")
    if stamp.calendar is not None and isinstance(calendar, Mapping):
        schedule["calendar"] = {**calendar, "version": stamp.calendar}
    return {**plan, "schedule": schedule}


def unstamped(plan: Mapping[str, object]) -> dict[str, object]:
    """What users wrote: equal for the same schedule, whatever it was planned with."""
    schedule = {k: v for k, v in _schedule(plan).items() if k not in ("tzdata", "offset")}
    calendar = schedule.get("calendar")
    if isinstance(calendar, Mapping) and "name" in calendar:
        schedule["calendar"] = {k: v for k, v in calendar.items() if k != "version"}
    return {**plan, "schedule": schedule}


def calendar_of(plan: Mapping[str, object]) -> str | None:
    """The name of the calendar that a job's plan names."""
    calendar = _schedule(plan).get("calendar")
    name = calendar.get("name") if isinstance(calendar, Mapping) else None
    return name if isinstance(name, str) else None


def _schedule(plan: Mapping[str, object]) -> Mapping[str, object]:
    schedule = plan.get("schedule")
    return schedule if isinstance(schedule, Mapping) else {}
