"""Cron expressions: the Unix form and EventBridge's, parsed once to sets.

Why not croniter. Version 7 fires a fixed-time job twice when the clocks go back, invents runs at
the end of a gap for `*/n` hours, loses runs of wildcard jobs where an overlap is not aligned to
the hour, intersects day-of-month with `#`, `nL` and `nW` instead of uniting them (and raises when
nothing is left), reads `9-9` as the whole day, is off by one in wrapped ranges with a step, reads
a sixth field as seconds (an EventBridge string then fires 60 times a minute), moves `31W` into
the last weekday of a shorter month, and ends in 2099. It also cannot count, or find the latest
occurrence before an instant without visiting each one, which a catch-up after an outage needs.
It is right everywhere else, and the tests compare the two there.

Where readers of cron differ, this is what holds here:

* Day-of-month and day-of-week both restricted: either matches. Only `*` and `?` are
  unrestricted; every other form is restricted, `*/2` and even `*/1` included.
* "Every n minutes" (see wall_clock.py): the minute or the hour field holds `*` or `/`.
* `31W` does not fire in a month of 30 days; `nW` never leaves its month.
* `L` as a weekday is Saturday, the last day of the week in both numberings.
* A step larger than its field selects the first value only; EventBridge's form refuses it.
* `n/step` runs from n to the end of the field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cronce.domain import fields as f
from cronce.domain.clock_times import ClockTimes
from cronce.domain.days import DayRule
from cronce.domain.errors import Fault, Invalid

MAX_LENGTH = 200
ACCEPTED = (
    "minute hour day-of-month month day-of-week, a macro such as @daily, or"
    " cron(minute hour day-of-month month day-of-week year)"
)
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNIX = (f.MINUTE, f.HOUR, f.DAY, f.MONTH, f.WEEKDAY)
_AWS = (f.AWS_MINUTE, f.AWS_HOUR, f.AWS_DAY, f.AWS_MONTH, f.AWS_WEEKDAY, f.AWS_YEAR)
_BLANKS = re.compile(r"[ \t]+")
_ODD = re.compile(r"[^\x20-\x7e\t]")
_ZONE_PREFIX = re.compile(r"(CRON_)?TZ=")


@dataclass(frozen=True, eq=False)
class Cron:
    """text: the canonical form. elapsed: it means "every n minutes" and follows elapsed time."""

    text: str
    elapsed: bool
    times: ClockTimes
    rule: DayRule
    aws: bool


@lru_cache(maxsize=4096)
def parse_cron(text: str, *, seconds: bool = False) -> Cron:
    """Raises Invalid with every fault, each naming the field, its position and what is accepted.

    >>> parse_cron("  */15 9-17 * * mon-fri ").text
    '*/15 9-17 * * MON-FRI'
    """
    _check_characters(text)
    body = text.strip(" \t")
    if body.startswith("cron("):
        if seconds:
            raise _bad("seconds", "the cron(…) form has no seconds")
        return _parse_aws(body)
    macro = body if body.startswith("@") else ""
    if macro:
        body = _macro(macro, seconds)
    parts = _BLANKS.split(body.upper()) if body else []
    _check_count(body, parts, seconds)
    faults: list[Fault] = []
    kinds = (f.SECOND, *_UNIX) if seconds else _UNIX
    read = _read(parts, kinds, faults)
    second = read.pop(0).values if seconds else {0}
    if faults:
        raise Invalid(faults)
    minute, hour, day, month, weekday = read
    return Cron(
        text=macro or " ".join(parts),
        elapsed=minute.stepped or hour.stepped,
        times=ClockTimes(hour.values, minute.values, second),
        rule=_rule(day, month, weekday, {n % 7 for n in weekday.values}, None),
        aws=False,
    )


def _parse_aws(body: str) -> Cron:
    if not body.endswith(")"):
        raise _bad("bad_cron", "cron(…) is not closed")
    parts = _BLANKS.split(body[5:-1].strip(" \t").upper())
    if len(parts) != 6:
        raise _bad("field_count", f"cron(…) needs six fields, this has {len(parts)}")
    faults: list[Fault] = []
    minute, hour, day, month, weekday, year = _read(parts, _AWS, faults)
    if day.question == weekday.question:
        both = "both are ?" if day.question else "neither is ?"
        detail = f"of day-of-month (field 3 of 6) and day-of-week (field 5 of 6) {both}"
        faults.append(Fault("", "bad_days", detail, "? in exactly one of the two"))
    if faults:
        raise Invalid(faults)
    weekdays = {n - 1 for n in weekday.values}
    return Cron(
        text=f"cron({' '.join(parts)})",
        elapsed=minute.stepped or hour.stepped,
        times=ClockTimes(hour.values, minute.values, (0,)),
        rule=_rule(day, month, weekday, weekdays, None if year.unrestricted else year.values),
        aws=True,
    )


def _read(parts: list[str], kinds: tuple[f.Field, ...], faults: list[Fault]) -> list[f.FieldValues]:
    return [
        f.read_field(part, kind, f"field {i} of {len(kinds)}", faults)
        for i, (part, kind) in enumerate(zip(parts, kinds, strict=True), start=1)
    ]


def _rule(
    day: f.FieldValues,
    month: f.FieldValues,
    weekday: f.FieldValues,
    weekdays: set[int],
    years: set[int] | None,
) -> DayRule:
    return DayRule(
        months=frozenset(month.values),
        years=None if years is None else frozenset(years),
        month_days=None if day.unrestricted else frozenset(day.values),
        from_last=frozenset(day.from_last),
        nearest=frozenset(day.nearest),
        last_workday=day.last_workday,
        weekdays=None if weekday.unrestricted else frozenset(weekdays),
        nth=frozenset(weekday.nth),
        last_of=frozenset(weekday.last_of),
    )


def _macro(body: str, seconds: bool) -> str:
    if seconds:
        raise _bad("bad_cron", "a macro has no seconds", "six fields, seconds first")
    if body not in MACROS:
        hint = "; a fixed period is a rate" if body.startswith("@every") else ""
        raise _bad("unknown_macro", f"{body[:20]!r} is not a macro{hint}", ", ".join(MACROS))
    return MACROS[body]


def _check_characters(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise _bad("too_long", f"{len(text)} characters, at most {MAX_LENGTH} are accepted")
    if odd := _ODD.search(text):
        detail = f"character {odd.start() + 1} ({odd[0]!a}) is not an ASCII letter, digit or blank"
        raise _bad("bad_character", detail)
    if _ZONE_PREFIX.match(text.lstrip(" \t").upper()):
        raise _bad("zone_in_cron", "the time zone goes into its own field", '"timezone": "…"')


def _check_count(body: str, parts: list[str], seconds: bool) -> None:
    if not parts:
        raise _bad("empty", "the expression is empty")
    wanted = 6 if seconds else 5
    if len(parts) == wanted:
        return
    detail = f"{len(parts)} fields where {wanted} are expected"
    if not seconds and len(parts) in (6, 7):
        raise _bad(
            "field_count",
            f"{detail}: a further field may be seconds or a year",
            '{"cron": "…", "seconds": true} if the first field is seconds, cron(…) if the last'
            " is a year; else five fields",
        )
    accepted = "second minute hour day-of-month month day-of-week" if seconds else ACCEPTED
    raise _bad("field_count", detail, accepted)


def _bad(code: str, detail: str, accepted: str = ACCEPTED) -> Invalid:
    return Invalid.one("", code, detail, accepted)
