"""Rows of backfills."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

from cronce import limits
from cronce.adapters.expressions import ABSENT, KNOWN, Put
from cronce.adapters.items import (
    BACKFILL_PREFIX,
    VERSION,
    backfill_sk,
    instant,
    instant_or_none,
    job_id_of,
    job_pk,
    number,
    present,
    readable,
    reading,
    text,
    wire,
)
from cronce.adapters.list_cursors import after_name, read_after_name
from cronce.adapters.wire import Item
from cronce.domain.backfill import BACKFILL_STATUSES, Backfill, BackfillStatus
from cronce.domain.instants import epoch_seconds, to_wire
from cronce.domain.overlap import OVERLAPS
from cronce.ports import Page

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

# Nobody has moved it on, or cancelled it, since it was read.
AS_READ: Final = f"{KNOWN} AND #uid = :uid AND #version = :believed_version"
LISTING: Final = "backfills"


def backfill_to_item(b: Backfill) -> Item:
    expires_at = None
    if b.finished_at is not None:
        expires_at = epoch_seconds(b.finished_at + timedelta(seconds=limits.HISTORY_DEFAULT))
    return present(
        {
            "pk": job_pk(b.job_id),
            "sk": backfill_sk(b.id),
            "v": VERSION,
            "uid": b.uid,
            "first": to_wire(b.first),
            "before": to_wire(b.before),
            "pace": b.pace,
            "total": b.total,
            "shard": b.shard,
            "created_at": to_wire(b.created_at),
            "created_by": b.created_by or None,
            "overlap": b.overlap,
            "status": b.status,
            "done_up_to": wire(b.done_up_to),
            "started": b.started or None,
            "existing": b.existing or None,
            "version": b.version,
            "next_run": wire(b.next_run),
            "reason": b.reason or None,
            "ended_at": wire(b.finished_at),
            "expires_at": expires_at,
        }
    )


@reading
def backfill_from_item(item: Mapping[str, object]) -> Backfill:
    status, overlap = item["status"], item.get("overlap")
    if status not in BACKFILL_STATUSES:
        raise ValueError("unknown status")
    if overlap is not None and overlap not in OVERLAPS:
        raise ValueError("unknown overlap policy")
    return Backfill(
        job_id=job_id_of(item["pk"]),
        id=text(item, "sk").removeprefix(BACKFILL_PREFIX),
        uid=text(item, "uid"),
        first=instant(item, "first"),
        before=instant(item, "before"),
        pace=number(item, "pace"),
        total=number(item, "total"),
        shard=number(item, "shard"),
        created_at=instant(item, "created_at"),
        created_by=text(item, "created_by", ""),
        overlap=overlap,
        status=cast(BackfillStatus, status),
        done_up_to=instant_or_none(item, "done_up_to"),
        started=number(item, "started", 0),
        existing=number(item, "existing", 0),
        version=number(item, "version"),
        next_run=instant_or_none(item, "next_run"),
        reason=text(item, "reason", ""),
        finished_at=instant_or_none(item, "ended_at"),
    )


readable_backfill = readable(backfill_from_item)


def after_backfill(b: Backfill) -> str:
    return after_name(LISTING, b.job_id, b.id)


def read_after_backfill(cursor: str, job_id: str) -> str:
    """The sort key to go on after. Raises Invalid."""
    return backfill_sk(read_after_name(cursor, LISTING, job_id))


class BackfillRows:
    table: Table

    def read_backfill(self, job_id: str, backfill_id: str) -> Backfill | None:
        item = self.table.get(job_pk(job_id), backfill_sk(backfill_id))
        return backfill_from_item(item) if item else None

    def create_backfill(self, backfill: Backfill) -> Backfill | None:
        item = backfill_to_item(backfill)
        refused = self.table.put(Put(item, ABSENT))
        if refused is None or refused.found == item:
            return None
        return backfill_from_item(refused.found) if refused.found else None

    def update_backfill(self, believed: Backfill, backfill: Backfill) -> bool:
        item = backfill_to_item(backfill)
        values = {"v": VERSION, "uid": believed.uid, "believed_version": believed.version}
        return self.table.put_own(Put(item, AS_READ, values))

    def list_backfills(self, job_id: str, *, limit: int, cursor: str | None = None) -> Page:
        after = None if cursor is None else (job_pk(job_id), read_after_backfill(cursor, job_id))
        pages = self.table.pages(
            "#pk = :pk AND begins_with(#sk, :prefix)",
            {"pk": job_pk(job_id), "prefix": BACKFILL_PREFIX},
            consistent=True,
            after=after,
            limit=limit + 1,
        )
        found: list[Backfill] = []
        for page in pages:
            found += [b for b in map(readable_backfill, page) if b is not None]
            if len(found) > limit:
                return Page(tuple(found[:limit]), after_backfill(found[limit - 1]))
        return Page(tuple(found), None)
