"""One tick: what is due in the index becomes messages in the queue.

The order of the steps is the guarantee. The record is written before the messages are sent, and a
job is advanced after: a crash anywhere in between leaves the job due, and the second message finds
the run claimed. What was sent and lost is found through the record (`reconcile.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from cronce import backfill, limits
from cronce.aftermath import expire_ended
from cronce.announce import Held
from cronce.calendars import Calendars
from cronce.domain.errors import CronceError, Unavailable, Unplannable
from cronce.domain.identity import RunKey, shard_of
from cronce.domain.instants import seconds, to_wire
from cronce.domain.job import DEFAULT_GROUP, misfire_of, schedule_of
from cronce.domain.outcome import of_error, of_missed, of_overdue
from cronce.domain.plan import Misfire, Plan, plan
from cronce.domain.record import MAX_RUNS, DispatchRecord, Sent, first_look
from cronce.domain.replan import settled, taken_up
from cronce.domain.stamps import news, stamp_for, stamp_of
from cronce.groups import Groups
from cronce.missed import record as record_missed
from cronce.ports import (
    BrokenRow,
    DueBackfill,
    DueItem,
    DueJob,
    DueRecord,
    DueRun,
    Lease,
    Outgoing,
    Ports,
)
from cronce.reconcile import reconcile
from cronce.settings import Settings
from cronce.visits import TickReport, Visit


def tick(
    ports: Ports, settings: Settings, *, event_time: datetime, deadline: datetime
) -> TickReport:
    """Dispatches what is due up to now + horizon, oldest first, until `deadline`.

    event_time: when the tick was meant to be; "now" is the earlier of it and the local clock, so
    that a clock that is ahead never makes an occurrence late or early for everybody.
    """
    report = TickReport()
    now = min(event_time, ports.clock.now())
    lease = ports.store.acquire_lease(
        settings.slice,
        ports.random.token(),
        now=ports.clock.now(),
        expires_at=deadline,
        shards=settings.shards,
    )
    if lease is None:
        ports.observer.event("tick_not_leader", slice=settings.slice)
        return report
    report.led = True
    held = Held()
    try:
        _drain(replace(ports, announcer=held), settings, lease, now, deadline, report)
    finally:
        held.release(ports)
    if report.claimed_up_to is not None:
        ports.store.note_claimed(lease, report.claimed_up_to)
    ports.observer.event("tick", **vars(report))
    return report


def _drain(
    ports: Ports,
    settings: Settings,
    lease: Lease,
    now: datetime,
    deadline: datetime,
    report: TickReport,
) -> None:
    items = ports.store.due(settings.shards_of_slice(lease.shards), now + settings.ahead)
    calendars, groups = Calendars(ports.store), Groups(ports.store, ports.random)
    batch: list[Visit] = []

    def send() -> None:
        with _alone(ports, report, "dispatch_failed", of=len(batch)):
            dispatch(ports, settings, batch, now, by=lease.owner, report=report, groups=groups)
        batch.clear()

    for item in _once(items):
        if ports.clock.now() >= deadline:
            return
        if isinstance(item, DueRecord):
            if item.at <= now:
                with _alone(ports, report, "reconcile_failed", record=item.record_id):
                    reconcile(ports, lease, item, now, report)
        elif isinstance(item, DueBackfill):
            if item.at <= now:
                with _alone(ports, report, "backfill_failed", job=item.job_id):
                    fill(ports, settings, item, calendars, by=lease.owner, report=report)
        else:
            with _alone(ports, report, "plan_failed", job=_name(item)):
                batch += _look(ports, settings, item, now, report, calendars)
            if len(batch) >= MAX_RUNS or sum(len(v.runs) for v in batch) >= MAX_RUNS:
                send()
    send()
    report.finished = True


@contextmanager
def _alone(
    ports: Ports, report: TickReport, action: str, *, of: int = 1, **about: object
) -> Iterator[None]:
    """Whatever the trouble, it is that of so many rows, which stay due; those after them have their
    turn."""
    try:
        yield
    except Exception as e:
        report.failed += of
        _tell(ports, action, e, **about)


def _tell(ports: Ports, action: str, e: Exception, **about: object) -> None:
    """fault: it is one of ours, and not of the table, the queue or the row."""
    reason, fault = f"{type(e).__name__}: {e}"[:300], not isinstance(e, CronceError)
    ports.observer.event(action, reason=reason, fault=fault, **about)


def fill(
    ports: Ports,
    settings: Settings,
    item: DueBackfill,
    calendars: Calendars,
    *,
    by: str,
    report: TickReport,
) -> None:
    """One visit of a backfill: its next runs are written, dispatched, and the cursor moves on. What
    cannot be dispatched now lies in the index. Raises Unavailable."""
    now = ports.clock.now()
    step = backfill.step(ports, item, calendars, now)
    if step is None:
        return
    starts = backfill.starts_of(step, now)
    visits = [Visit.of_run(run, at) for run, at in zip(step.runs, starts, strict=True)]
    try:
        dispatch(ports, settings, visits, now, by=by, report=report)
    except Unavailable as e:
        ports.observer.event("dispatch_left_to_tick", job=item.job_id, reason=str(e))
    ports.store.update_backfill(step.believed, step.then)
    ports.observer.event("backfill", job=item.job_id, id=item.backfill_id, status=step.then.status)


def _once(items: Iterable[DueItem]) -> Iterator[DueItem]:
    """Each job once a tick: what is still due after its visit is spread over the next ones."""
    seen: set[str] = set()
    for item in items:
        if isinstance(item, DueJob):
            if item.job_id in seen:
                continue
            seen.add(item.job_id)
        yield item


def _look(
    ports: Ports,
    settings: Settings,
    item: DueJob | DueRun | BrokenRow,
    now: datetime,
    report: TickReport,
    calendars: Calendars,
) -> list[Visit]:
    """The visit that follows, if any: what cannot be planned leaves the index. Raises
    Unavailable."""
    if isinstance(item, DueRun):
        return [Visit.of_run(item)]
    if isinstance(item, BrokenRow):
        _to_error(ports, item, item.reason, report)
        return []
    try:
        return [plan_visit(item, now, settings, calendars)]
    except Unplannable as e:
        reason = str(e)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as e:
        reason = f"cannot be planned: {type(e).__name__}: {e}"[:200]
    _to_error(ports, item, reason, report)
    return []


def plan_visit(
    item: DueJob,
    now: datetime,
    settings: Settings,
    calendars: Calendars,
    *,
    horizon: float | None = None,
    misfire: Misfire | None = None,
) -> Visit:
    """horizon: seconds ahead of now; the settings' by default. misfire: instead of the job's own.
    Raises Unplannable, Unavailable."""
    calendar = calendars.of(item.plan)
    schedule, current = taken_up(
        uid=item.uid,
        schedule=schedule_of(item.plan, calendar.calendar if calendar else None),
        stamp=stamp_of(item.plan),
        current=item.next,
        changed=settled(calendar.changed_at, settings.ahead) if calendar else None,
    )
    if current is None:
        return Visit(item, (), Plan((), None, None, item.runs_planned), schedule)
    p = plan(
        uid=item.uid,
        schedule=schedule,
        misfire=misfire or misfire_of(item.plan),
        current=current,
        now=now,
        horizon=seconds(settings.horizon if horizon is None else horizon),
        runs_planned=item.runs_planned,
    )
    runs = tuple(sent_of(item, d.scheduled_for, d.due) for d in p.fire)
    return Visit(item, runs, p, schedule)


def sent_of(item: DueJob, scheduled_for: datetime, due: datetime) -> Sent:
    return Sent(RunKey(item.job_id, item.uid, scheduled_for), item.generation, due)


def _to_error(ports: Ports, row: DueJob | BrokenRow, reason: str, report: TickReport) -> None:
    report.errors += 1
    if ports.store.set_error(row, reason):
        ports.observer.event("job_error", job=_name(row), reason=reason)
        group = row.group if isinstance(row, DueJob) else None
        ports.announcer.announce([of_error(_name(row), group, reason)])


def _name(row: DueJob | DueRun | BrokenRow) -> str:
    if isinstance(row, BrokenRow):
        return row.pk
    return row.key.job_id if isinstance(row, DueRun) else row.job_id


def dispatch(
    ports: Ports,
    settings: Settings,
    visits: Sequence[Visit],
    now: datetime,
    *,
    by: str,
    report: TickReport,
    groups: Groups | None = None,
) -> None:
    """Record, send, advance: steps 3 to 5. Raises Unavailable before anything is sent.

    groups: what the tick knows of them.
    """
    visits = _hold(ports, visits, groups or Groups(ports.store, ports.random), report)
    records = _records(ports, settings, [s for v in visits for s in v.runs], by)
    for record in records:
        ports.store.put_record(record)
    accepted = _send(ports, records)
    report.sent += len(accepted)
    for visit in visits:
        visit.sent = all(s.key in accepted for s in visit.runs)
        report.failed += not visit.sent
    late = now - seconds(settings.overdue_after)
    settled = ports.threads.each(
        lambda v: _settle(ports, v, now, late), [v for v in visits if v.sent]
    )
    report.advanced += sum(map(bool, settled))
    report.failed += settled.count(None)


def _hold(ports: Ports, visits: Sequence[Visit], groups: Groups, report: TickReport) -> list[Visit]:
    """Runs of groups that have a limit get their turns, in order of due time. Without those of a
    group that does not answer: they stay due."""
    left = list(visits)
    for name in dict.fromkeys(map(_group_of, visits)):
        members = [v for v in visits if _group_of(v) == name]
        try:
            held = groups.hold(name, [s for v in members for s in v.runs], ports.clock.now())
        except CronceError as e:
            report.failed += len(members)
            _tell(ports, "group_failed", e, group=name)
            left = [v for v in left if _group_of(v) != name]
        else:
            for visit in members:
                visit.runs = tuple(held.get(s.key, s) for s in visit.runs)
    return left


def _group_of(visit: Visit) -> str:
    return visit.item.group if isinstance(visit.item, DueJob) else DEFAULT_GROUP


def _records(
    ports: Ports, settings: Settings, runs: Sequence[Sent], by: str
) -> list[DispatchRecord]:
    at = ports.clock.now()
    records = []
    for start in range(0, len(runs), MAX_RUNS):
        part = tuple(runs[start : start + MAX_RUNS])
        record_id = f"{to_wire(at)}#{ports.random.token()[:16]}"
        records.append(
            DispatchRecord(
                slice=settings.slice,
                record_id=record_id,
                shard=_record_shard(settings, record_id),
                dispatched_at=at,
                runs=part,
                total=len(part),
                by=by,
                next_run=first_look(part, at),
            )
        )
    return records


def _record_shard(settings: Settings, record_id: str) -> int:
    """A shard of this slice, so that the dispatcher that wrote a record also reconciles it."""
    own = settings.shards_of_slice(settings.shards)
    return own[shard_of(record_id, len(own))]


def _send(ports: Ports, records: Sequence[DispatchRecord]) -> set[object]:
    """The keys of the runs that the queue accepted."""
    at = ports.clock.now()
    outgoing = [
        Outgoing(s.message(r.dispatched_at), delay_until(s.start, at))
        for r in records
        for s in r.runs
    ]
    if not outgoing:
        return set()
    accepted = ports.queue.send(outgoing)
    return {o.message.key for o, ok in zip(outgoing, accepted, strict=True) if ok}


def delay_until(due: datetime, now: datetime) -> int:
    """Whole seconds left, rounded down, within what the queue takes: never late by the delay."""
    return max(0, min(int((due - now).total_seconds()), limits.QUEUE_MAX_DELAY))


def _settle(ports: Ports, visit: Visit, now: datetime, late: datetime) -> bool | None:
    """The row moves on. One row's trouble is its own: None, it stays due and the next tick meets
    it. False: somebody else was first. late: what was due before this is announced."""
    try:
        if isinstance(visit.item, DueRun):
            return ports.store.dispatched(visit.item)
        done = _advance(ports, visit.item, visit, now)
        if done and visit.item.at < late:
            item = visit.item
            ports.announcer.announce([of_overdue(item.job_id, item.group, item.at, now)])
        return done
    except Exception as e:
        _tell(ports, "advance_failed", e, job=_name(visit.item))
        return None


def _advance(ports: Ports, item: DueJob, visit: Visit, now: datetime) -> bool:
    p, schedule = visit.plan, visit.schedule
    if p is None or schedule is None or p.next == item.next:
        return False
    if p.missed is not None:
        record_missed(ports, item.job_id, item.uid, schedule, p.missed, now)
        ports.observer.event(
            "missed", job=item.job_id, count=p.missed.count, policy=p.missed.policy
        )
    stamp = news(item.plan, stamp_for(schedule, p.next))
    done = ports.store.advance(item, p.next, runs_planned=p.runs_planned, stamp=stamp)
    if done and p.missed is not None:
        ports.announcer.announce([of_missed(item.job_id, item.group, p.missed)])
    if done and p.next is None and not visit.runs:
        # No run will end, after which it would be seen to.
        expire_ended(ports, item.job_id, item.uid)
    return done
