"""Rows, and what an index that lags shows of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

from cronce.adapters.items import wire_key
from cronce.adapters.wire import Item
from cronce.ports import Clock

Key = tuple[str, str]
# How long a row's past is kept: an index lags by less.
LONGEST_LAG = timedelta(seconds=60)


class MemoryRows:
    """Items by key. lag: how old the eventually consistent picture is; may be changed at any time.

    Nothing handed in or out is shared. Every method is one atomic step under `lock`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lock = threading.RLock()
        self.lag = timedelta(0)
        self._rows: dict[Key, Item] = {}
        self._past: dict[Key, list[tuple[datetime, Item | None]]] = {}

    def now(self) -> datetime:
        return self._clock.now()

    def get(self, pk: str, sk: str) -> Item | None:
        with self.lock:
            item = self._rows.get((pk, sk))
            return None if item is None else copied(item)

    def put(self, item: Item) -> None:
        with self.lock:
            key = wire_key(item)
            self._rows[key] = copied(item)
            self._remember(key)

    def delete(self, pk: str, sk: str) -> None:
        with self.lock:
            if self._rows.pop((pk, sk), None) is not None:
                self._remember((pk, sk))

    def between(self, pk: str, first: str, last: str) -> list[Item]:
        """Of one partition, by sort key, both ends included."""
        with self.lock:
            keys = sorted(k for k in self._rows if k[0] == pk and first <= k[1] <= last)
            return [copied(self._rows[k]) for k in keys]

    def all(self) -> list[Item]:
        with self.lock:
            return [copied(self._rows[k]) for k in sorted(self._rows)]

    def seen(self, pk: str, sk: str) -> Item | None:
        """Eventually consistent."""
        with self.lock:
            item = self._as_seen((pk, sk))
            return None if item is None else copied(item)

    def indexed(
        self, shard: int, until: str, after: tuple[str, Key] | None, most: int
    ) -> list[Item]:
        """A page of the `next_run` index, eventually consistent, by next_run and key."""
        with self.lock:
            rows = []
            for key, item in self._all_as_seen():
                at = item.get("next_run")
                if item.get("shard") != shard or not isinstance(at, str) or at > until:
                    continue
                if after is None or (at, key) > after:
                    rows.append(((at, key), item))
            rows.sort(key=lambda row: row[0])
            return [copied(item) for _, item in rows[:most]]

    def _all_as_seen(self) -> Iterator[tuple[Key, Item]]:
        if not self.lag:
            yield from self._rows.items()
            return
        for key in self._past:
            item = self._as_seen(key)
            if item is not None:
                yield key, item

    def _as_seen(self, key: Key) -> Item | None:
        if not self.lag:
            return self._rows.get(key)
        at = self._clock.now() - self.lag
        seen = None
        for since, item in self._past.get(key, ()):
            if since > at:
                break
            seen = item
        return seen

    def _remember(self, key: Key) -> None:
        now = self._clock.now()
        past = self._past.setdefault(key, [])
        past.append((now, self._rows.get(key)))
        while len(past) > 1 and past[1][0] <= now - LONGEST_LAG:
            past.pop(0)


def copied(item: Item) -> Item:
    return {name: _copied(value) for name, value in item.items()}


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return copied(value)
    if isinstance(value, list):
        return [_copied(inner) for inner in value]
    return value
