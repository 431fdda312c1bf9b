"""Rows of overlap locks."""

from __future__ import annotations

from collections.abc import Mapping

from cronce.adapters.dynamodb_table import Put, Table
from cronce.adapters.items import LOCK_SK, VERSION, instant, job_pk, number, present, reading, text
from cronce.adapters.wire import Item
from cronce.domain.identity import RunKey
from cronce.domain.instants import to_wire
from cronce.domain.overlap import Lock
from cronce.domain.record import Sent

# Somebody else may have taken it, or joined, since it was read.
AS_READ = "#v <= :v AND #uid = :believed_uid AND #version = :believed_version"
ABSENT = "attribute_not_exists(#pk)"


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
            "waiting": [s.to_text() for s in lock.waiting] or None,
        }
    )


@reading
def lock_from_item(item: Mapping[str, object]) -> Lock:
    uid, waiting = text(item, "uid"), item.get("waiting", [])
    if not isinstance(waiting, list):
        raise TypeError("waiting is not a list")
    holder = None
    if "scheduled_for" in item:
        job_id = text(item, "pk").removeprefix(job_pk(""))
        holder = RunKey(job_id, uid, instant(item, "scheduled_for"), text(item, "trigger", ""))
    return Lock(uid, holder, tuple(map(Sent.from_text, waiting)), number(item, "version"))


class LockRows:
    table: Table

    def read_lock(self, job_id: str) -> Lock | None:
        item = self.table.get(job_pk(job_id), LOCK_SK)
        return lock_from_item(item) if item else None

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        item = lock_to_item(job_id, lock)
        if believed is None:
            refused = self.table.put(Put(item, ABSENT))
        else:
            values = {
                "v": VERSION,
                "believed_uid": believed.uid,
                "believed_version": believed.version,
            }
            refused = self.table.put(Put(item, AS_READ, values))
        # Our own row found: the first try succeeded, and only its answer was lost.
        return refused is None or refused.found == item
