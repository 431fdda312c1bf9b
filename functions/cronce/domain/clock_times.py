"""The times of day that a cron expression names, as three small tables."""

from __future__ import annotations

from collections.abc import Iterable

_Table = tuple[int, ...]


class ClockTimes:
    """Every combination of the hours, minutes and seconds given, as seconds since midnight."""

    __slots__ = ("_down", "_fewer", "_sizes", "_up", "first", "last", "size")

    def __init__(self, hours: Iterable[int], minutes: Iterable[int], seconds: Iterable[int]):
        fields = [sorted(set(f)) for f in (hours, minutes, seconds)]
        limits = (24, 60, 60)
        self._up = tuple(_up(set(f), n) for f, n in zip(fields, limits, strict=True))
        self._down = tuple(_down(set(f), n) for f, n in zip(fields, limits, strict=True))
        self._fewer = tuple(_fewer(set(f), n) for f, n in zip(fields, limits, strict=True))
        self._sizes = tuple(len(f) for f in fields)
        self.first = fields[0][0] * 3600 + fields[1][0] * 60 + fields[2][0]
        self.last = fields[0][-1] * 3600 + fields[1][-1] * 60 + fields[2][-1]
        self.size = len(fields[0]) * len(fields[1]) * len(fields[2])

    def at_or_after(self, time: int) -> int:
        """The first of them not before `time`, or -1."""
        return self._search(time, self._up, 1, self.first)

    def at_or_before(self, time: int) -> int:
        """The last of them not after `time`, or -1."""
        return self._search(time, self._down, -1, self.last)

    def before(self, time: int) -> int:
        """How many of them are earlier than `time` (0 to 86,400)."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        hours, minutes, seconds = self._fewer
        _, per_hour, per_minute = self._sizes
        total = hours[hour] * per_hour * per_minute
        if hour < 24 and hours[hour + 1] > hours[hour]:
            total += minutes[minute] * per_minute
            if minutes[minute + 1] > minutes[minute]:
                total += seconds[second]
        return total

    def _search(self, time: int, tables: tuple[_Table, ...], step: int, edge: int) -> int:
        hours, minutes, seconds = tables
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        edge_minute = edge % 3600
        found = hours[hour]
        if found == hour:
            m = minutes[minute]
            if m == minute:
                s = seconds[second]
                if s >= 0:
                    return hour * 3600 + minute * 60 + s
                m = minutes[minute + step]
            if m >= 0:
                return hour * 3600 + m * 60 + edge % 60
            found = hours[hour + step]
        return found * 3600 + edge_minute if found >= 0 else -1


# Each table has one more entry (-1 at both ends), so that a neighbour can be looked up unchecked:
# index `limit` is "past the end", index -1 is the same entry.
def _up(values: set[int], limit: int) -> _Table:
    table = [-1] * (limit + 1)
    nearest = -1
    for n in range(limit - 1, -1, -1):
        if n in values:
            nearest = n
        table[n] = nearest
    return tuple(table)


def _down(values: set[int], limit: int) -> _Table:
    table = [-1] * (limit + 1)
    nearest = -1
    for n in range(limit):
        if n in values:
            nearest = n
        table[n] = nearest
    return tuple(table)


def _fewer(values: set[int], limit: int) -> _Table:
    table = [0] * (limit + 2)
    for n in range(limit + 1):
        table[n + 1] = table[n] + (n in values)
    return tuple(table)
