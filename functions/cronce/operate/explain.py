"""Finding what is known of one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from cronce.calendars import Calendars
from cronce.domain.errors import JobNotFound, RunNotFound, Unavailable, Unplannable
from cronce.domain.identity import RunKey, parse_run_id
from cronce.domain.job import StoredJob
from cronce.domain.record import DispatchRecord
from cronce.domain.run import Run
from cronce.operate.look import Look
from cronce.operate.story import Line, Told, story

# Two days of one dispatcher that sends no more than 100 runs a minute.
MOST_RECORDS = 3_000
MOST_FOUND = 20
SLACK = timedelta(seconds=60)
SEARCHED = timedelta(days=1)


@dataclass(frozen=True)
class Explained:
    """searched: whether every record that may list the run was looked at."""

    told: Told
    story: list[Line]
    searched: bool


def explain(look: Look, job_id: str, run_id: str) -> Explained:
    """Raises RunNotFound for what neither ran, nor was missed, nor lies ahead."""
    key = parse_run_id(job_id, run_id)
    if key is None:
        raise RunNotFound(job_id, run_id)
    store, now = look.ports.store, look.ports.clock.now()
    run = store.read_run(key)
    stored = _job(look, job_id)
    missed = None if key.trigger else store.find_missed(key)
    records, searched = _records(look, key, run)
    if run is None and missed is None and not records and not _ahead(look, stored, key, now):
        raise RunNotFound(job_id, run_id)
    told = Told(key, run, records, missed, stored.lock if stored else None)
    return Explained(told, story(told, now), searched)


def _records(look: Look, key: RunKey, run: Run | None) -> tuple[list[DispatchRecord], bool]:
    """The one that its row names, whether it still lists the run or not; and those that list it. A
    tick sends no earlier than its horizon, and a day later there is nothing to send but retries."""
    named: list[DispatchRecord] = []
    if run is not None and run.dispatched_at is not None:
        named = list(islice(look.records(run.dispatched_at, run.dispatched_at), 1))
    if named and run is not None and run.ended:
        return named, True
    due = run.due if run else key.scheduled_for
    end = run.finished_at if run and run.finished_at else look.ports.clock.now()
    earliest = key.scheduled_for - look.settings.ahead - SLACK
    records = look.records(earliest, min(end, due + SEARCHED), latest_first=False)
    found = {record.record_id: record for record in named}
    looked_at = list(islice(records, MOST_RECORDS))
    found |= {r.record_id: r for r in looked_at if any(s.key == key for s in r.runs)}
    ordered = sorted(found.values(), key=lambda record: record.record_id)
    return ordered[:MOST_FOUND], len(looked_at) < MOST_RECORDS


def _job(look: Look, job_id: str) -> StoredJob | None:
    try:
        return look.ports.store.read_job(job_id)
    except (Unplannable, JobNotFound):
        return None


def _ahead(look: Look, stored: StoredJob | None, key: RunKey, now: datetime) -> bool:
    """An occurrence that this job's schedule has, and nobody has sent yet."""
    if stored is None or stored.job.uid != key.uid or key.trigger or key.scheduled_for <= now:
        return False
    try:
        schedule = Calendars(look.ports.store).schedule(stored.job.plan)
        return schedule.contains(key.scheduled_for)
    except (Unplannable, Unavailable):
        return False
