"""Groups with a limit at work: a batch of runs gets its places in time by one conditional write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from cronce.domain.errors import Throttled
from cronce.domain.groups import Group, spread
from cronce.domain.identity import RunKey
from cronce.domain.job import DEFAULT_GROUP
from cronce.domain.record import Sent
from cronce.ports import Random
from cronce.stores import GroupStore

TRIES = 8


class Groups:
    """Each is read once for one tick or one call of the API, and again when somebody else gave its
    places away meanwhile. A group without a limit costs that one read, the default group none."""

    def __init__(self, store: GroupStore, random: Random) -> None:
        self._store, self._random = store, random
        self._found: dict[str, Group | None] = {}

    def hold(self, name: str, runs: Sequence[Sent], now: datetime) -> dict[RunKey, Sent]:
        """The runs that have to wait for their turn, as they are then. Raises Unavailable."""
        if name == DEFAULT_GROUP or not runs:
            return {}
        ordered = sorted(runs, key=lambda s: s.due)
        for _ in range(TRIES):
            group = self._read(name)
            if group is None:
                return {}
            starts, after = spread([s.due for s in ordered], group, now)
            after = replace(after, writer=self._random.token()[:16])
            if self._write(group, after):
                pairs = zip(ordered, starts, strict=True)
                return {s.key: replace(s, held_until=at) for s, at in pairs if at is not None}
        raise Throttled(f"group {name}: in conflict with other dispatchers")

    def _read(self, name: str) -> Group | None:
        if name not in self._found:
            self._found[name] = self._store.read_group(name)
        return self._found[name]

    def _write(self, group: Group, after: Group) -> bool:
        """What is known of it ends with the try, and begins again with its success."""
        del self._found[group.name]
        written = self._store.write_group(group, after)
        if written:
            self._found[group.name] = after
        return written
