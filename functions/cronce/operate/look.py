"""Over all jobs: how it went, what is open, what was missed, what comes, what is overdue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, islice

from cronce.calendars import Calendars
from cronce.domain.errors import Unplannable
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds
from cronce.domain.plan import first_due
from cronce.domain.record import DispatchRecord, Sent
from cronce.domain.run import OPEN, Run
from cronce.operate.port import MissedSeen, TickSeen
from cronce.ports import DueJob, DueRecord, DueRun, Ports
from cronce.settings import Settings

# What one call reads, at most; an answer that met a bound says so.
MOST_RECORDS = 4_000
MOST_OPEN = 500
MOST_DUE = 1_000
MOST_OCCURRENCES = 60
MOST_MISSED = 200
BATCH = 100
# Later than this, and a run that nobody has claimed is late rather than about to be.
LATE = timedelta(seconds=60)


@dataclass(frozen=True)
class OpenRun:
    """late: it should have been claimed, or claimed again, for a minute by now."""

    run: Run
    late: bool


@dataclass
class Hour:
    """What was dispatched from `at` on until the hour was over."""

    at: datetime
    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Overview:
    """Of what was dispatched within since..until. runs: sent, each once a dispatch (one that waits
    long for its retry is dispatched again). outcomes: ended status to count. lateness: upper bound
    in milliseconds to the first attempts, of ended runs, that started no later after they might.
    hours: of which something is known, in order. complete: nothing was left out."""

    runs: int
    dispatches: int
    resent: int
    outcomes: Mapping[str, int]
    lateness: Mapping[str, int]
    hours: Sequence[Hour]
    open: Sequence[OpenRun]
    missed: Sequence[MissedSeen]
    complete: bool


@dataclass(frozen=True)
class Coming:
    """dispatched: its message lies in the queue already."""

    scheduled_for: datetime
    due: datetime
    trigger: str = ""
    dispatched: bool = False


@dataclass
class ComingJob:
    """total: occurrences within the time asked for, of which at most 60 are listed."""

    job_id: str
    occurrences: list[Coming] = field(default_factory=list)
    total: int = 0


@dataclass(frozen=True)
class Overdue:
    """What lies in the index although its time has passed, oldest first. more: than are listed."""

    jobs: Sequence[DueJob]
    records: int
    oldest_record: datetime | None
    more: bool


@dataclass(frozen=True)
class Look:
    """Reads, and never writes. Every call is bounded."""

    ports: Ports
    settings: Settings

    @property
    def slices(self) -> range:
        return range(self.settings.slices)

    @property
    def shards(self) -> range:
        return range(self.settings.shards)

    def ticks(self) -> list[TickSeen | None]:
        return [self.ports.store.read_tick(slice_) for slice_ in self.slices]

    def records(
        self, earliest: datetime, latest: datetime, *, latest_first: bool = True
    ) -> Iterator[DispatchRecord]:
        """Of all slices, one after the other."""
        return chain.from_iterable(
            self.ports.store.records(slice_, earliest, latest, latest_first=latest_first)
            for slice_ in self.slices
        )

    # --- what was, and what is open

    def overview(self, since: datetime, until: datetime) -> Overview:
        now = self.ports.clock.now()
        records = list(islice(self.records(since, until), MOST_RECORDS + 1))
        listed = {s.key: s for r in records[:MOST_RECORDS] for s in r.runs}
        sent_at = {s.key: r.dispatched_at for r in records[:MOST_RECORDS] for s in r.runs}
        sent = list(islice(listed.values(), MOST_OPEN))
        found = self._rows([s.key for s in sent])
        runs = [found.get(s.key) or Run(s.key, "pending", due=s.start) for s in sent]
        ended = [(sent_at[run.key], run.status) for run in runs if run.ended]
        hours, lateness = _counted(records[:MOST_RECORDS], ended)
        outcomes = Counter[str]()
        for hour in hours:
            outcomes.update(hour.outcomes)
        missed = list(islice(self.ports.store.missed_between(since, until), MOST_MISSED + 1))
        return Overview(
            runs=sum(r.total for r in records[:MOST_RECORDS]),
            dispatches=min(len(records), MOST_RECORDS),
            resent=sum(r.resent for r in records[:MOST_RECORDS]),
            outcomes=dict(outcomes),
            lateness=dict(lateness),
            hours=hours,
            open=[OpenRun(run, is_late(run, now)) for run in runs if run.status in OPEN],
            missed=[m for m in missed[:MOST_MISSED] if m.missed.count],
            complete=len(records) <= MOST_RECORDS
            and len(listed) <= MOST_OPEN
            and len(missed) <= MOST_MISSED,
        )

    def _rows(self, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
        found: dict[RunKey, Run] = {}
        for start in range(0, len(keys), BATCH):
            found |= self.ports.store.read_runs(keys[start : start + BATCH])
        return found

    # --- what comes

    def coming(self, until: datetime) -> tuple[list[ComingJob], bool]:
        """By the first occurrence of each; whether nothing was left out."""
        now = self.ports.clock.now()
        jobs: dict[str, ComingJob] = {}
        calendars = Calendars(self.ports.store)
        items = list(islice(self.ports.store.due(self.shards, until), MOST_DUE + 1))
        for item in items[:MOST_DUE]:
            if isinstance(item, DueRun) and item.at > now:
                _add(jobs, item.key, Coming(item.key.scheduled_for, item.at, item.key.trigger))
            elif isinstance(item, DueJob):
                self._of_schedule(jobs, item, calendars, now, until)
        sent = list(islice(self._on_their_way(now), MOST_OPEN + 1))
        for s in sent[:MOST_OPEN]:
            if s.start <= until:
                coming = Coming(s.key.scheduled_for, s.start, s.key.trigger, dispatched=True)
                _add(jobs, s.key, coming)
        for job in jobs.values():
            job.occurrences.sort(key=lambda c: c.due)
        listed = [job for job in jobs.values() if job.occurrences]
        listed.sort(key=lambda job: (job.occurrences[0].due, job.job_id))
        return listed, len(items) <= MOST_DUE and len(sent) <= MOST_OPEN

    def _of_schedule(
        self,
        jobs: dict[str, ComingJob],
        item: DueJob,
        calendars: Calendars,
        now: datetime,
        until: datetime,
    ) -> None:
        try:
            schedule = calendars.schedule(item.plan)
        except (Unplannable, ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            return
        left = None if schedule.max_runs is None else max(0, schedule.max_runs - item.runs_planned)
        room = MOST_OCCURRENCES if left is None else min(left, MOST_OCCURRENCES)
        job = jobs.setdefault(item.job_id, ComingJob(item.job_id))
        at = max(item.next.scheduled_for, now) - seconds(1)
        counted = schedule.count(at, until)
        job.total += counted if left is None else min(counted, left)
        for _ in range(room):
            due = first_due(item.uid, schedule, at)
            if due is None or due.due > until:
                break
            at = due.scheduled_for
            job.occurrences.append(Coming(due.scheduled_for, due.due))

    def _on_their_way(self, now: datetime) -> Iterator[Sent]:
        """Dispatched, and not yet to be started."""
        recent = now - self.settings.ahead - LATE
        for record in islice(self.records(recent, now), MOST_OPEN):
            yield from (s for s in record.runs if s.start > now)

    # --- what is wrong

    def overdue(self) -> Overdue:
        """Past their time in the index: a tick dispatches more than three minutes ahead, and looks
        at a record within a minute."""
        now = self.ports.clock.now()
        items = list(islice(self.ports.store.due(self.shards, now), BATCH + 1))
        jobs = [item for item in items if isinstance(item, DueJob)]
        records = [item.at for item in items if isinstance(item, DueRecord)]
        return Overdue(jobs, len(records), min(records, default=None), len(items) > BATCH)


def _counted(
    records: Sequence[DispatchRecord], ended: Iterable[tuple[datetime, str]]
) -> tuple[list[Hour], Counter[str]]:
    """ended: when it was sent and how it ended, of runs that their record does not count yet."""
    hours: dict[datetime, Hour] = {}
    lateness: Counter[str] = Counter()
    for record in records:
        hour = hours.setdefault(_hour(record.dispatched_at), Hour(_hour(record.dispatched_at)))
        hour.runs += record.total
        hour.outcomes.update(record.counts)
        lateness.update(record.lateness)
    for at, status in ended:
        hours[_hour(at)].outcomes[status] += 1
    return sorted(hours.values(), key=lambda hour: hour.at), lateness


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _add(jobs: dict[str, ComingJob], key: RunKey, coming: Coming) -> None:
    job = jobs.setdefault(key.job_id, ComingJob(key.job_id))
    known = any(
        (c.scheduled_for, c.trigger) == (coming.scheduled_for, coming.trigger)
        for c in job.occurrences
    )
    if not known:
        job.occurrences.append(coming)
        job.total += 1


def is_late(run: Run, now: datetime) -> bool:
    """Nobody works on it, and somebody should have for a minute."""
    if run.status == "pending":
        return run.due < now - LATE
    if run.status == "running":
        return run.lease_expires_at is None or run.lease_expires_at < now - LATE
    return run.status == "retrying" and run.retry_at is not None and run.retry_at < now - LATE
