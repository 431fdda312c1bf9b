"""Run rows in memory, moved by `domain/transitions.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from cronce.adapters import recognise
from cronce.adapters.cursors import read_cursor, write_cursor
from cronce.adapters.items import LAST, RUN_PREFIX, job_pk, run_sk, trigger_sk
from cronce.adapters.run_items import (
    marker_to_item,
    readable_run,
    run_from_item,
    run_to_item,
)
from cronce.domain import transitions
from cronce.domain.identity import RunKey, shard_of
from cronce.domain.instants import epoch_seconds, from_wire, to_wire
from cronce.domain.run import Entry, Run, RunStatus
from cronce.domain.transitions import Claim, Ending
from cronce.ports import Changed, DueRun, Page, Refused, Result
from cronce.testing.memory_rows import MemoryRows

Move = Callable[[Run | None], Run | None]
Own = Callable[[Run], bool]


class MemoryRuns:
    rows: MemoryRows
    shards: int

    def read_run(self, key: RunKey) -> Run | None:
        item = self.rows.get(job_pk(key.job_id), run_sk(key))
        return run_from_item(item) if item else None

    def read_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
        if len(keys) > 100:
            raise ValueError("at most 100 keys")
        found = [self.rows.seen(job_pk(k.job_id), run_sk(k)) for k in keys]
        runs = [readable_run(item) for item in found if item is not None]
        return {run.key: run for run in runs if run is not None}

    def list_runs(
        self,
        job_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        earliest: datetime | None = None,
        latest: datetime | None = None,
        status: RunStatus | None = None,
    ) -> Page:
        first = RUN_PREFIX + (to_wire(earliest) if earliest else "")
        last = RUN_PREFIX + (to_wire(latest) if latest else "") + LAST
        after = read_cursor(cursor, job_id, first, last) if cursor else LAST
        found = reversed(self.rows.between(job_pk(job_id), first, last))
        rows = [readable_run(item) for item in found if str(item["sk"]) < after]
        runs = [run for run in rows if run is not None and status in (None, run.status)]
        more = write_cursor(runs[limit - 1].key) if len(runs) > limit else None
        return Page(tuple(runs[:limit]), more)

    def trigger(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result:
        shard = shard_of(key.job_id, self.shards)
        with self.rows.lock:
            marked = self._marked(key, now) if key.trigger.startswith("m-") else None
            first = RunKey(key.job_id, key.uid, marked, key.trigger) if marked else key
            run = transitions.trigger(None, key, shard=shard, triggered_by=triggered_by, now=now)
            assert run is not None
            found = self.read_run(first)
            if found is None and marked is None:
                self.rows.put(run_to_item(run))
                if key.trigger.startswith("m-"):
                    self.rows.put(marker_to_item(key, now))
                return Changed(run_from_item(run_to_item(run)))
            if found is not None and run_to_item(found) == run_to_item(run):
                return Changed(found)
            return Refused(found)

    def _marked(self, key: RunKey, now: datetime) -> datetime | None:
        """When the same client's id was first used, while that is remembered."""
        marker = self.rows.get(job_pk(key.job_id), trigger_sk(key))
        if marker is None or int(str(marker["expires_at"])) <= epoch_seconds(now):
            return None
        return from_wire(str(marker["scheduled_for"]))

    def claim(self, key: RunKey, c: Claim, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.claim(old, key, c, now),
            lambda found: recognise.claimed(found, c),
        )

    def take_over(self, key: RunKey, c: Claim, *, seen: Run, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.take_over(old, c, seen_attempt=seen.attempt, now=now),
            lambda found: recognise.claimed(found, c),
        )

    def lose(self, key: RunKey, e: Ending, *, seen: Run, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.lose(old, e, seen_attempt=seen.attempt, now=now),
            lambda found: recognise.ended(found, "failed", e, now),
        )

    def renew(self, key: RunKey, owner: str, lease_expires_at: datetime) -> Result:
        return self._move(
            key, lambda old: transitions.renew(old, owner, lease_expires_at), lambda found: False
        )

    def succeed(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.succeed(old, owner, e, now),
            lambda found: recognise.completed(found, owner, "succeeded"),
        )

    def fail(self, key: RunKey, owner: str, entry: Entry, e: Ending, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.fail(old, owner, entry, e, now),
            lambda found: recognise.completed(found, owner, "failed"),
        )

    def retry(
        self, key: RunKey, owner: str, entry: Entry, *, retry_at: datetime, in_index: bool
    ) -> Result:
        indexed_at = retry_at if in_index else None
        shard = shard_of(key.job_id, self.shards)
        return self._move(
            key,
            lambda old: transitions.retry(
                old, owner, entry, retry_at=retry_at, indexed_at=indexed_at, shard=shard
            ),
            lambda found: recognise.to_be_retried(found, owner, retry_at),
        )

    def skip(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.skip(old, key, due, e, now),
            lambda found: recognise.ended(found, "skipped", e, now),
        )

    def miss(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.miss(old, key, due, e, now),
            lambda found: recognise.ended(found, "missed", e, now),
        )

    def concede(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result:
        return self._move(
            key,
            lambda old: transitions.concede(old, owner, e, now),
            lambda found: recognise.completed(found, owner, "missed"),
        )

    def cancel(
        self, key: RunKey, due: datetime, e: Ending, *, by_request: bool, now: datetime
    ) -> Result:
        return self._move(
            key,
            lambda old: transitions.cancel(old, key, due, e, by_request=by_request, now=now),
            lambda found: recognise.ended(found, "cancelled", e, now),
        )

    def redrive(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result:
        shard = shard_of(key.job_id, self.shards)
        return self._move(
            key,
            lambda old: transitions.redrive(old, shard=shard, triggered_by=triggered_by, now=now),
            lambda found: recognise.redriven(found, triggered_by, now),
        )

    def dispatched(self, row: DueRun) -> bool:
        result = self._move(
            row.key,
            lambda old: transitions.dispatched(old, indexed_at=row.at),
            recognise.out_of_index,
        )
        return isinstance(result, Changed)

    def _move(self, key: RunKey, move: Move, own: Own) -> Result:
        with self.rows.lock:
            old = self.read_run(key)
            new = move(old)
            if new is not None:
                self.rows.put(run_to_item(new))
                return Changed(run_from_item(run_to_item(new)))
            if old is not None and own(old):
                return Changed(old)
            return Refused(old)
