"""Calendars: local dates on which a schedule does not fire, and where its occurrences go instead.

Public holidays of a country are dates here: who knows them hands in a function that resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any, Literal, cast

from cronce.domain.days import CronDays, DayRule, Days, cron_days, day_date, day_number
from cronce.domain.errors import Fault, Invalid

OnExcluded = Literal["skip", "next_business_day", "previous_business_day"]
ON_EXCLUDED: tuple[OnExcluded, ...] = ("skip", "next_business_day", "previous_business_day")
# (country, subdivision or None) -> dates; raises Invalid with pointers below `holidays`.
Holidays = Callable[[str, str | None], Iterable[date]]

# An inline calendar lies in the job's row, which every advance pays for.
MAX_INLINE_DATES = 40
MAX_NAMED_DATES = 2_000
# An occurrence whose nearest business day is further away than this does not fire.
MAX_SHIFT = 31
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_FIELDS = ("exclude", "on_excluded")
_EXCLUDED = ("dates", "weekends", "holidays")


@dataclass(frozen=True)
class Calendar:
    """What is excluded. Dates are days since 1970-01-01.

    holidays: (country, subdivision) that `holiday_dates` were resolved from.
    name, version: of the calendar's own row; both None for an inline one.
    chosen: what a job chose instead of the named calendar's own `on_excluded`.
    """

    dates: frozenset[int] = frozenset()
    weekends: bool = False
    on_excluded: OnExcluded = "skip"
    holidays: tuple[str, str | None] | None = None
    holiday_dates: frozenset[int] = frozenset()
    name: str | None = None
    version: int | None = None
    chosen: OnExcluded | None = None

    def excludes(self, day: int) -> bool:
        # 1970-01-01 was a Thursday: Saturday and Sunday are 2 and 3 days later.
        return (
            (self.weekends and day % 7 in (2, 3)) or day in self.dates or day in self.holiday_dates
        )

    def named(self, name: str, version: int) -> Calendar:
        """The same calendar as a row that jobs share."""
        return replace(self, name=name, version=version)

    def choosing(self, on_excluded: OnExcluded | None) -> Calendar:
        """The named calendar as one job uses it; None leaves the calendar's own word."""
        if on_excluded is None:
            return self
        return replace(self, on_excluded=on_excluded, chosen=on_excluded)

    def reference(self) -> object:
        """What stands in the document of a schedule."""
        if self.name is None:
            return self.to_document()
        if self.chosen is None:
            return self.name
        return {"name": self.name, "on_excluded": self.chosen}

    def to_document(self) -> dict[str, object]:
        """What `parse_calendar` reads."""
        exclude: dict[str, object] = {}
        if self.dates:
            exclude["dates"] = [day_date(d).isoformat() for d in sorted(self.dates)]
        if self.weekends:
            exclude["weekends"] = True
        if self.holidays is not None:
            country, subdivision = self.holidays
            exclude["holidays"] = {"country": country}
            if subdivision is not None:
                exclude["holidays"] = {"country": country, "subdivision": subdivision}
        return {"exclude": exclude, "on_excluded": self.on_excluded}


def parse_calendar(
    document: object,
    *,
    holidays: Holidays | None = None,
    max_dates: int = MAX_INLINE_DATES,
) -> Calendar:
    """Read `{"exclude": {"dates", "weekends", "holidays"}, "on_excluded"}`.

    Raises Invalid with every fault, pointers relative to the document.
    """
    if not isinstance(document, Mapping):
        raise Invalid.one("", "bad_calendar", "a calendar is an object", '{"exclude": {…}}')
    faults = _unknown(document, _FIELDS, "")
    on_excluded = document.get("on_excluded", "skip")
    if on_excluded not in ON_EXCLUDED:
        accepted = ", ".join(ON_EXCLUDED)
        faults.append(Fault("/on_excluded", "unknown_value", "not a known word", accepted))
    exclude = document.get("exclude")
    if not isinstance(exclude, Mapping) or not exclude:
        accepted = "an object with one or more of dates, weekends, holidays"
        faults.append(Fault("/exclude", "bad_calendar", "nothing is excluded", accepted))
        raise Invalid(faults)
    faults += _unknown(exclude, _EXCLUDED, "/exclude")
    weekends = exclude.get("weekends", False)
    if not isinstance(weekends, bool):
        faults.append(Fault("/exclude/weekends", "bad_type", "not a boolean", "true or false"))
    dates = _dates(exclude.get("dates", []), max_dates, faults)
    source, resolved = _holidays(exclude.get("holidays"), holidays, faults)
    if len(dates) + len(resolved) > max_dates:
        detail = f"{len(dates) + len(resolved)} excluded dates, at most {max_dates} fit here"
        faults.append(Fault("/exclude", "too_many_dates", detail, "a named calendar"))
    if faults:
        raise Invalid(faults)
    return Calendar(dates, bool(weekends), cast(OnExcluded, on_excluded), source, resolved)


