"""What was dispatched and has not ended is looked at again, and sent again once the queue has
passed it. A purged queue, a lost message, a worker that acknowledged and died end here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from cronce import limits
from cronce.aftermath import expire_ended
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds
from cronce.domain.record import DispatchRecord, Sent, late_within, next_look
from cronce.domain.run import Run
from cronce.domain.transitions import Ending
from cronce.ports import Changed, DueRecord, Lease, Outgoing, Ports

MAX_AGE = seconds(limits.QUEUE_RETENTION)


class Report(Protocol):
    resent: int
    claimed_up_to: datetime | None
    idle: bool | None


def reconcile(ports: Ports, lease: Lease, item: DueRecord, now: datetime, report: Report) -> None:
    """One look at one record."""
    record = ports.store.read_record(item.slice, item.record_id)
    if record is None or record.next_run is None or record.next_run > now:
        return
    found = ports.store.read_runs([s.key for s in record.runs])
    _remember_claims(record, found, report)
    open_ = tuple(s for s in record.runs if not _has_ended(found.get(s.key)))
    lost = [s for s in open_ if _is_stuck(found.get(s.key), now)]
    if lost and _queue_has_passed(ports, lease, record, report):
        report.resent += _send_again(ports, record, lost, found, now)
    ports.store.update_record(record, _looked_at(record, open_, found, len(lost), now))


def _has_ended(run: Run | None) -> bool:
    return run is not None and run.ended


def _is_stuck(run: Run | None, now: datetime) -> bool:
    """Nobody works on it, and nothing but a message could change that."""
    if run is None:
        return True
    if run.status == "pending":
        return run.indexed_at is None
    if run.status == "running":
        return run.lease_expired(now)
    overdue = run.retry_at is None or run.retry_at <= now
    return run.status == "retrying" and overdue and run.indexed_at is None


def _remember_claims(record: DispatchRecord, found: dict[RunKey, Run], report: Report) -> None:
    """Not of an attempt before this dispatch, of a run that is redriven or retried: it says nothing
    about the messages of now."""
    for sent in record.runs:
        run = found.get(sent.key)
        claimed = run is not None and run.started_at is not None and run.started_at >= sent.start
        if claimed and (report.claimed_up_to is None or sent.start > report.claimed_up_to):
            report.claimed_up_to = sent.start


def _queue_has_passed(ports: Ports, lease: Lease, record: DispatchRecord, report: Report) -> bool:
    """A run due later has been claimed, or nothing is visible: a message of these runs that were
    still on its way would have been received before. Only then is it lost rather than waiting.

    Asked once a tick, before anything is sent again: what this tick sends again for one record must
    not hide from it that the messages of the next one are gone."""
    for claimed in (lease.claimed_up_to, report.claimed_up_to):
        if claimed is not None and claimed > record.last_start:
            return True
    if report.idle is None:
        report.idle = ports.queue.idle()
    return report.idle


def _send_again(
    ports: Ports, record: DispatchRecord, lost: list[Sent], found: dict[RunKey, Run], now: datetime
) -> int:
    """A run that has begun has a row, which stays as long as it is open: its age is no matter."""
    too_old = now - record.dispatched_at > MAX_AGE
    outgoing = []
    for sent in lost:
        run = found.get(sent.key)
        if too_old and (run is None or not run.attempt):
            _give_up(ports, sent, now)
        else:
            first_sent = now if too_old else record.dispatched_at
            outgoing.append(Outgoing(sent.message(first_sent), 0))
    if outgoing:
        ports.queue.send(outgoing)
        for o in outgoing:
            k = o.message.key
            ports.observer.event("resent", job=k.job_id, run=k.run_id)
    return len(outgoing)


def _give_up(ports: Ports, sent: Sent, now: datetime) -> None:
    """Workers refuse a message this old, since its run's row may have expired."""
    e = Ending(
        "too_old", "never claimed while its message could be trusted", limits.HISTORY_DEFAULT
    )
    if isinstance(ports.store.miss(sent.key, sent.due, e, now=now), Changed):
        expire_ended(ports, sent.key.job_id, sent.key.uid)


def _looked_at(
    record: DispatchRecord,
    open_: tuple[Sent, ...],
    found: dict[RunKey, Run],
    resent: int,
    now: datetime,
) -> DispatchRecord:
    counts = Counter(record.counts)
    counts.update(found[s.key].status for s in record.runs if _has_ended(found.get(s.key)))
    lateness = Counter(record.lateness)
    lateness.update(filter(None, (_late(s, found.get(s.key)) for s in record.runs)))
    looks = record.looks + 1
    return replace(
        record,
        runs=open_,
        counts=dict(counts),
        lateness=dict(lateness),
        looks=looks,
        resent=record.resent + resent,
        next_run=next_look(now, looks) if open_ else None,
    )


def _late(sent: Sent, run: Run | None) -> str | None:
    """Of the first attempt of a run that has ended. A dispatch for a later attempt has another
    time."""
    if run is None or not run.ended or run.attempt == 0 or sent.due != run.due:
        return None
    first = run.entries[0] if run.entries else None
    if first is not None and first.attempt == 1:
        started_at = first.started_at
    else:
        started_at = run.started_at if run.attempt == 1 else None
    return None if started_at is None else late_within(sent.start, started_at)
