"""The one duration type: whole seconds, however they were written."""

from __future__ import annotations

import re

from cronce.domain.errors import Invalid

ACCEPTED = "whole seconds, 90s, 15m, 2h, 1d, or ISO 8601 (PT15M, P1D)"

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORT = re.compile(r"(\d{1,10})([smhd])", re.ASCII)
_ISO = re.compile(
    r"P(?:(\d{1,7})W|(?:(\d{1,7})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,9})M)?(?:(\d{1,10})S)?)?)", re.ASCII
)


def parse_duration(value: object, *, pointer: str, low: int, high: int) -> int:
    """Seconds, between `low` and `high` inclusive. Raises Invalid naming `pointer`.

    >>> [parse_duration(v, pointer="", low=0, high=10**6) for v in (90, "15m", "P1D", "PT1M30S")]
    [90, 900, 86400, 90]
    """
    n = _seconds(value)
    if n is None:
        raise Invalid.one(pointer, "bad_duration", f"{_shown(value)} is not a duration", ACCEPTED)
    if not low <= n <= high:
        raise Invalid.one(
            pointer,
            "out_of_range",
            f"{_shown(value)} is outside {low}..{high} seconds",
            f"{low} to {high} seconds, as {ACCEPTED}",
        )
    return n


def _seconds(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    if short := _SHORT.fullmatch(value):
        return int(short[1]) * _UNITS[short[2]]
    iso = _ISO.fullmatch(value)
    if iso is None or not any(iso.groups()) or value.endswith("T"):
        return None
    weeks, days, hours, minutes, secs = (int(g or 0) for g in iso.groups())
    return ((weeks * 7 + days) * 24 + hours) * 3600 + minutes * 60 + secs


def format_duration(n: int) -> str:
    """Shortest exact form: `90s`, `15m`, `2h`, `1d`.

    >>> [format_duration(n) for n in (0, 90, 900, 7200, 86400)]
    ['0s', '90s', '15m', '2h', '1d']
    """
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if n and n % size == 0:
            return f"{n // size}{unit}"
    return f"{n}s"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
