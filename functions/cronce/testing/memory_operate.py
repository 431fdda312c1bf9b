"""What operators read, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cronce.adapters.dynamodb_operate import (
    missed_days,
    readable_missed,
    readable_record,
    readable_tick,
)
from cronce.adapters.items import LAST, LEASE_SK, MISSED_PREFIX, dispatch_pk, job_pk, lease_pk
from cronce.domain.instants import to_wire
from cronce.domain.record import DispatchRecord
from cronce.operate.port import MissedSeen, TickSeen
from cronce.testing.memory_rows import MemoryRows


class MemoryOperate:
    rows: MemoryRows

    def read_tick(self, slice_: int) -> TickSeen | None:
        item = self.rows.get(lease_pk(slice_), LEASE_SK)
        return readable_tick(slice_, item) if item else None

    def records(
        self, slice_: int, earliest: datetime, latest: datetime, *, latest_first: bool
    ) -> Iterator[DispatchRecord]:
        first, last = to_wire(earliest), to_wire(latest) + LAST
        rows = self.rows.between(dispatch_pk(slice_), first, last)
        yield from filter(None, map(readable_record, reversed(rows) if latest_first else rows))

    def missed_of(self, job_id: str) -> Iterator[MissedSeen]:
        rows = self.rows.between(job_pk(job_id), MISSED_PREFIX, MISSED_PREFIX + LAST)
        yield from filter(None, map(readable_missed, reversed(rows)))

    def missed_between(self, earliest: datetime, latest: datetime) -> Iterator[MissedSeen]:
        days = missed_days(earliest, latest)
        first, last = to_wire(earliest), to_wire(latest)
        rows = [r for r in self.rows.all() if r.get("day") in days]
        rows = [r for r in rows if first <= str(r["finished_at"]) <= last]
        rows.sort(key=lambda r: (str(r["finished_at"]), str(r["pk"]), str(r["sk"])), reverse=True)
        yield from filter(None, map(readable_missed, rows))
