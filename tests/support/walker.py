"""A brute-force reading of cron, to judge the engine by.

It walks over UTC minute after minute (second after second where seconds are asked for), looks at
the clock on the wall, and asks of each field whether it says yes. It shares no code with
`cronce` and no idea beyond the text of docs/schedules.md: no sets of days by month, no eras, no
jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * SUN",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
ONE_DAY = timedelta(days=1)


@cache
def zone(key: str) -> ZoneInfo:
    with resources.files("tzdata").joinpath("zoneinfo", *key.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=key)


class Look(NamedTuple):
    """One look at the clock: the instant, what the wall shows, what it showed one look earlier,
    and whether this wall time comes (or came) a second time."""

    instant: datetime
    wall: datetime
    earlier: datetime
    second_pass: bool
    first_pass: bool


def looks(key: str, start: datetime, count: int, step: timedelta) -> list[Look]:
    found = []
    tz = zone(key)
    earlier = (start - step).astimezone(tz).replace(tzinfo=None, fold=0)
    for n in range(count):
        instant = start + n * step
        local = instant.astimezone(tz)
        twice = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
        wall = local.replace(tzinfo=None, fold=0)
        second, first = twice and local.fold == 1, twice and local.fold == 0
        found.append(Look(instant, wall, earlier, second, first))
        earlier = wall
    return found


class Reading:
    """An expression, read field by field."""

    def __init__(self, expression: str, *, seconds: bool = False) -> None:
        text = MACROS.get(expression, expression)
        self.aws = text.startswith("cron(")
        parts = (text[5:-1] if self.aws else text).upper().split()
        self.second = parts.pop(0) if seconds else "0"
        self.year = parts.pop() if self.aws else "*"
        self.minute, self.hour, self.day, self.month, self.weekday = parts
        self.every_n = any(c in self.minute + self.hour for c in "*/")
        self._days: dict[date, bool] = {}
        self._times: dict[tuple[int, int, int], bool] = {}

    def says(self, wall: datetime) -> bool:
        return self.time_says(wall) and self.day_says(wall.date())

    def time_says(self, wall: datetime) -> bool:
        key = (wall.hour, wall.minute, wall.second)
        if key not in self._times:
            self._times[key] = (
                _among(wall.second, self.second, 0, 59)
                and _among(wall.minute, self.minute, 0, 59)
                and _among(wall.hour, self.hour, 0, 23)
            )
        return self._times[key]

    def day_says(self, day: date) -> bool:
        if day not in self._days:
            self._days[day] = self._says_day(day)
        return self._days[day]

    def _says_day(self, day: date) -> bool:
        if not _among(day.month, self.month, 1, 12, MONTHS):
            return False
        if not _among(day.year, self.year, 1970, 2199):
            return False
        day_free = self.day in ("*", "?")
        weekday_free = self.weekday in ("*", "?")
        by_day = any(_day_element(e, day) for e in self.day.split(","))
        by_weekday = any(self._weekday_element(e, day) for e in self.weekday.split(","))
        if day_free:
            return weekday_free or by_weekday
        return by_day if weekday_free else by_day or by_weekday

    def _weekday_element(self, element: str, day: date) -> bool:
        sunday_is = 1 if self.aws else 0
        number = day.isoweekday() % 7 + sunday_is
        if element == "?":
            return True
        if element == "L":
            return day.isoweekday() == 6
        if "#" in element:
            name, k = element.split("#")
            return self._is_weekday(name, day) and (day.day - 1) // 7 + 1 == int(k)
        if element.endswith("L"):
            return self._is_weekday(element[:-1], day) and (day + 7 * ONE_DAY).month != day.month
        if self.aws:
            return _element(number, element, 1, 7, WEEKDAYS)
        # Sunday is 0 and 7; `*` and open steps end at 6.
        if "-" in element:
            return _element(number, element, 0, 6, WEEKDAYS, also=7)
        if element.startswith("7"):
            return number == 0
        return _element(number, element, 0, 6, WEEKDAYS)

    def _is_weekday(self, name: str, day: date) -> bool:
        if name in WEEKDAYS:
            return WEEKDAYS[day.isoweekday() % 7] == name
        return (int(name) - (1 if self.aws else 0)) % 7 == day.isoweekday() % 7


def _day_element(element: str, day: date) -> bool:
    last = day
    while (last + ONE_DAY).month == day.month:
        last += ONE_DAY
    if element == "?":
        return True
    if element == "L":
        return day == last
    if element == "LW":
        while last.isoweekday() > 5:
            last -= ONE_DAY
        return day == last
    if element.startswith("L-"):
        return day == last - int(element[2:]) * ONE_DAY and day.month == last.month
    if element.endswith("W"):
        wanted = int(element[:-1])
        if wanted > last.day:
            return False
        target = day.replace(day=wanted)
        near = [target + n * ONE_DAY for n in (0, -1, 1, -2, 2)]
        return day == next(d for d in near if d.month == day.month and d.isoweekday() < 6)
    return _element(day.day, element, 1, 31)


@cache
def _among(
    value: int, field: str, low: int, high: int, names: tuple[str, ...] | None = None
) -> bool:
    return any(_element(value, e, low, high, names) for e in field.split(","))


@cache
def _element(
    value: int,
    element: str,
    low: int,
    high: int,
    names: tuple[str, ...] | None = None,
    also: int | None = None,
) -> bool:
    """Count from the start of the element to its end, and see whether the count meets `value`."""
    body, _, step_text = element.partition("/")
    step = int(step_text or 1)

    def number(text: str) -> int:
        return names.index(text) + low if names and text in names else int(text)

    if body == "*":
        start, end = low, high
    elif "-" in body:
        start, end = (number(t) for t in body.split("-"))
    else:
        start = number(body)
        end = high if step_text else start
    if also is not None and start == also and end != also:
        start = low
    at, counted = start, 0
    while True:
        if counted % step == 0 and value in (at, low if at == also else at):
            return True
        if at == end:
            return False
        counted += 1
        at += 1
        if at > high and not (at == also and end == also):
            at = low


@dataclass(frozen=True)
class Rules:
    """What a job chose: None is the rule of its kind. moved: a calendar applied to days."""

    gap: str | None = None
    overlap: str | None = None
    excluded: Callable[[date], bool] | None = None
    on_excluded: str = "skip"


def fires(reading: Reading, seen: list[Look], rules: Rules, step: timedelta) -> list[datetime]:
    """The instants among `seen` at which the expression fires."""
    gap = rules.gap or ("skip" if reading.every_n else "next")
    overlap = rules.overlap or ("both" if reading.every_n else "first")
    on_day = _day_test(reading, seen, rules)
    found = []
    for look in seen:
        fire = (
            reading.time_says(look.wall)
            and on_day(look.wall.date())
            and not (look.second_pass and overlap == "first")
            and not (look.first_pass and overlap == "second")
        )
        if not fire and gap == "next" and look.wall - look.earlier > step:
            missing = _between(look.earlier, look.wall, step)
            fire = any(reading.time_says(w) and on_day(w.date()) for w in missing)
        if fire:
            found.append(look.instant)
    return found


def _day_test(reading: Reading, seen: list[Look], rules: Rules) -> Callable[[date], bool]:
    if rules.excluded is None:
        return reading.day_says
    moved = set()
    day, end = seen[0].wall.date() - 45 * ONE_DAY, seen[-1].wall.date() + 45 * ONE_DAY
    while day <= end:
        if reading.day_says(day):
            landed = _land(day, rules)
            if landed is not None:
                moved.add(landed)
        day += ONE_DAY
    return moved.__contains__


def _land(day: date, rules: Rules) -> date | None:
    assert rules.excluded is not None
    if not rules.excluded(day):
        return day
    if rules.on_excluded == "skip":
        return None
    way = ONE_DAY if rules.on_excluded == "next_business_day" else -ONE_DAY
    while rules.excluded(day):
        day += way
    return day


def _between(earlier: datetime, wall: datetime, step: timedelta) -> Iterator[datetime]:
    at = earlier + step
    while at < wall:
        yield at
        at += step


def transitions(key: str, first_year: int, last_year: int) -> list[datetime]:
    """The instants at which the zone's offset changes, to the minute, found by looking."""
    tz = zone(key)
    at, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year, 1, 1, tzinfo=UTC)
    found = []
    while at < end:
        if at.astimezone(tz).utcoffset() != (at + ONE_DAY).astimezone(tz).utcoffset():
            minute = at
            while minute.astimezone(tz).utcoffset() == at.astimezone(tz).utcoffset():
                minute += timedelta(minutes=1)
            found.append(minute)
        at += ONE_DAY
    return found
