"""Instants as users write them: with an offset, or as a local time of a zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.domain.days import FIRST_YEAR, LAST_YEAR
from cronce.domain.eras import DAY, eras_of
from cronce.domain.errors import Invalid
from cronce.domain.instants import EPOCH
from cronce.domain.wall_clock import Gap, Overlap

ACCEPTED = "2026-12-24T18:00:00Z, 2026-12-24T18:00:00+01:00, or a local time with `timezone`"

_WRITTEN = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)


@dataclass(frozen=True)
class Written:
    """A local time or, when `offset` is given, an instant. wall: seconds since 1970 as shown."""

    wall: int
    offset: int | None

    @property
    def text(self) -> str:
        """The canonical form, whole seconds."""
        shown = f"{EPOCH + timedelta(seconds=self.wall):%Y-%m-%dT%H:%M:%S}"
        if self.offset is None:
            return shown
        if not self.offset:
            return shown + "Z"
        minutes = abs(self.offset) // 60
        return f"{shown}{'-' if self.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def read_time(value: object, pointer: str) -> Written:
    """Raises Invalid for anything that is not a date and time of the calendar, in whole seconds."""
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise Invalid.one(pointer, "bad_time", f"{_shown(value)} is not a date and time", ACCEPTED)
    minutes, seconds, fraction, offset = match.groups()
    if fraction and int(fraction):
        detail = "fractions of a second are not supported"
        raise Invalid.one(pointer, "bad_time", detail, "whole seconds")
    try:
        shown = datetime.fromisoformat(f"{minutes}:{seconds or '00'}+00:00")
        east = datetime.fromisoformat(f"2000-01-01T00:00{offset or 'Z'}").utcoffset()
    except ValueError:
        detail = f"{_shown(value)} is not on the calendar or the clock"
        raise Invalid.one(pointer, "bad_time", detail, ACCEPTED) from None
    if not FIRST_YEAR < shown.year < LAST_YEAR:
        detail = f"the year {shown.year} is out of range"
        raise Invalid.one(pointer, "out_of_range", detail, f"{FIRST_YEAR + 1} to {LAST_YEAR - 1}")
    wall = (shown - EPOCH) // timedelta(seconds=1)
    return Written(wall, None if not offset or east is None else east // timedelta(seconds=1))


def instant_of(wall: int, zone: str, gap: Gap = "next", overlap: Overlap = "first") -> int | None:
    """The instant at which the clocks of the zone show `wall`; None if they never do and
    `gap` is skip. A missing time is the first instant after the gap, a repeated one the pass
    that `overlap` names."""
    era = eras_of(zone).at(wall - DAY)
    passes = []
    while era.start - DAY <= wall:
        if era.start + era.offset <= wall < era.end + era.offset:
            passes.append(wall - era.offset)
        elif era.start + era.before <= wall < era.start + era.offset and gap == "next":
            return era.start
        era = eras_of(zone).at(era.end)
    if not passes:
        return None
    return passes[-1] if overlap == "second" else passes[0]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
