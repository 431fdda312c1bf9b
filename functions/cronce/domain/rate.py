"""Rates: elapsed time from an anchor, no zone and no daylight saving."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cronce import limits
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Invalid

MAX_RATE = 3_650 * 86_400
ACCEPTED = "rate(5 minutes), rate(1 hour), or a duration: 300, 90s, 15m, 2h, 1d, PT15M"

_AWS = re.compile(r"rate\( *(\S{1,20}) +(\S{1,20}) *\)", re.ASCII)
_WORDS = re.compile(r"(\d{1,9}) ([a-z]+)", re.ASCII)
_UNITS = {"minute": 60, "hour": 3600, "day": 86_400}
_AWS_UNITS = "minute, minutes, hour, hours, day, days"


@dataclass(frozen=True)
class Rate:
    """anchor + n * period for n >= 0, in whole seconds since 1970."""

    anchor: int
    period: int

    def at_or_after(self, instant: int) -> int | None:
        """
        >>> Rate(100, 60).at_or_after(161)
        220
        """
        return self.anchor + max(0, -((self.anchor - instant) // self.period)) * self.period

    def at_or_before(self, instant: int, floor: int) -> int | None:
        if instant < self.anchor:
            return None
        found = instant - (instant - self.anchor) % self.period
        return found if found >= floor else None

    def count(self, low: int, high: int) -> int:
        """How many are in [low, high)."""
        return max(0, self._before(high) - self._before(low))

    def _before(self, instant: int) -> int:
        return max(0, -((self.anchor - instant) // self.period))

    def note(self, instant: int) -> str | None:
        return None


def parse_rate(value: object, pointer: str) -> int:
    """Seconds. `rate(…)` is read as EventBridge reads it: its units, its singular and plural."""
    if isinstance(value, str):
        text = value.strip(" ")
        if text.startswith("rate("):
            written = _AWS.fullmatch(text)
            if written is None:
                raise _bad(pointer, "rate(…) is not closed or not a number and a unit")
            return _in_range(_words(written[1], written[2], pointer), pointer)
        if words := _WORDS.fullmatch(text):
            return _in_range(_words(words[1], words[2], pointer), pointer)
    return parse_duration(value, pointer=pointer, low=limits.RATE_MIN, high=MAX_RATE)


_OWN_FORM = '{"rate": "20s"} for any other period'


def _words(number: str, unit: str, pointer: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", number):
        raise _bad(pointer, f"{number!r} is not a positive whole number")
    n = int(number)
    singular = unit.removesuffix("s")
    if singular not in _UNITS or unit not in (singular, singular + "s"):
        raise _bad(pointer, f"{unit!r} is not a unit", f"one of {_AWS_UNITS}, or {_OWN_FORM}")
    if n < 1:
        raise _bad(pointer, "a rate is at least 1")
    wanted = singular if n == 1 else singular + "s"
    if unit != wanted:
        raise _bad(pointer, f"{n} takes the unit {wanted!r}", f"{n} {wanted}")
    return n * _UNITS[singular]


def _in_range(n: int, pointer: str) -> int:
    return parse_duration(n, pointer=pointer, low=limits.RATE_MIN, high=MAX_RATE)


def _bad(pointer: str, detail: str, accepted: str = ACCEPTED) -> Invalid:
    return Invalid.one(pointer, "bad_rate", detail, accepted)
