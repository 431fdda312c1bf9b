"""Backfills, groups, and jobs that go away by themselves, in memory."""

from __future__ import annotations

from cronce.adapters.backfills import (
    after_backfill,
    backfill_from_item,
    backfill_to_item,
    read_after_backfill,
    readable_backfill,
)
from cronce.adapters.groups import (
    GROUP_SK,
    after_group,
    group_from_item,
    group_pk,
    group_to_item,
    read_after_group,
    readable_group,
)
from cronce.adapters.items import (
    BACKFILL_PREFIX,
    LAST,
    backfill_sk,
    is_known,
    job_pk,
)
from cronce.domain.backfill import Backfill
from cronce.domain.groups import Group
from cronce.ports import Page
from cronce.testing.memory_rows import MemoryRows


class MemoryBackfills:
    rows: MemoryRows

    def read_backfill(self, job_id: str, backfill_id: str) -> Backfill | None:
        item = self.rows.get(job_pk(job_id), backfill_sk(backfill_id))
        return backfill_from_item(item) if item else None

    def create_backfill(self, backfill: Backfill) -> Backfill | None:
        item = backfill_to_item(backfill)
        with self.rows.lock:
            found = self.rows.get(job_pk(backfill.job_id), backfill_sk(backfill.id))
            if found is None:
                self.rows.put(item)
            return None if found in (None, item) else backfill_from_item(found or {})

    def update_backfill(self, believed: Backfill, backfill: Backfill) -> bool:
        item = backfill_to_item(backfill)
        with self.rows.lock:
            found = self.rows.get(job_pk(believed.job_id), backfill_sk(believed.id))
            if found is None or not is_known(found):
                return False
            if (found["uid"], found["version"]) != (believed.uid, believed.version):
                return found == item
            self.rows.put(item)
            return True

    def list_backfills(self, job_id: str, *, limit: int, cursor: str | None = None) -> Page:
        after = "" if cursor is None else read_after_backfill(cursor, job_id)
        rows = self.rows.between(job_pk(job_id), BACKFILL_PREFIX, BACKFILL_PREFIX + LAST)
        read = [readable_backfill(row) for row in rows if str(row["sk"]) > after]
        found = [b for b in read if b is not None]
        more = after_backfill(found[limit - 1]) if len(found) > limit else None
        return Page(tuple(found[:limit]), more)


class MemoryGroups:
    rows: MemoryRows

    def read_group(self, name: str) -> Group | None:
        item = self.rows.get(group_pk(name), GROUP_SK)
        return group_from_item(item) if item else None

    def write_group(self, believed: Group | None, group: Group) -> bool:
        item = group_to_item(group)
        with self.rows.lock:
            found = self.rows.get(group_pk(group.name), GROUP_SK)
            expected = None if believed is None else believed.version
            if (None if found is None else found["version"]) != expected:
                return found == item
            if found is not None and not is_known(found):
                return False
            self.rows.put(item)
            return True

    def delete_group(self, believed: Group) -> bool:
        with self.rows.lock:
            found = self.rows.get(group_pk(believed.name), GROUP_SK)
            if found is not None and (found["version"] != believed.version or not is_known(found)):
                return False
            self.rows.delete(group_pk(believed.name), GROUP_SK)
            return True

    def list_groups(self, *, limit: int, cursor: str | None = None) -> Page:
        after = "" if cursor is None else read_after_group(cursor)
        rows = [r for r in self.rows.all() if r["sk"] == GROUP_SK and str(r["job_id"]) > after]
        rows.sort(key=lambda row: str(row["job_id"]))
        read = [readable_group(row) for row in rows[:limit]]
        more = after_group(str(rows[limit - 1]["job_id"])) if len(rows) >= limit else None
        return Page(tuple(g for g in read if g is not None), more)
