"""Cron on the local wall clock of a zone, mapped to UTC.

The rule, of which a job may choose either half otherwise:

* A wall time that does not exist (the clocks went forward) fires once, at the first instant after
  the gap; several that meet there, or one that meets an ordinary occurrence, are one occurrence.
* A wall time that occurs twice (the clocks went back) fires once, at its first pass.
* A schedule that means "every n minutes" follows elapsed time instead: it fires in both passes,
  and nothing is made up after a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cronce.domain.calendar import BusinessDays, Calendar, days_of
from cronce.domain.clock_times import ClockTimes
from cronce.domain.cron import parse_cron
from cronce.domain.days import LAST_YEAR, Days, day_date, day_number
from cronce.domain.eras import DAY, Era, eras_of

_CEILING = day_number(LAST_YEAR, 1, 1) * DAY

Gap = Literal["next", "skip"]
Overlap = Literal["first", "second", "both"]


class WallTimes:
    """Days crossed with times of day. A wall time is the seconds since 1970 that a clock on
    the wall would show, as if there were no zones."""

    __slots__ = ("days", "times")

    def __init__(self, days: Days, times: ClockTimes) -> None:
        self.days, self.times = days, times

    def at_or_after(self, wall: int) -> int | None:
        day, time = divmod(wall, DAY)
        found = self.days.at_or_after(day)
        if found == day:
            later = self.times.at_or_after(time)
            if later >= 0:
                return day * DAY + later
            found = self.days.at_or_after(day + 1)
        return None if found is None else found * DAY + self.times.first

    def at_or_before(self, wall: int) -> int | None:
        day, time = divmod(wall, DAY)
        found = self.days.at_or_before(day)
        if found == day:
            earlier = self.times.at_or_before(time)
            if earlier >= 0:
                return day * DAY + earlier
            found = self.days.at_or_before(day - 1)
        return None if found is None else found * DAY + self.times.last

    def count(self, low: int, high: int) -> int:
        """How many are in [low, high)."""
        if high <= low:
            return 0
        return self._before(high, low // DAY) - self._before(low, low // DAY)

    def _before(self, wall: int, since: int) -> int:
        day, time = divmod(wall, DAY)
        total = self.days.count(since, day) * self.times.size
        return total + (self.times.before(time) if time and day in self.days else 0)

    def any_in(self, low: int, high: int) -> bool:
        found = self.at_or_after(low)
        return found is not None and found < high


@dataclass(frozen=True)
class WallClock:
    """The occurrences of a cron in a zone, as whole seconds since 1970 in UTC."""

    walls: WallTimes
    zone: str
    gap: Gap
    overlap: Overlap

    def at_or_after(self, instant: int) -> int | None:
        eras = eras_of(self.zone)
        at = max(instant, 0)
        if at >= _CEILING:
            return None
        era = eras.at(at)
        while True:
            if at == era.start and self._made_up(era):
                return at
            low = max(at + era.offset, self._opens(era))
            wall = self.walls.at_or_after(low)
            if wall is not None and wall < self._closes(era):
                return wall - era.offset
            at = era.end
            if wall is None:
                # Later eras show later wall times, except for those that this border repeats.
                if era.after >= era.offset:
                    return None
            elif low <= at + min(era.offset, era.after) and wall > at + era.offset + 2 * DAY:
                at = wall - DAY
            era = eras.at(at)

    def at_or_before(self, instant: int, floor: int) -> int | None:
        """The last one not after `instant`, None if that is before `floor`."""
        eras = eras_of(self.zone)
        floor = max(floor, 0)
        at = instant
        while at >= floor:
            era = eras.at(at)
            wall = self.walls.at_or_before(min(at + era.offset, self._closes(era) - 1))
            if wall is not None and wall >= self._opens(era):
                found = wall - era.offset
                return found if found >= floor else None
            if self._made_up(era):
                return era.start if era.start >= floor else None
            at = era.start - 1
        return None

    def count(self, low: int, high: int) -> int:
        """How many are in [low, high)."""
        eras = eras_of(self.zone)
        at, total = max(low, 0), 0
        while at < high:
            era = eras.at(at)
            end = min(high, era.end)
            opens = max(at + era.offset, self._opens(era))
            total += self.walls.count(opens, min(end + era.offset, self._closes(era)))
            if at == era.start and self._made_up(era):
                first = at + era.offset
                total += not self.walls.any_in(first, first + 1)
            at = end
        return total

    def _opens(self, era: Era) -> int:
        """The first wall time that this era may fire: it leaves to the last one what it repeats."""
        if self.overlap == "first" and era.before > era.offset:
            return era.start + era.before
        return era.start + era.offset

    def _closes(self, era: Era) -> int:
        if self.overlap == "second" and era.after < era.offset:
            return era.end + era.after
        return era.end + era.offset

    def _made_up(self, era: Era) -> bool:
        """Whether a wall time fell into the gap before this era and fires at its start."""
        return (
            self.gap == "next"
            and era.offset > era.before
            and self.walls.any_in(era.start + era.before, era.start + era.offset)
        )

    def note(self, instant: int) -> str | None:
        """What is unusual about this occurrence, in words."""
        era = eras_of(self.zone).at(instant)
        wall = instant + era.offset
        if instant == era.start and not self.walls.any_in(wall, wall + 1) and self._made_up(era):
            return "moved out of a gap: the clocks went forward over its local time"
        if wall < era.start + era.before and era.before > era.offset:
            return "second of two passes: the clocks went back" + (
                ", the first pass is skipped" if self.overlap == "second" else ""
            )
        if wall >= era.end + era.after and era.after < era.offset:
            return "first of two passes: the clocks go back" + (
                ", the second pass is skipped" if self.overlap == "first" else ""
            )
        if isinstance(self.walls.days, BusinessDays):
            moved = self.walls.days.came_from(wall // DAY)
            return None if moved is None else f"shifted from {day_date(moved)}, which is excluded"
        return None


@lru_cache(maxsize=8192)
def wall_clock(
    cron: str,
    seconds: bool,
    zone: str,
    gap: Gap | None,
    overlap: Overlap | None,
    calendar: Calendar | None,
) -> WallClock:
    """Parsed and kept. Raises Invalid for a bad cron, Unplannable for an unknown zone."""
    parsed = parse_cron(cron, seconds=seconds)
    eras_of(zone)
    return WallClock(
        WallTimes(days_of(parsed.rule, calendar), parsed.times),
        zone,
        gap or ("skip" if parsed.elapsed else "next"),
        overlap or ("both" if parsed.elapsed else "first"),
    )
