"""The store and the queue in memory, held to the same contract suite as those over AWS.

The store keeps rows in the table's own form and moves runs by the functions of the domain. It is
as strict as the table: each call is atomic, what is handed out is a copy, an index may lag.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from cronce import limits
from cronce.adapters.dispatch_items import (
    LONGEST_LEASE,
    PAGE,
    due_item,
    lease_from_item,
    record_from_item,
    record_to_item,
)
from cronce.adapters.items import (
    LEASE_SK,
    VERSION,
    check_version,
    dispatch_pk,
    is_known,
    lease_pk,
    wire_key,
)
from cronce.adapters.wire import Item
from cronce.domain.instants import to_wire
from cronce.domain.record import DispatchRecord
from cronce.ports import Clock, DueItem, Lease
from cronce.testing.memory_calendars import MemoryCalendars
from cronce.testing.memory_jobs import MemoryJobs
from cronce.testing.memory_lists import MemoryLists
from cronce.testing.memory_many import MemoryBackfills, MemoryGroups
from cronce.testing.memory_operate import MemoryOperate
from cronce.testing.memory_queue import MemoryQueue, Received, Waiting
from cronce.testing.memory_rows import Key, MemoryRows
from cronce.testing.memory_runs import MemoryRuns

__all__ = ["MemoryQueue", "MemoryStore", "Received", "Waiting"]


class MemoryStore(
    MemoryJobs,
    MemoryRuns,
    MemoryBackfills,
    MemoryGroups,
    MemoryCalendars,
    MemoryLists,
    MemoryOperate,
):
    """`cronce.ports.Store`. clock: true time, by which an index lags; never what is written."""

    def __init__(self, clock: Clock, *, shards: int = limits.SHARDS, page: int = PAGE) -> None:
        self.rows = MemoryRows(clock)
        self.shards = shards
        self._page = page

    @property
    def lag(self) -> timedelta:
        """How old the picture is that `due` and `read_runs` show; at most a minute."""
        return self.rows.lag

    @lag.setter
    def lag(self, lag: timedelta) -> None:
        self.rows.lag = lag

    def acquire_lease(
        self, slice_: int, owner: str, *, now: datetime, expires_at: datetime, shards: int
    ) -> Lease | None:
        with self.rows.lock:
            found = self.rows.get(lease_pk(slice_), LEASE_SK)
            if found is not None:
                check_version(found)
                ends = str(found["lease_expires_at"])
                held = to_wire(now) < ends <= to_wire(now + LONGEST_LEASE)
                if held and found["owner"] != owner:
                    return None
            old: Item = found or {"pk": lease_pk(slice_), "sk": LEASE_SK, "shards": shards}
            stored = old["shards"]
            assert isinstance(stored, int)
            new: Item = {
                **old,
                "v": VERSION,
                "owner": owner,
                "lease_expires_at": to_wire(expires_at),
                "shards": max(stored, shards),
            }
            self.rows.put(new)
            return lease_from_item(new)

    def note_claimed(self, lease: Lease, claimed_up_to: datetime) -> None:
        at = to_wire(claimed_up_to)
        with self.rows.lock:
            found = self.rows.get(lease_pk(lease.slice), LEASE_SK)
            known = found is not None and is_known(found)
            if found and known and str(found.get("claimed_up_to", "")) < at:
                self.rows.put({**found, "claimed_up_to": at})

    def due(self, shards: Sequence[int], until: datetime) -> Iterator[DueItem]:
        rows = heapq.merge(
            *(self._shard(s, to_wire(until)) for s in shards), key=lambda row: str(row["next_run"])
        )
        return (item for item in map(due_item, rows) if item is not None)

    def _shard(self, shard: int, until: str) -> Iterator[Item]:
        """Page by page, each as the index is when its turn comes."""
        after: tuple[str, Key] | None = None
        while True:
            page = self.rows.indexed(shard, until, after, self._page)
            yield from page
            if len(page) < self._page:
                return
            after = str(page[-1]["next_run"]), wire_key(page[-1])

    def put_record(self, record: DispatchRecord) -> None:
        self.rows.put(record_to_item(record))

    def read_record(self, slice_: int, record_id: str) -> DispatchRecord | None:
        item = self.rows.get(dispatch_pk(slice_), record_id)
        return record_from_item(item) if item else None

    def update_record(self, believed: DispatchRecord, record: DispatchRecord) -> bool:
        if believed.next_run is None:
            return False
        row = record_to_item(record, ended_at=believed.next_run)
        with self.rows.lock:
            found = self.rows.get(dispatch_pk(record.slice), record.record_id)
            if found is None:
                return False
            if found.get("next_run") != to_wire(believed.next_run):
                return found == row
            check_version(found)
            self.rows.put(row)
            return True
