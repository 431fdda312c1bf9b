"""The life of one run, told from its row and the records that sent it: pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cronce.domain.backfill import backfill_of
from cronce.domain.identity import RunKey
from cronce.domain.instants import to_api
from cronce.domain.overlap import Lock
from cronce.domain.plan import Missed
from cronce.domain.record import DispatchRecord, Sent
from cronce.domain.run import Entry, Run

What = Literal[
    "intended",
    "triggered",
    "dispatched",
    "resent",
    "attempt",
    "failed",
    "redriven",
    "waiting",
    "ended",
    "log",
]
BY_API = "api"


@dataclass(frozen=True)
class Line:
    """at: when it happened; None where nobody wrote it down. text: one sentence."""

    at: datetime | None
    what: What
    text: str


@dataclass(frozen=True)
class Told:
    """All that is known of a run. run: None without a row. records: those that sent it. missed: a
    count that covers its occurrence. lock: of its job."""

    key: RunKey
    run: Run | None
    records: Sequence[DispatchRecord] = ()
    missed: Missed | None = None
    lock: Lock | None = None


def story(told: Told, now: datetime) -> list[Line]:
    """In the order of time; what has no time stands where it belongs."""
    lines = [*_beginning(told)]
    lines += sorted(_middle(told), key=lambda line: line.at or now)
    return [*lines, *_end(told, now), *_pointers(told.run)]


def due_of(told: Told) -> datetime:
    """When it may, or might, start."""
    sent = _sent(told)
    if told.run is not None:
        return told.run.due
    return sent[0].due if sent else told.key.scheduled_for


def _sent(told: Told) -> list[Sent]:
    return [s for record in told.records for s in record.runs if s.key == told.key]


def _beginning(told: Told) -> Iterator[Line]:
    key, due = told.key, due_of(told)
    backfill = backfill_of(key)
    if backfill:
        text = f"backfill {backfill} asked for the occurrence of {to_api(key.scheduled_for)}"
        yield Line(None, "triggered", text)
        return
    if key.trigger:
        # The row remembers the latest of those who asked for it.
        known = told.run is not None and not told.run.base
        who = f" by {told.run.triggered_by}" if told.run and known else ""
        client_id = key.trigger.removeprefix("m-")
        yield Line(key.scheduled_for, "triggered", f"run now was asked for{who}, as {client_id}")
        return
    moved = f"; jitter lets it start {span(key.scheduled_for, due)} later"
    text = f"the schedule meant it for {to_api(key.scheduled_for)}"
    yield Line(None, "intended", text + (moved if due > key.scheduled_for else ""))


def _middle(told: Told) -> Iterator[Line]:
    for record in told.records:
        yield from _dispatched(record, told)
    run = told.run
    if run is None:
        return
    if run.held_until is not None:
        text = "its group or backfill had let it start from here on"
        yield Line(run.held_until, "waiting", text)
    for entry in run.entries:
        yield from _attempt(entry, run)
    seen = {entry.attempt for entry in run.entries}
    if run.attempt and run.attempt not in seen:
        yield _claimed(run, run.attempt, run.started_at)
    if run.redriven_at is not None:
        who = f" by {run.triggered_by}" if run.triggered_by else ""
        text = f"the failed run was given new attempts{who}"
        yield Line(run.redriven_at, "redriven", text)


def _claimed(run: Run, attempt: int, at: datetime | None) -> Line:
    """How late is known of those whose turn is still on the row."""
    late = ""
    if attempt == 1:
        since = "its turn came" if run.held_until else "it was due"
        late = f", {span(run.held_until or run.due, at)} after {since}"
    elif attempt == run.base + 1 and run.redriven_at is not None:
        late = f", {span(run.redriven_at, at)} after that"
    return Line(at, "attempt", f"attempt {attempt} was claimed{late}")


def _dispatched(record: DispatchRecord, told: Told) -> Iterator[Line]:
    who = "at once by the API" if record.by == BY_API else f"by a tick of slice {record.slice}"
    others = f", with {record.total - 1} other runs" if record.total > 1 else ""
    listed = [s.start for s in record.runs if s.key == told.key]
    start = min(listed) if listed else _start(told.run, told.key)
    lead = ""
    if start > record.dispatched_at:
        lead = f", {span(record.dispatched_at, start)} before it might start"
    yield Line(record.dispatched_at, "dispatched", f"sent {who}{others}{lead}")
    if record.resent:
        text = f"messages of this dispatch that were lost and sent again: {record.resent}"
        yield Line(record.dispatched_at, "resent", text)


def _start(run: Run | None, key: RunKey) -> datetime:
    return (run.held_until or run.due) if run else key.scheduled_for


def _attempt(entry: Entry, run: Run) -> Iterator[Line]:
    n = entry.attempt
    if entry.started_at is not None:
        yield _claimed(run, n, entry.started_at)
    end = ", and the run with it" if n == run.base else ""
    if entry.outcome == "lost":
        text = f"attempt {n} was lost{end}: its lease ran out and nobody had renewed it"
    elif entry.outcome == "timed_out":
        text = f"attempt {n} ran into its timeout{end}{_because(entry.code, entry.detail)}"
    else:
        text = f"attempt {n} {entry.outcome}{end}{_because(entry.code, entry.detail)}"
    yield Line(entry.finished_at, "failed", text)


def _end(told: Told, now: datetime) -> Iterator[Line]:
    run = told.run
    if run is None:
        yield from _without_row(told, now)
    elif run.ended:
        took = ""
        if run.started_at and run.finished_at and run.status in ("succeeded", "failed"):
            took = f" after {span(run.started_at, run.finished_at)}"
        tries = f" with attempt {run.attempt}" if run.attempt > 1 else ""
        text = f"{run.status}{tries}{took}{_because(run.code, run.detail)}"
        yield Line(run.finished_at, "ended", text)
    else:
        yield from _open(told, run, now)


def _without_row(told: Told, now: datetime) -> Iterator[Line]:
    if told.missed is not None:
        m = told.missed
        text = (
            f"did not run: counted with {m.count} from {to_api(m.first)} to {to_api(m.last)}"
            f" as {m.reason}, by the misfire policy {m.policy}"
        )
        yield Line(None, "ended", text)
    elif told.records:
        yield from _unclaimed(told, min(s.start for s in _sent(told)), now)
    elif told.key.scheduled_for > now:
        yield Line(None, "waiting", f"not dispatched yet; due in {span(now, due_of(told))}")
    else:
        yield Line(None, "waiting", "neither its row nor a record that lists it was found")


def _open(told: Told, run: Run, now: datetime) -> Iterator[Line]:
    if run.status == "running" and run.lease_expired(now):
        text = "nobody renews it any more; the next worker that gets its message takes it over"
        yield Line(run.lease_expires_at, "waiting", f"the lease ran out: {text}")
    elif run.status == "running" and run.lease_expires_at is not None:
        left = span(now, run.lease_expires_at)
        yield Line(None, "waiting", f"running; its lease ends in {left} unless it is renewed")
    elif run.status == "retrying":
        yield from _retrying(run, now)
    else:
        start = min((s.start for s in _sent(told)), default=run.due)
        yield from _unclaimed(told, start, now)


def _retrying(run: Run, now: datetime) -> Iterator[Line]:
    at = run.retry_at
    if at is not None and at > now:
        where = "in the index" if run.indexed_at else "as a delayed message"
        text = f"attempt {run.attempt + 1} waits {where} for {span(now, at)} more"
        yield Line(at, "waiting", text)
    else:
        late = f" for {span(at, now)}" if at else ""
        yield Line(at, "waiting", f"attempt {run.attempt + 1} has been due{late}")


def _unclaimed(told: Told, start: datetime, now: datetime) -> Iterator[Line]:
    lock = told.lock
    if start > now:
        yield Line(start, "waiting", f"its message waits; it may start in {span(now, start)}")
        return
    if lock is not None and lock.waits(told.key) and lock.holder is not None:
        text = f"waits for run {lock.holder.run_id}, which holds the overlap lock"
        yield Line(None, "waiting", text)
        return
    text = f"no worker has claimed it, {span(start, now)} after it might have started"
    looks = [r.next_run for r in told.records if r.next_run is not None]
    if looks:
        text += f"; if its message is lost it is sent again after {to_api(min(looks))}"
    yield Line(None, "waiting", text)


def _pointers(run: Run | None) -> Iterator[Line]:
    if run is None or not run.log.group:
        return
    request = f", request {run.log.request_id}" if run.log.request_id else ""
    yield Line(None, "log", f"{run.log.group} stream {run.log.stream or '?'}{request}")


def _because(code: str, detail: str) -> str:
    if not code:
        return ""
    return f": {code}, {detail}" if detail else f": {code}"


def span(start: datetime | None, end: datetime | None) -> str:
    """From one instant to another, as people say it.

    >>> from datetime import UTC, datetime, timedelta
    >>> at = datetime(2026, 11, 30, tzinfo=UTC)
    >>> span(at, at + timedelta(milliseconds=120)), span(at, at + timedelta(hours=2))
    ('120 ms', '2 h')
    >>> span(at, at + timedelta(seconds=3725)), span(at, at + timedelta(seconds=4.52))
    ('1 h 2 min', '4.5 s')
    """
    if start is None or end is None:
        return "an unknown time"
    return shown_span((end - start).total_seconds())


def shown_span(seconds: float) -> str:
    """At most two units; negative ones are shown as 0."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    left, parts = int(seconds), []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
        elif parts:
            break
    return " ".join(parts[:2])
