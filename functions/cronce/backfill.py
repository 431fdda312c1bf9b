"""A backfill at work: each visit starts the next few runs of it.

A run is a pending row with its place in the index, written under the backfill's own trigger: the
same visit again finds it there, so nothing is doubled whatever dies in between. The cursor moves on
after the rows are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from cronce.calendars import Calendars
from cronce.domain.backfill import (
    PACE_DEFAULT,
    Backfill,
    backfill_of,
    next_chunk,
    planned_standing,
    standing,
)
from cronce.domain.errors import Unplannable
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds
from cronce.domain.job import StoredJob
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule
from cronce.domain.transitions import Ending
from cronce.ports import DueBackfill, DueRun, Ports

PAGE = 100
MINUTE = 60


@dataclass(frozen=True)
class Step:
    """runs: in the index, to be dispatched, at `pace` a minute; the backfill then goes from
    `believed` to `then`."""

    believed: Backfill
    then: Backfill
    runs: tuple[DueRun, ...] = ()
    pace: int = PACE_DEFAULT


def step(ports: Ports, item: DueBackfill, calendars: Calendars, now: datetime) -> Step | None:
    """Starts the runs of one visit. None: it is not its time. Raises Unavailable."""
    b = ports.store.read_backfill(item.job_id, item.backfill_id)
    if b is None or b.status != "running" or b.next_run is None or b.next_run > now:
        return None
    stored = ports.store.read_job(b.job_id)
    if stored is None or stored.job.uid != b.uid:
        return Step(b, b.cancelled("the job was deleted", now))
    try:
        schedule = calendars.schedule(stored.job.plan)
    except Unplannable as e:
        return Step(b, b.cancelled(f"the schedule cannot be read: {e}"[:200], now))
    policy = b.overlap_of(stored.definition.overlap)
    room = b.room(policy, stored.lock)
    chunk = next_chunk(b, schedule, room)
    own = own_runs(ports, b.job_id, b.uid, chunk)
    done = ports.threads.each(
        lambda at: _start(ports, b, stored, schedule, own.get(at), at, now), chunk
    )
    runs = tuple(run for run in done if run is not None)
    then = b.moved(
        chunk[-1] if chunk else None,
        started=len(runs),
        existing=len(chunk) - len(runs),
        over=len(chunk) < room,
        now=now,
    )
    waiting = tuple(DueRun(run.key, run.indexed_at) for run in runs if run.indexed_at is not None)
    return Step(b, then, waiting, b.pace_of(policy))


def own_runs(ports: Ports, job_id: str, uid: str, chunk: Sequence[datetime]) -> dict[datetime, Run]:
    """The schedule's own runs of these occurrences."""
    found: dict[datetime, Run] = {}
    cursor = None
    while chunk:
        page = ports.store.list_runs(
            job_id, limit=PAGE, cursor=cursor, earliest=chunk[0], latest=chunk[-1]
        )
        for run in page.items:
            if isinstance(run, Run) and run.key.uid == uid and not run.key.trigger:
                found[run.key.scheduled_for] = run
        cursor = page.cursor
        if cursor is None:
            break
    return found


def _state(
    ports: Ports,
    stored: StoredJob,
    schedule: Schedule,
    own: Run | None,
    at: datetime,
    now: datetime,
) -> Literal["executed", "free", "open"]:
    """executed: the schedule has run this occurrence, or will. open: nobody has, but a message of
    before the job was last changed may still come."""
    created = stored.definition.created_at or stored.job.changed_at
    state = standing(at, own, created, now)
    if state != "unknown":
        return state
    if ports.store.find_missed(RunKey(stored.job.job_id, stored.job.uid, at)) is not None:
        return "free"
    return planned_standing(at, stored.job, schedule)


def _start(
    ports: Ports,
    b: Backfill,
    stored: StoredJob,
    schedule: Schedule,
    own: Run | None,
    at: datetime,
    now: datetime,
) -> Run | None:
    """The run of this occurrence, as it is after this; None where there is nothing to run."""
    state = _state(ports, stored, schedule, own, at, now)
    if state == "executed" or (state == "open" and not _closed(ports, stored, at, now)):
        return None
    return ports.store.trigger(b.key(at), triggered_by=b.created_by, now=now).run


def _closed(ports: Ports, stored: StoredJob, at: datetime, now: datetime) -> bool:
    """The schedule's own run gets its end, which a message that still comes will find. False: it
    has begun in the meantime."""
    key = RunKey(stored.job.job_id, stored.job.uid, at)
    e = Ending("backfilled", "not begun before its backfill", stored.definition.history)
    run = ports.store.miss(key, at, e, now=now).run
    return run is not None and run.status == "missed"


def with_its_policy(ports: Ports, key: RunKey, stored: StoredJob) -> StoredJob | None:
    """The job as a run of a backfill sees it; None when that was cancelled. Any other run: as it
    is, and nothing is read."""
    backfill_id = backfill_of(key)
    if backfill_id is None:
        return stored
    b = ports.store.read_backfill(key.job_id, backfill_id)
    if b is None or b.uid != key.uid:
        return stored
    if b.status == "cancelled":
        return None
    policy = b.overlap_of(stored.definition.overlap)
    return replace(stored, definition=replace(stored.definition, overlap=policy))


def starts_of(step: Step, now: datetime) -> list[datetime | None]:
    """When each of its runs may start: at the backfill's pace, the first one at once."""
    gap = MINUTE / step.pace
    return [now + seconds(round(n * gap, 3)) if n else None for n in range(len(step.runs))]
