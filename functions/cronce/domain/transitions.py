"""One function per move of a run: the row that follows, or None where the move is refused.

These are the rules; `adapters/dynamodb.py` says the same in condition expressions, the in-memory
store calls these functions, and the contract suite holds the two to each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cronce.domain.identity import RunKey
from cronce.domain.instants import epoch_seconds
from cronce.domain.run import MAX_ENTRIES, MOVES, NO_LOG, Entry, LogPointer, Run


@dataclass(frozen=True)
class Claim:
    """What a worker writes to own an attempt. owner: fresh random token. due: kept only when this
    claim creates the row. held_until, dispatched_at: kept where the row has none."""

    owner: str
    message_id: str
    due: datetime
    lease_expires_at: datetime
    log: LogPointer = NO_LOG
    held_until: datetime | None = None
    dispatched_at: datetime | None = None


@dataclass(frozen=True)
class Ending:
    """How a run ends. code: stable word; detail: at most 512 bytes; history: seconds it stays."""

    code: str
    detail: str
    history: int


def trigger(
    old: Run | None, key: RunKey, *, shard: int, triggered_by: str, now: datetime
) -> Run | None:
    """Run now, backfill: the row and its place in the index in one write."""
    if not _may("trigger", old):
        return None
    return Run(
        key,
        "pending",
        due=max(now, key.scheduled_for),
        triggered_by=triggered_by,
        indexed_at=now,
        shard=shard,
    )


def claim(old: Run | None, key: RunKey, c: Claim, now: datetime) -> Run | None:
    """No row or pending; or retrying and due. A running one is taken over by `take_over`."""
    free = old is None or old.status == "pending"
    retry_due = (
        old is not None
        and old.status == "retrying"
        and (old.retry_at is None or old.retry_at <= now)
    )
    return _claimed(old or Run(key, "pending", due=c.due), c, now) if free or retry_due else None


def take_over(old: Run | None, c: Claim, *, seen_attempt: int, now: datetime) -> Run | None:
    """The lease of the attempt that we saw has expired: the next attempt, the lost one noted."""
    if old is None or not _expired(old, seen_attempt, now):
        return None
    return replace(_claimed(old, c, now), entries=_with(old, lost_entry(old, now)))


def lose(old: Run | None, e: Ending, *, seen_attempt: int, now: datetime) -> Run | None:
    """The lease has expired and no attempt is left."""
    if old is None or not _expired(old, seen_attempt, now):
        return None
    ended = replace(old, status="failed", entries=_with(old, lost_entry(old, now)))
    return _ended(ended, e, now)


def renew(old: Run | None, owner: str, lease_expires_at: datetime) -> Run | None:
    return replace(old, lease_expires_at=lease_expires_at) if _owned(old, owner) and old else None


def succeed(old: Run | None, owner: str, e: Ending, now: datetime) -> Run | None:
    if old is None or not _owned(old, owner):
        return None
    return _ended(replace(old, status="succeeded"), e, now)


def fail(old: Run | None, owner: str, entry: Entry, e: Ending, now: datetime) -> Run | None:
    if old is None or not _owned(old, owner):
        return None
    return _ended(replace(old, status="failed", entries=_with(old, entry)), e, now)


def retry(
    old: Run | None,
    owner: str,
    entry: Entry,
    *,
    retry_at: datetime,
    indexed_at: datetime | None,
    shard: int,
) -> Run | None:
    """indexed_at: where it lies in the index, when it is too far away for a delayed message."""
    if old is None or not _owned(old, owner):
        return None
    return replace(
        old,
        status="retrying",
        retry_at=retry_at,
        entries=_with(old, entry),
        lease_expires_at=None,
        indexed_at=indexed_at,
        shard=None if indexed_at is None else shard,
    )


def skip(old: Run | None, key: RunKey, due: datetime, e: Ending, now: datetime) -> Run | None:
    if not _may("skip", old):
        return None
    return _ended(replace(old or Run(key, "pending", due), status="skipped"), e, now)


def miss(old: Run | None, key: RunKey, due: datetime, e: Ending, now: datetime) -> Run | None:
    """An occurrence that a missed record covers already, or whose dispatch is too old to trust."""
    if old is not None and old.status != "pending":
        return None
    return _ended(replace(old or Run(key, "pending", due), status="missed"), e, now)


def concede(old: Run | None, owner: str, e: Ending, now: datetime) -> Run | None:
    """`miss` by the owner of a claim that has not executed anything yet."""
    if old is None or not _owned(old, owner):
        return None
    return _ended(replace(old, status="missed"), e, now)


def cancel(
    old: Run | None, key: RunKey, due: datetime, e: Ending, *, by_request: bool, now: datetime
) -> Run | None:
    """From every open state; from under a live owner only by request."""
    if not _may("cancel", old):
        return None
    run = old or Run(key, "pending", due)
    if run.status == "running" and not by_request and not run.lease_expired(now):
        return None
    return _ended(replace(run, status="cancelled", owner=""), e, now)


def redrive(old: Run | None, *, shard: int, triggered_by: str, now: datetime) -> Run | None:
    """New attempts for a failed run; the attempt counter goes on, the expiry is taken off."""
    if not _may("redrive", old) or old is None:
        return None
    return replace(
        old,
        status="retrying",
        base=old.attempt,
        retry_at=now,
        finished_at=None,
        expires_at=None,
        code="",
        detail="",
        triggered_by=triggered_by,
        redriven_at=now,
        indexed_at=now,
        shard=shard,
    )


def dispatched(old: Run | None, *, indexed_at: datetime) -> Run | None:
    """Out of the index, once its message is sent."""
    if old is None or old.indexed_at != indexed_at:
        return None
    return replace(old, indexed_at=None, shard=None)


def lost_entry(old: Run, now: datetime) -> Entry:
    return Entry(
        old.attempt,
        "lost",
        "lease_expired",
        "the worker did not report in time",
        old.started_at,
        now,
    )


def _may(move: str, old: Run | None) -> bool:
    return ("none" if old is None else old.status) in MOVES[move][0]


def _owned(old: Run | None, owner: str) -> bool:
    return old is not None and old.status == "running" and bool(owner) and old.owner == owner


def _expired(old: Run, seen_attempt: int, now: datetime) -> bool:
    return old.status == "running" and old.attempt == seen_attempt and old.lease_expired(now)


def _claimed(old: Run, c: Claim, now: datetime) -> Run:
    return replace(
        old,
        status="running",
        attempt=old.attempt + 1,
        owner=c.owner,
        message_id=c.message_id,
        lease_expires_at=c.lease_expires_at,
        started_at=now,
        held_until=old.held_until or c.held_until,
        dispatched_at=old.dispatched_at or c.dispatched_at,
        log=c.log,
        retry_at=None,
        indexed_at=None,
        shard=None,
    )


def _ended(run: Run, e: Ending, now: datetime) -> Run:
    return replace(
        run,
        finished_at=now,
        code=e.code,
        detail=e.detail,
        expires_at=epoch_seconds(now + timedelta(seconds=e.history)),
        lease_expires_at=None,
        retry_at=None,
        indexed_at=None,
        shard=None,
    )


def _with(run: Run, entry: Entry) -> tuple[Entry, ...]:
    return (*run.entries, entry)[-MAX_ENTRIES:]
