"""Which days a schedule names: by month and worked out once.

Days are whole days since 1970-01-01 on the local calendar.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

FIRST_YEAR, LAST_YEAR = 1970, 9000
_EPOCH = date(1970, 1, 1).toordinal()
# The rarest day that a cron can name, a fifth Monday in February, is at most 40 years away.
_PATIENCE = 100
_KEPT = 240


def day_number(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - _EPOCH


def day_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH)


class Days:
    """A set of days that can tell its members of any month."""

    def __init__(self) -> None:
        self._months: dict[int, tuple[int, ...]] = {}

    def month(self, year: int, month: int) -> tuple[int, ...]:
        """The days of that month that are in the set, ascending."""
        key = year * 12 + month
        found = self._months.get(key)
        if found is None:
            if len(self._months) > _KEPT:
                self._months.clear()
            found = self._months[key] = tuple(self._work_out(year, month))
        return found

    def _work_out(self, year: int, month: int) -> list[int]:
        raise NotImplementedError

    def _years(self, start: int, step: int) -> Iterator[int]:
        """Years worth a look, from `start` on, in that direction."""
        end = min(start + _PATIENCE, LAST_YEAR) if step > 0 else FIRST_YEAR - 1
        return iter(range(start, end, step))

    def _months_worth_a_look(self) -> tuple[int, ...]:
        return tuple(range(1, 13))

    def __contains__(self, day: int) -> bool:
        when = day_date(day)
        return when.day in self.month(when.year, when.month)

    def at_or_after(self, day: int) -> int | None:
        when = day_date(max(day, 0))
        year, month = when.year, when.month
        if year >= LAST_YEAR:
            return None
        days = self.month(year, month)
        i = bisect_left(days, when.day)
        if i < len(days):
            return max(day, 0) + days[i] - when.day
        months = self._months_worth_a_look()
        for y in self._years(year, 1):
            for m in months:
                if (y, m) > (year, month) and (days := self.month(y, m)):
                    return day_number(y, m, days[0])
        return None

    def at_or_before(self, day: int) -> int | None:
        if day < 0:
            return None
        when = day_date(day)
        year, month = when.year, when.month
        days = self.month(year, month)
        i = bisect_right(days, when.day)
        if i:
            return day + days[i - 1] - when.day
        months = self._months_worth_a_look()[::-1]
        for y in self._years(year, -1):
            for m in months:
                if (y, m) < (year, month) and (days := self.month(y, m)):
                    return day_number(y, m, days[-1])
        return None

    def count(self, low: int, high: int) -> int:
        """How many are in [low, high)."""
        if high <= low:
            return 0
        first, last = day_date(low), day_date(high - 1)
        total = 0
        for index in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
            total += len(self.month(index // 12, index % 12 + 1))
        total -= bisect_left(self.month(first.year, first.month), first.day)
        return total - (
            len(days := self.month(last.year, last.month)) - bisect_right(days, last.day)
        )


@dataclass(frozen=True)
class DayRule:
    """The day fields of a cron expression, parsed. Weekdays: 0 is Sunday.

    Both restricted: either matches (the Vixie rule).
    """

    months: frozenset[int]
    years: frozenset[int] | None = None
    month_days: frozenset[int] | None = None  # None: unrestricted
    from_last: frozenset[int] = frozenset()  # L is 0, L-3 is 3
    nearest: frozenset[int] = frozenset()  # 15W
    last_workday: bool = False  # LW
    weekdays: frozenset[int] | None = None  # None: unrestricted
    nth: frozenset[tuple[int, int]] = field(default=frozenset())  # (weekday, k) of weekday#k
    last_of: frozenset[int] = frozenset()  # 5L

    def days(self, year: int, month: int) -> list[int]:
        if month not in self.months or (self.years is not None and year not in self.years):
            return []
        first, length = monthrange(year, month)
        weekday = (first + 1) % 7  # of the first, Sunday being 0
        if self.month_days is None and self.weekdays is None:
            return list(range(1, length + 1))
        found: set[int] = set()
        if self.month_days is not None:
            found |= self._of_month(self.month_days, weekday, length)
        if self.weekdays is not None:
            found |= self._of_week(self.weekdays, weekday, length)
        return sorted(found)

    def _of_month(self, month_days: frozenset[int], weekday: int, length: int) -> set[int]:
        found = {d for d in month_days if d <= length}
        found |= {length - n for n in self.from_last if n < length}
        found |= {_nearest_workday(d, weekday, length) for d in self.nearest if d <= length}
        if self.last_workday:
            last = (weekday + length - 1) % 7
            found.add(length - {0: 2, 6: 1}.get(last, 0))
        return found

    def _of_week(self, weekdays: frozenset[int], weekday: int, length: int) -> set[int]:
        found = {d for d in range(1, length + 1) if (weekday + d - 1) % 7 in weekdays}
        for wanted, k in self.nth:
            day = 1 + (wanted - weekday) % 7 + 7 * (k - 1)
            if day <= length:
                found.add(day)
        for wanted in self.last_of:
            found.add(length - (weekday + length - 1 - wanted) % 7)
        return found


def _nearest_workday(day: int, weekday: int, length: int) -> int:
    """Monday to Friday nearest to the day, never in another month."""
    falls_on = (weekday + day - 1) % 7
    if falls_on == 6:
        return day - 1 if day > 1 else day + 2
    if falls_on == 0:
        return day + 1 if day < length else day - 2
    return day


class CronDays(Days):
    """The days of a rule."""

    def __init__(self, rule: DayRule) -> None:
        super().__init__()
        self.rule = rule
        self._looked_at = tuple(sorted(rule.months))
        self._sorted_years = sorted(rule.years) if rule.years is not None else None

    def _work_out(self, year: int, month: int) -> list[int]:
        return self.rule.days(year, month)

    def _months_worth_a_look(self) -> tuple[int, ...]:
        return self._looked_at

    def _years(self, start: int, step: int) -> Iterator[int]:
        if self._sorted_years is None:
            return super()._years(start, step)
        if step > 0:
            return iter(self._sorted_years[bisect_left(self._sorted_years, start) :])
        return reversed(self._sorted_years[: bisect_right(self._sorted_years, start)])


@lru_cache(maxsize=1024)
def cron_days(rule: DayRule) -> CronDays:
    """Shared by all expressions with the same day fields, so that a month is worked out once."""
    return CronDays(rule)
