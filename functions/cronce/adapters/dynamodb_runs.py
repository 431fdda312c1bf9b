"""Run rows: `domain/transitions.py` said in condition expressions, one method per move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from cronce.adapters import recognise
from cronce.adapters.cursors import read_cursor, write_cursor
from cronce.adapters.dynamodb_lists import KEYS, MOST_KEY_PAGES
from cronce.adapters.expressions import ABSENT, KNOWN, Put, Refusal, Update
from cronce.adapters.items import (
    LAST,
    RUN_PREFIX,
    VERSION,
    job_pk,
    run_key_of,
    run_sk,
)
from cronce.adapters.run_items import (
    attention_day,
    entry_to_item,
    log_text,
    marker_to_item,
    readable_run,
    run_from_item,
    run_to_item,
)
from cronce.adapters.wire import Item
from cronce.domain import transitions
from cronce.domain.identity import RunKey, shard_of
from cronce.domain.instants import epoch_seconds, from_wire, to_wire
from cronce.domain.run import MAX_ENTRIES, Entry, Run, RunStatus
from cronce.domain.transitions import Claim, Ending, lost_entry
from cronce.ports import Changed, DueRun, Page, Refused, Result

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

PENDING: Final = "#status = :pending"
RETRYING: Final = "#status = :retrying"
RUNNING: Final = "#status = :running"
FAILED: Final = "#status = :failed"
# At the very instant it ends, a lease has expired, and a retry is due.
EXPIRED: Final = (
    f"({RUNNING} AND (attribute_not_exists(#lease_expires_at) OR #lease_expires_at <= :now))"
)
RETRY_DUE: Final = f"({RETRYING} AND (attribute_not_exists(#retry_at) OR #retry_at <= :now))"
# The token is of one attempt: whoever took the run over has written another one.
OWNED: Final = f"{KNOWN} AND {RUNNING} AND #owner = :owner"
# The lease that we saw expire, not that of the attempt after it.
EXPIRED_AS_SEEN: Final = f"{KNOWN} AND {EXPIRED} AND #attempt = :seen"
ROOM: Final = "(attribute_not_exists(#entries) OR size(#entries) < :most)"
FREE: Final = f"{ABSENT} OR ({KNOWN} AND ({PENDING} OR {RETRY_DUE}))"
UNSTARTED: Final = f"{ABSENT} OR ({KNOWN} AND {PENDING})"
# From under a live owner only by request.
OPEN_UNOWNED: Final = f"{ABSENT} OR ({KNOWN} AND ({PENDING} OR {RETRYING} OR {EXPIRED}))"
OPEN: Final = f"{ABSENT} OR ({KNOWN} AND ({PENDING} OR {RETRYING} OR {RUNNING}))"

OUT_OF_INDEX: Final = {"next_run": None, "shard": None}
STATUSES: Final = {s: s for s in ("pending", "retrying", "running", "failed")}
# An item removed by expiry may lie about for days: the condition looks at the expiry itself.
NO_MARKER: Final = f"{ABSENT} OR #expires_at <= :epoch"

Own = Callable[[Run], bool]


class RunRows:
    table: Table
    shards: int

    def read_run(self, key: RunKey) -> Run | None:
        item = self.table.get(job_pk(key.job_id), run_sk(key))
        return run_from_item(item) if item else None

    def read_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
        """A row that cannot be read is absent like one that is not there: whoever sends its message
        again is told by the worker's own read."""
        wanted = {(job_pk(k.job_id), run_sk(k)) for k in keys}
        found = self.table.get_many(sorted(wanted)) if wanted else []
        runs = [run for run in map(readable_run, found) if run is not None]
        return {run.key: run for run in runs}

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
        after = read_cursor(cursor, job_id, first, last) if cursor else None
        if first > last:
            return Page((), None)
        pages = self.table.pages(
            "#pk = :pk AND #sk BETWEEN :first AND :last",
            {"pk": job_pk(job_id), "first": first, "last": last},
            consistent=earliest is not None and latest is not None,
            descending=True,
            after=(job_pk(job_id), after) if after else None,
            limit=KEYS if status else limit + 1,
        )
        runs: list[Run] = []
        seen: Item | None = None
        for n, page in enumerate(pages):
            if n >= MOST_KEY_PAGES and seen is not None:
                return Page(tuple(runs), write_cursor(run_key_of(seen["pk"], seen["sk"])))
            read = [run for run in map(readable_run, page) if run is not None]
            runs += [run for run in read if status in (None, run.status)]
            if len(runs) > limit:
                return Page(tuple(runs[:limit]), write_cursor(runs[limit - 1].key))
            seen = page[-1] if page else seen
        return Page(tuple(runs), None)

    def trigger(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result:
        shard = shard_of(key.job_id, self.shards)
        run = transitions.trigger(None, key, shard=shard, triggered_by=triggered_by, now=now)
        assert run is not None
        row = run_to_item(run)
        put = Put(row, ABSENT)
        if key.trigger.startswith("m-"):
            refused = self.table.transact(
                [Put(marker_to_item(key, now), NO_MARKER, {"epoch": epoch_seconds(now)}), put]
            )
            first = None if refused is None else self._first_of(key, refused)
        else:
            refusal = self.table.put(put)
            refused = None if refusal is None else [refusal]
            first = run_from_item(refusal.found) if refusal and refusal.found else None
        if refused is None or (first is not None and run_to_item(first) == row):
            return Changed(run_from_item(row))
        return Refused(first)

    def _first_of(self, key: RunKey, refused: Sequence[Refusal | None]) -> Run | None:
        marker = refused[0].found if refused[0] else None
        at = from_wire(str(marker["scheduled_for"])) if marker else key.scheduled_for
        return self.read_run(RunKey(key.job_id, key.uid, at, key.trigger))

    def claim(self, key: RunKey, c: Claim, *, now: datetime) -> Result:
        write = self._claimed(key, c, now, FREE, {})
        return self._move(write, lambda found: recognise.claimed(found, c))

    def take_over(self, key: RunKey, c: Claim, *, seen: Run, now: datetime) -> Result:
        entries = _with(seen, lost_entry(seen, now))
        write = self._claimed(key, c, now, EXPIRED_AS_SEEN, {"entries": entries}, seen.attempt)
        return self._move(write, lambda found: recognise.claimed(found, c))

    def _claimed(
        self,
        key: RunKey,
        c: Claim,
        now: datetime,
        when: str,
        more: Mapping[str, object],
        seen: int = 0,
    ) -> Update:
        changes = {
            "status": "running",
            "owner": c.owner,
            "message_id": c.message_id or None,
            "lease_expires_at": to_wire(c.lease_expires_at),
            "started_at": to_wire(now),
            "log": log_text(c.log),
            "retry_at": None,
            **OUT_OF_INDEX,
            **more,
        }
        values: dict[str, object] = {
            "now": to_wire(now),
            "due": to_wire(c.due),
            "none": 0,
            "one": 1,
            "seen": seen,
        }
        compute = {
            "attempt": "if_not_exists(#attempt, :none) + :one",
            "due": "if_not_exists(#due, :due)",
        }
        for name, at in (("held_until", c.held_until), ("dispatched_at", c.dispatched_at)):
            if at is not None:
                values[name] = to_wire(at)
                compute[name] = f"if_not_exists(#{name}, :{name})"
        return _update(key, changes, when, values, compute)

    def lose(self, key: RunKey, e: Ending, *, seen: Run, now: datetime) -> Result:
        entries = _with(seen, lost_entry(seen, now))
        changes = {**_ending("failed", e, now), "entries": entries}
        values = {"now": to_wire(now), "seen": seen.attempt}
        write = _update(key, changes, EXPIRED_AS_SEEN, values)
        return self._move(write, lambda found: recognise.ended(found, "failed", e, now))

    def renew(self, key: RunKey, owner: str, lease_expires_at: datetime) -> Result:
        changes = {"lease_expires_at": to_wire(lease_expires_at)}
        return self._move(_update(key, changes, OWNED, {"owner": owner}), _never)

    def succeed(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result:
        return self._complete(key, owner, "succeeded", e, now)

    def concede(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result:
        return self._complete(key, owner, "missed", e, now)

    def _complete(
        self, key: RunKey, owner: str, status: RunStatus, e: Ending, now: datetime
    ) -> Result:
        write = _update(key, _ending(status, e, now), OWNED, {"owner": owner})
        return self._move(write, lambda found: recognise.completed(found, owner, status))

    def fail(self, key: RunKey, owner: str, entry: Entry, e: Ending, *, now: datetime) -> Result:
        changes = _ending("failed", e, now)
        return self._failed(
            key, owner, entry, changes, lambda found: recognise.completed(found, owner, "failed")
        )

    def retry(
        self, key: RunKey, owner: str, entry: Entry, *, retry_at: datetime, in_index: bool
    ) -> Result:
        changes: dict[str, object] = {
            "status": "retrying",
            "retry_at": to_wire(retry_at),
            "lease_expires_at": None,
            "next_run": to_wire(retry_at) if in_index else None,
            "shard": shard_of(key.job_id, self.shards) if in_index else None,
        }
        return self._failed(
            key,
            owner,
            entry,
            changes,
            lambda found: recognise.to_be_retried(found, owner, retry_at),
        )

    def _failed(
        self, key: RunKey, owner: str, entry: Entry, changes: Mapping[str, object], own: Own
    ) -> Result:
        """The entry is appended in place. A full list cannot be cut in the same expression, so the
        rare run that has one is written again with the list as it will be."""
        new = entry_to_item(entry)
        write = _update(
            key,
            changes,
            f"{OWNED} AND {ROOM}",
            {"owner": owner, "most": MAX_ENTRIES, "empty": [], "entry": [new]},
            {"entries": "list_append(if_not_exists(#entries, :empty), :entry)"},
        )
        result = self._move(write, own)
        found = result.run
        full = found is not None and len(found.entries) >= MAX_ENTRIES
        if isinstance(result, Changed) or found is None or not full:
            return result
        cut = {**changes, "entries": [*map(entry_to_item, found.entries), new][-MAX_ENTRIES:]}
        return self._move(_update(key, cut, OWNED, {"owner": owner}), own)

    def skip(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result:
        return self._end_unrun(key, due, "skipped", e, now, UNSTARTED, {})

    def miss(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result:
        return self._end_unrun(key, due, "missed", e, now, UNSTARTED, {})

    def cancel(
        self, key: RunKey, due: datetime, e: Ending, *, by_request: bool, now: datetime
    ) -> Result:
        # Without its owner, a worker that still runs it is refused when it completes or renews.
        when = OPEN if by_request else OPEN_UNOWNED
        return self._end_unrun(key, due, "cancelled", e, now, when, {"owner": None})

    def _end_unrun(
        self,
        key: RunKey,
        due: datetime,
        status: RunStatus,
        e: Ending,
        now: datetime,
        when: str,
        more: Mapping[str, object],
    ) -> Result:
        values = {"now": to_wire(now), "due": to_wire(due)}
        compute = {"due": "if_not_exists(#due, :due)"}
        write = _update(key, {**_ending(status, e, now), **more}, when, values, compute)
        return self._move(write, lambda found: recognise.ended(found, status, e, now))

    def redrive(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result:
        changes = {
            "status": "retrying",
            "retry_at": to_wire(now),
            "finished_at": None,
            "day": None,
            "expires_at": None,
            "code": None,
            "detail": None,
            "triggered_by": triggered_by or None,
            "redriven_at": to_wire(now),
            "next_run": to_wire(now),
            "shard": shard_of(key.job_id, self.shards),
        }
        # The attempt counter goes on: a target that fences by it never sees a number twice.
        write = _update(key, changes, f"{KNOWN} AND {FAILED}", {}, {"base": "#attempt"})
        return self._move(write, lambda found: recognise.redriven(found, triggered_by, now))

    def dispatched(self, row: DueRun) -> bool:
        when = f"{KNOWN} AND #next_run = :t"
        write = _update(row.key, OUT_OF_INDEX, when, {"t": to_wire(row.at)})
        return isinstance(self._move(write, recognise.out_of_index), Changed)

    def _move(self, write: Update, own: Own) -> Result:
        answer = self.table.update(write)
        if not isinstance(answer, Refusal):
            return Changed(run_from_item(answer))
        found = run_from_item(answer.found) if answer.found else None
        return Changed(found) if found is not None and own(found) else Refused(found)


def _update(
    key: RunKey,
    changes: Mapping[str, object],
    when: str,
    values: Mapping[str, object],
    compute: Mapping[str, str] | None = None,
) -> Update:
    return Update(
        job_pk(key.job_id),
        run_sk(key),
        {"v": VERSION, **changes},
        when,
        {"v": VERSION, **STATUSES, **values},
        compute or {},
    )


def _ending(status: RunStatus, e: Ending, now: datetime) -> dict[str, object]:
    """A success has no `day`, so it costs nothing in the index of what needs attention."""
    return {
        "status": status,
        "finished_at": to_wire(now),
        "day": attention_day(status, now),
        "code": e.code or None,
        "detail": e.detail or None,
        "expires_at": epoch_seconds(now + timedelta(seconds=e.history)),
        "lease_expires_at": None,
        "retry_at": None,
        **OUT_OF_INDEX,
    }


def _with(seen: Run, entry: Entry) -> list[Item]:
    return [*map(entry_to_item, seen.entries), entry_to_item(entry)][-MAX_ENTRIES:]


def _never(_: Run) -> bool:
    """A renewal that was applied holds its condition when it is repeated."""
    return False
