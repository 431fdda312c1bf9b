"""Where a job stands when the data behind its schedule has changed: tzdata, or a named calendar.

What an occurrence *is* decides what must not happen twice. Of a cron with fixed times, and of a
local `at`, it is the wall time: 09:00 on the 3rd is one occurrence, wherever an upgrade puts it.
Of "every n minutes" it is the instant, as it is when the clocks change.

An occurrence that may have been dispatched stands at the instant under which it was, and its wall
time, which the new rules may put later, does not come again. One that has not been is moved
to where the new rules put it; never to an instant that may have been dispatched already: there it
could meet the run of another wall time. So it stands, late by the shift, and wall times that meet
at one instant are one occurrence, as they are after a gap.

A calendar that is put again is an edit of all its jobs at the moment of the change: up to
`settled` what the old version said stands, and behind it only what the new version says counts.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cronce import limits
from cronce.domain.cron import parse_cron
from cronce.domain.eras import eras_of
from cronce.domain.instants import EPOCH
from cronce.domain.local_time import instant_of
from cronce.domain.plan import Due, first_due
from cronce.domain.stamps import Stamp
from cronce.domain.timetable import Schedule
from cronce.domain.zones import tzdata_version

# After it has looked at its clock a call of the API may write for as long as it lives, and clocks
# differ.
MARGIN = timedelta(seconds=limits.API_TIMEOUT + limits.CLOCK_DIFFERENCE)
_SECOND = timedelta(seconds=1)


def settled(changed_at: datetime, horizon: timedelta) -> datetime:
    """Up to here occurrences may have been dispatched when the data was changed."""
    return changed_at + horizon + MARGIN


def is_outdated(schedule: Schedule, stamp: Stamp) -> bool:
    return _has_new_calendar(schedule, stamp) or _has_new_zone(schedule, stamp)


def moved(
    *, uid: str, schedule: Schedule, stamp: Stamp, current: Due, until: datetime
) -> Due | None:
    """Where a job that stands at `current` belongs under the data of now; None: nowhere any more.

    until: `settled` as of now. `current` itself where nothing changes, or it stands.
    """
    if current.scheduled_for <= until:
        return current
    if _has_new_calendar(schedule, stamp):
        then = first_due(uid, schedule, until)
    elif _has_new_zone(schedule, stamp):
        meant = _meant(schedule, stamp, current.scheduled_for)
        then = first_due(uid, schedule, meant - _SECOND)
        if then is not None and then.scheduled_for <= until:
            return current
    else:
        return current
    same = then is not None and then.scheduled_for == current.scheduled_for
    return current if same else then


def taken_up(
    *, uid: str, schedule: Schedule, stamp: Stamp, current: Due, changed: datetime | None
) -> tuple[Schedule, Due | None]:
    """With what a tick plans a job: its occurrences and where it stands. Nobody has re-planned it
    since the data changed, and `current` is inside the horizon.

    changed: `settled` as of the calendar's change, for a job that names one.
    """
    if changed is not None and _has_new_calendar(schedule, stamp):
        if current.scheduled_for > changed:
            return schedule, first_due(uid, schedule, changed)
        return schedule, current
    if _has_new_zone(schedule, stamp):
        meant = _meant(schedule, stamp, current.scheduled_for)
        if meant > current.scheduled_for:
            return schedule.without(current.scheduled_for, meant), current
    return schedule, current


def _has_new_calendar(schedule: Schedule, stamp: Stamp) -> bool:
    calendar = schedule.calendar
    return calendar is not None and bool(calendar.name) and calendar.version != stamp.calendar


def _has_new_zone(schedule: Schedule, stamp: Stamp) -> bool:
    return schedule.kind != "rate" and stamp.tzdata != tzdata_version()


def _meant(schedule: Schedule, stamp: Stamp, occurrence: datetime) -> datetime:
    """Where the rules of now put the occurrence that other rules had put here."""
    if schedule.kind == "at":
        return schedule.next_after(EPOCH) or occurrence
    at = (occurrence - EPOCH) // _SECOND
    if stamp.offset is None or _follows_elapsed_time(schedule):
        return occurrence
    if eras_of(schedule.timezone).offset(at) == stamp.offset and schedule.contains(occurrence):
        return occurrence
    there = instant_of(at + stamp.offset, schedule.timezone)
    return occurrence if there is None else EPOCH + timedelta(seconds=there)


def _follows_elapsed_time(schedule: Schedule) -> bool:
    return (
        schedule.kind == "cron"
        and parse_cron(schedule.expression, seconds=schedule.seconds).elapsed
    )
