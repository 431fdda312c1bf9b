"""Rows of overlap locks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cronce.adapters.expressions import ABSENT, KNOWN, Put
from cronce.adapters.items import (
    LOCK_SK,
    VERSION,
    instant,
    instant_or_none,
    job_id_of,
    job_pk,
    number,
    present,
    reading,
    text,
    wire,
)
from cronce.adapters.wire import Item
from cronce.domain.identity import RunKey
from cronce.domain.instants import to_wire
from cronce.domain.overlap import Lock
from cronce.domain.record import Sent

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

# Somebody else may have taken it, or joined, since it was read.
AS_READ = f"{KNOWN} AND #uid = :believed_uid AND #version = :believed_version"


def lock_to_item(job_id: str, lock: Lock) -> Item:
    holder = lock.holder
    return present(
        {
            "pk": job_pk(job_id),
            "sk": LOCK_SK,
            "v": VERSION,
            "uid": lock.uid,
            "version": lock.version,
            "scheduled_for": to_wire(holder.scheduled_for) if holder else None,
            "trigger": holder.trigger or None if holder else None,
            "named_at": wire(lock.named_at),
            "waiting": [_short(s) for s in lock.waiting] or None,
        }
    )


def _short(sent: Sent) -> str:
    """Without job and uid, which the row has: a full line stays within 4 KB or so."""
    return sent.to_text().split("|", 2)[2]


@reading
def lock_from_item(item: Mapping[str, object]) -> Lock:
    job_id, uid = job_id_of(item["pk"]), text(item, "uid")
    waiting = item.get("waiting", [])
    if not isinstance(waiting, list):
        raise TypeError("waiting is not a list")
    holder = None
    if "scheduled_for" in item:
        holder = RunKey(job_id, uid, instant(item, "scheduled_for"), text(item, "trigger", ""))
    return Lock(
        uid,
        holder,
        tuple(Sent.from_text(f"{job_id}|{uid}|{short}") for short in waiting),
        number(item, "version"),
        instant_or_none(item, "named_at"),
    )


class LockRows:
    table: Table

    def read_lock(self, job_id: str) -> Lock | None:
        item = self.table.get(job_pk(job_id), LOCK_SK)
        return lock_from_item(item) if item else None

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        item = lock_to_item(job_id, lock)
        if believed is None:
            return self.table.put_own(Put(item, ABSENT))
        values = {
            "v": VERSION,
            "believed_uid": believed.uid,
            "believed_version": believed.version,
        }
        return self.table.put_own(Put(item, AS_READ, values))
