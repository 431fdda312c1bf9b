"""Listings over all jobs. The indexes hold keys; the rows behind them are read in batches, and what
has changed since the index saw it is judged by the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from cronce.adapters.items import (
    JOB_SK,
    readable,
    run_key_of,
    wire_key,
)
from cronce.adapters.job_items import job_from_item
from cronce.adapters.layout import ATTENTION, BY_GROUP
from cronce.adapters.list_cursors import (
    after_job,
    after_run,
    from_day,
    previous_day,
    read_after_job,
    read_attention_cursor,
)
from cronce.adapters.run_items import readable_run
from cronce.adapters.wire import Item
from cronce.domain.instants import to_wire
from cronce.domain.job import Job, JobStatus
from cronce.domain.run import ATTENTION as NEEDS_ATTENTION
from cronce.domain.run import Run, RunStatus
from cronce.ports import Page

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

KEYS: Final = 100
# What one call looks at, at most; a listing that finds little in it goes on in the next call.
MOST_KEY_PAGES: Final = 10
MOST_DAYS: Final = 60


class ListRows:
    table: Table

    def list_jobs(
        self,
        *,
        group: str | None = None,
        status: JobStatus | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page:
        pages = self.table.index_pages(
            BY_GROUP,
            "" if group is None else "#group = :group",
            {"group": group},
            after=read_after_job(cursor, group) if cursor else None,
            limit=KEYS,
        )
        found: list[tuple[Item, Job]] = []
        seen: Item | None = None
        for n, keys in enumerate(pages):
            if n == MOST_KEY_PAGES and seen is not None:
                return Page(tuple(j for _, j in found), after_job(seen, group))
            for key, job in self._jobs(keys):
                if status in (None, job.status) and group in (None, job.group):
                    found.append((key, job))
            if len(found) > limit:
                listed = tuple(j for _, j in found[:limit])
                return Page(listed, after_job(found[limit - 1][0], group))
            seen = keys[-1] if keys else seen
        return Page(tuple(j for _, j in found), None)

    def _jobs(self, keys: Sequence[Item]) -> Iterator[tuple[Item, Job]]:
        """In the order of keys, without those that are gone or cannot be read."""
        wanted = [wire_key(key) for key in keys if key["sk"] == JOB_SK]
        rows = {wire_key(row): row for row in self.table.get_many(wanted)} if wanted else {}
        now = self.table.now()
        for key in keys:
            row = rows.get(wire_key(key))
            job = readable_job(row) if row else None
            if job is not None and not job.is_gone(now):
                yield key, job

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
        found: list[tuple[Item, Run]] = []
        for _ in range(MOST_DAYS):
            # DynamoDB refuses a range whose ends are the wrong way round.
            if (
                first > last
                or day < first[:10]
                or (after is not None and str(after["finished_at"]) < first)
            ):
                return Page(tuple(run for _, run in found), None)
            pages = self.table.index_pages(
                ATTENTION,
                "#day = :day AND #finished_at BETWEEN :first AND :last",
                {"day": day, "first": first, "last": last},
                after=after,
                limit=KEYS,
                descending=True,
            )
            for keys in pages:
                found += self._attention(keys, status)
                if len(found) > limit:
                    listed = tuple(run for _, run in found[:limit])
                    return Page(listed, after_run(found[limit - 1][0]))
            after, day = None, previous_day(day)
        return Page(tuple(run for _, run in found), from_day(day))

    def _attention(
        self, keys: Sequence[Item], status: RunStatus | None
    ) -> Iterator[tuple[Item, Run]]:
        wanted = [key for key in keys if status in (None, key.get("status"))]
        rows = self.table.get_many([wire_key(key) for key in wanted]) if wanted else []
        runs = {run.key: run for run in map(readable_run, rows) if run is not None}
        for key in wanted:
            run = runs.get(run_key_of(key["pk"], key["sk"]))
            if run is not None and run.status in NEEDS_ATTENTION:
                yield key, run


readable_job = readable(job_from_item)
