"""Listings in memory: the cursors and the order of the table's."""

from __future__ import annotations

from datetime import datetime

from cronce.adapters.dynamodb_lists import readable_job
from cronce.adapters.items import JOB_SK, RUN_PREFIX
from cronce.adapters.list_cursors import (
    after_job,
    after_run,
    read_after_job,
    read_attention_cursor,
)
from cronce.adapters.run_items import readable_run
from cronce.adapters.wire import Item
from cronce.domain.instants import to_wire
from cronce.domain.job import JobStatus
from cronce.domain.run import RunStatus
from cronce.ports import Page
from cronce.testing.memory_rows import MemoryRows


class MemoryLists:
    rows: MemoryRows

    def list_jobs(
        self,
        *,
        group: str | None = None,
        status: JobStatus | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page:
        after = _place(read_after_job(cursor, group)) if cursor else ("", "")
        rows = [r for r in self.rows.all() if r["sk"] == JOB_SK and group in (None, r["group"])]
        rows = sorted((r for r in rows if _place(r) > after), key=_place)
        read = [(row, readable_job(row)) for row in rows]
        now = self.rows.now()
        there = [(row, job) for row, job in read if job and not job.is_gone(now)]
        found = [(row, job) for row, job in there if status in (None, job.status)]
        more = after_job(found[limit - 1][0], group) if len(found) > limit else None
        return Page(tuple(job for _, job in found[:limit]), more)

    def list_attention(
        self,
        *,
        earliest: datetime,
        latest: datetime,
        status: RunStatus | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page:
        first, last = to_wire(earliest), to_wire(latest)
        after, day = read_attention_cursor(cursor, last) if cursor else (None, last[:10])
        rows = [r for r in self.rows.all() if "day" in r and str(r["sk"]).startswith(RUN_PREFIX)]
        rows = [r for r in rows if status in (None, r["status"])]
        rows = [r for r in rows if first <= str(r["finished_at"]) <= last]
        rows = [r for r in rows if str(r["day"]) <= day and (not after or _end(r) < _end(after))]
        rows.sort(key=_end, reverse=True)
        found = [(row, run) for row, run in ((r, readable_run(r)) for r in rows) if run]
        more = after_run(found[limit - 1][0]) if len(found) > limit else None
        return Page(tuple(run for _, run in found[:limit]), more)


def _place(row: Item) -> tuple[str, str]:
    return str(row["group"]), str(row["job_id"])


def _end(row: Item) -> tuple[str, str, str]:
    return str(row["finished_at"]), str(row["pk"]), str(row["sk"])
