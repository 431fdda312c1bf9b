"""The dispatcher's rows: its lease, the index of what is due, and its records."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from cronce.adapters.dispatch_items import (
    LONGEST_LEASE,
    PAGE,
    due_item,
    lease_from_item,
    record_from_item,
    record_to_item,
)
from cronce.adapters.expressions import KNOWN, Put, Refusal, Update
from cronce.adapters.items import LEASE_SK, VERSION, dispatch_pk, lease_pk
from cronce.adapters.layout import NEXT_RUN
from cronce.adapters.wire import Item
from cronce.domain.instants import to_wire
from cronce.domain.record import DispatchRecord
from cronce.ports import DueItem, Lease

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

# `lease_expires_at`, not the attribute that the table's expiry looks at: a lease never goes away.
VACANT: Final = (
    "attribute_not_exists(#pk) OR (#v <= :v AND"
    " (#lease_expires_at <= :now OR #lease_expires_at > :longest OR #owner = :owner))"
)
# The number of shards only grows: a smaller deployment must not leave shards behind unread.
GROWN: Final = "(attribute_not_exists(#shards) OR #shards >= :shards)"


class DispatchRows:
    table: Table
    page: int = PAGE

    def acquire_lease(
        self, slice_: int, owner: str, *, now: datetime, expires_at: datetime, shards: int
    ) -> Lease | None:
        changes = {"v": VERSION, "owner": owner, "lease_expires_at": to_wire(expires_at)}
        values = {
            "v": VERSION,
            "now": to_wire(now),
            "longest": to_wire(now + LONGEST_LEASE),
            "owner": owner,
            "shards": shards,
        }
        keep = {"shards": "if_not_exists(#shards, :shards)"}
        key = lease_pk(slice_), LEASE_SK
        answer = self.table.update(Update(*key, changes, f"({VACANT}) AND {GROWN}", values, keep))
        if isinstance(answer, Refusal) and _fewer(answer.found, shards):
            growing = {**changes, "shards": shards}
            answer = self.table.update(
                Update(*key, growing, f"({VACANT}) AND #shards < :shards", values)
            )
        return None if isinstance(answer, Refusal) else lease_from_item(answer)

    def note_claimed(self, lease: Lease, claimed_up_to: datetime) -> None:
        at = to_wire(claimed_up_to)
        later = "attribute_not_exists(#claimed_up_to) OR #claimed_up_to < :at"
        self.table.update(
            Update(
                lease_pk(lease.slice),
                LEASE_SK,
                {"claimed_up_to": at},
                f"{KNOWN} AND ({later})",
                {"v": VERSION, "at": at},
            )
        )

    def due(self, shards: Sequence[int], until: datetime) -> Iterator[DueItem]:
        rows = heapq.merge(*(self._shard(s, until) for s in shards), key=_next_run)
        return (item for item in map(due_item, rows) if item is not None)

    def _shard(self, shard: int, until: datetime) -> Iterator[Item]:
        pages = self.table.pages(
            "#shard = :shard AND #next_run <= :until",
            {"shard": shard, "until": to_wire(until)},
            index=NEXT_RUN,
            limit=self.page,
        )
        for page in pages:
            yield from page

    def put_record(self, record: DispatchRecord) -> None:
        self.table.put(Put(record_to_item(record)))

    def read_record(self, slice_: int, record_id: str) -> DispatchRecord | None:
        item = self.table.get(dispatch_pk(slice_), record_id)
        return record_from_item(item) if item else None

    def update_record(self, believed: DispatchRecord, record: DispatchRecord) -> bool:
        if believed.next_run is None:
            return False
        row = record_to_item(record, ended_at=believed.next_run)
        at = to_wire(believed.next_run)
        return self.table.put_own(Put(row, f"{KNOWN} AND #next_run = :t", {"v": VERSION, "t": at}))


def _next_run(row: Item) -> str:
    return str(row["next_run"])


def _fewer(found: Item | None, shards: int) -> bool:
    stored = found.get("shards") if found else None
    return isinstance(stored, int) and stored < shards
