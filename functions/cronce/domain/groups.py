"""How fast the jobs of a group may start.

A group with a limit keeps the starts that it has given away as stretches of time that are busy.
Each run takes the first free place at or after its due time, so runs are spread in the order in
which they come, and a run that comes due earlier than what was dispatched ahead still finds its
place. Whole microseconds throughout.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from cronce import limits
from cronce.domain.errors import Invalid
from cronce.domain.instants import EPOCH

Stretch = tuple[int, int]

MOST_PER_SECOND = 1000
DECIMALS = 3
ACCEPTED = f"a number above 0, at most {MOST_PER_SECOND}, with up to {DECIMALS} decimals"
# More stretches than these are joined where the gap is smallest: the row stays small.
MOST_STRETCHES = 200
_US = timedelta(microseconds=1)
_MS = 1000
# For a clock that is behind, what has passed for this one is still to come.
_CLOCKS = limits.CLOCK_DIFFERENCE * 1_000_000


@dataclass(frozen=True)
class Group:
    """The limit of a group. per_thousand_seconds: starts. busy: (from, to), microseconds since
    1970, in order and apart. version: counts the writes of the row, by users and dispatchers.
    writer: a fresh token of each write, since two may come to the very same places.
    """

    name: str
    per_thousand_seconds: int
    busy: tuple[Stretch, ...] = ()
    version: int = 1
    changed_at: datetime | None = None
    changed_by: str = ""
    writer: str = ""

    @property
    def interval(self) -> int:
        """Microseconds between two starts; rounded up, so that the limit is never exceeded."""
        return -(-1_000_000_000 // self.per_thousand_seconds)

    @property
    def max_starts_per_second(self) -> str:
        """
        >>> [Group("g", n).max_starts_per_second for n in (50_000, 2_500, 1)]
        ['50', '2.5', '0.001']
        """
        return rate_text(self.per_thousand_seconds)


def rate_text(per_thousand_seconds: int) -> str:
    whole, rest = divmod(per_thousand_seconds, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")


def parse_rate(text: str, pointer: str = "/max_starts_per_second") -> int:
    """Starts in a thousand seconds, from a number as it was written. Raises Invalid.

    >>> [parse_rate(text) for text in ("50", "0.5", "1e2")]
    [50000, 500, 100000]
    """
    try:
        rate = Decimal(text)
        if rate.is_finite() and 0 < rate <= MOST_PER_SECOND:
            thousands = rate.scaleb(DECIMALS)
            if thousands == int(thousands):
                return int(thousands)
    except (InvalidOperation, ValueError, OverflowError):
        pass
    raise Invalid.one(pointer, "out_of_range", f"{text[:40]!r} is not accepted", ACCEPTED)


def spread(
    dues: Sequence[datetime], group: Group, now: datetime
) -> tuple[list[datetime | None], Group]:
    """When each run may start, and the group that remembers it.

    dues: oldest first; one that has passed counts as now. None: at its due time (or at once), as
    without a limit. What is given out is rounded up to whole milliseconds.
    """
    here = (now - EPOCH) // _US
    busy = [list(s) for s in group.busy if s[1] > here - _CLOCKS]
    starts: list[datetime | None] = []
    for due in dues:
        wanted = max((due - EPOCH) // _US, here)
        start = _take(busy, wanted, group.interval)
        starts.append(None if start == wanted else _instant(-(-start // _MS) * _MS))
    while len(busy) > MOST_STRETCHES:
        _join_the_nearest(busy)
    kept = tuple((first, last) for first, last in busy)
    return starts, replace(group, busy=kept, version=group.version + 1)


def _take(busy: list[list[int]], wanted: int, length: int) -> int:
    """The first free place of this length at or after `wanted`, from now on busy."""
    n = bisect_right(busy, wanted, key=lambda stretch: stretch[1])
    start = wanted
    while n < len(busy) and busy[n][0] < start + length:
        start = max(start, busy[n][1])
        n += 1
    end = start + length
    if n and busy[n - 1][1] == start:
        busy[n - 1][1] = end
        n -= 1
    else:
        busy.insert(n, [start, end])
    if n + 1 < len(busy) and busy[n + 1][0] == end:
        busy[n][1] = busy.pop(n + 1)[1]
    return start


def _join_the_nearest(busy: list[list[int]]) -> None:
    n = min(range(len(busy) - 1), key=lambda n: busy[n + 1][0] - busy[n][1])
    busy[n][1] = busy.pop(n + 1)[1]


def _instant(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
