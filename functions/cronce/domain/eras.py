"""A zone as eras: stretches of time during which its offset from UTC does not change.

Within an era the wall clock and UTC run side by side, so all the difficulty of daylight saving
sits at the borders: a border where the offset grows skips wall times (a gap), one where it shrinks
repeats them (an overlap). All instants are whole seconds since 1970.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from cronce.domain.instants import EPOCH
from cronce.domain.zones import load_zone

DAY = 86_400
# Eras end at multiples of this too, so that a zone without transitions needs no special case and
# only the years that are asked for are ever looked at.
_SPAN = 400 * DAY


class Era(NamedTuple):
    """[start, end) in UTC; `before` and `after`: the offsets on the other side of its borders."""

    start: int
    end: int
    offset: int
    before: int
    after: int


class Eras:
    """The eras of one zone, found on demand and kept."""

    def __init__(self, zone: str) -> None:
        self._zone = load_zone(zone)
        self._spans: dict[int, tuple[Era, ...]] = {}

    def at(self, instant: int) -> Era:
        span = instant // _SPAN
        eras = self._spans.get(span) or self._look_at(span)
        for era in eras:
            if instant < era.end:
                return era
        raise AssertionError("an instant lies in the eras of its span")

    def offset(self, instant: int) -> int:
        """Seconds east of UTC."""
        there = (EPOCH + timedelta(seconds=instant)).astimezone(self._zone).utcoffset()
        return there.days * DAY + there.seconds if there is not None else 0

    def _look_at(self, span: int) -> tuple[Era, ...]:
        start, end = span * _SPAN, (span + 1) * _SPAN
        borders = [start]
        # No zone has changed its offset twice within a day since 1970; a test reads the data.
        at, offset = start, self.offset(start)
        for day in range(start + DAY, end + 1, DAY):
            there = self.offset(day)
            if there != offset:
                border = self._border(at, day, offset)
                if border < end:
                    borders.append(border)
            at, offset = day, there
        borders.append(end)
        found = tuple(
            Era(a, b, self.offset(a), self.offset(a - 1), self.offset(b))
            for a, b in pairwise(borders)
        )
        if len(self._spans) > 400:
            self._spans.clear()
        self._spans[span] = found
        return found

    def _border(self, low: int, high: int, offset: int) -> int:
        """The first second after `low` whose offset is not `offset`; `high` is such a second."""
        while high - low > 1:
            middle = (low + high) // 2
            if self.offset(middle) == offset:
                low = middle
            else:
                high = middle
        return high


@lru_cache(maxsize=700)
def eras_of(zone: str) -> Eras:
    """Raises Unplannable for a key that is not in the bundled data."""
    return Eras(zone)