def _dates(value: object, limit: int, faults: list[Fault]) -> frozenset[int]:
    if not isinstance(value, list):
        faults.append(Fault("/exclude/dates", "bad_type", "not a list", '["2026-12-24", …]'))
        return frozenset()
    if len(value) > limit:
        detail = f"{len(value)} dates, at most {limit} fit here"
        faults.append(Fault("/exclude/dates", "too_many_dates", detail, "a named calendar"))
        return frozenset()
    found = set()
    for i, text in enumerate(value):
        try:
            if not isinstance(text, str) or not _DATE.fullmatch(text):
                raise ValueError
            when = date.fromisoformat(text)
            found.add(day_number(when.year, when.month, when.day))
        except ValueError:
            at = f"/exclude/dates/{i}"
            faults.append(Fault(at, "bad_date", "not a date of the calendar", "2026-12-24"))
    return frozenset(found)


def _holidays(
    value: object, resolve: Holidays | None, faults: list[Fault]
) -> tuple[tuple[str, str | None] | None, frozenset[int]]:
    at, accepted = "/exclude/holidays", '{"country": "DE", "subdivision": "BY"}'
    if value is None:
        return None, frozenset()
    if not isinstance(value, Mapping) or not isinstance(value.get("country"), str):
        faults.append(Fault(at, "bad_holidays", "names no country", accepted))
        return None, frozenset()
    subdivision = value.get("subdivision")
    unknown = _unknown(value, ("country", "subdivision"), at)
    if unknown or not (subdivision is None or isinstance(subdivision, str)):
        faults += unknown or [Fault(at + "/subdivision", "bad_type", "not a string", accepted)]
        return None, frozenset()
    if resolve is None:
        detail = "public holidays are not known here"
        faults.append(Fault(at, "no_holidays", detail, "dates; or the API, which knows them"))
        return None, frozenset()
    country = value["country"]
    try:
        days = frozenset(day_number(d.year, d.month, d.day) for d in resolve(country, subdivision))
    except Invalid as refused:
        faults += [fault.under(at) for fault in refused.faults]
        return None, frozenset()
    return (country, subdivision), days


def _unknown(document: Mapping[Any, Any], known: tuple[str, ...], at: str) -> list[Fault]:
    accepted = ", ".join(known)
    return [
        Fault(f"{at}/{str(key)[:40]}", "unknown_field", "no such field", accepted)
        for key in list(document)[:20]
        if key not in known
    ]


class BusinessDays(Days):
    """The days of a cron after its calendar was applied.

    A day is in the set if the cron names it and it is not excluded, or if it is the first day
    not excluded after (or before) an excluded one that the cron names. Whether a day is in can be
    told from its neighbours alone, so the answer is the same from any start.
    """

    def __init__(self, named: CronDays, calendar: Calendar) -> None:
        super().__init__()
        self._named = named
        self._calendar = calendar
        self._back = {"next_business_day": -1, "previous_business_day": 1}.get(
            calendar.on_excluded, 0
        )

    def came_from(self, day: int) -> int | None:
        """The excluded day whose occurrences were moved to `day`; None if it stands by itself."""
        if day in self._named or self._calendar.excludes(day):
            return None
        return self._moved_here(day)

    def _work_out(self, year: int, month: int) -> list[int]:
        if not self._near(year, month):
            return []
        first = day_number(year, month, 1)
        length = day_number(year + month // 12, month % 12 + 1, 1) - first
        named = set(self._named.month(year, month))
        return [
            d
            for d in range(1, length + 1)
            if not self._calendar.excludes(first + d - 1)
            and (d in named or self._moved_here(first + d - 1) is not None)
        ]

    def _moved_here(self, day: int) -> int | None:
        if not self._back:
            return None
        at = day + self._back
        for _ in range(MAX_SHIFT):
            if at < 0 or not self._calendar.excludes(at):
                return None
            if at in self._named:
                return at
            at += self._back
        return None

    def _near(self, year: int, month: int) -> bool:
        """Whether the cron names a day that could be moved into this month."""
        reach = (-2, -1, 0, 1, 2) if self._back else (0,)
        index = year * 12 + month - 1
        return any(self._named.month((index + n) // 12, (index + n) % 12 + 1) for n in reach)


@lru_cache(maxsize=1024)
def days_of(rule: DayRule, calendar: Calendar | None) -> Days:
    """The days on which a rule fires."""
    named = cron_days(rule)
    return named if calendar is None else BusinessDays(named, calendar)
