"""What follows the end of a run: who waits for it goes on, a job that keeps failing is paused, a
job that has ended goes away.

Done after the end is written, and again whenever a message finds the run ended: a crash in between
leaves nothing undone, and doing it twice comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from cronce import limits
from cronce.domain.errors import JobNotFound, VersionMismatch
from cronce.domain.instants import EPOCH, epoch_seconds, seconds
from cronce.domain.job import Job, StoredJob
from cronce.domain.run import OPEN, Run
from cronce.overlap import leave
from cronce.ports import Ports
from cronce.settings import Settings

PAGE = 100
# Rows looked at for failures in a row: most of a job's may be skipped ones.
MOST_PAGES = 5


def follow(ports: Ports, settings: Settings, run: Run, stored: StoredJob | None) -> bool:
    """run: as it ended. stored: the job as it was read before. False: it is too early to tell
    whether the job ended with this run; ask again later. Raises Unavailable."""
    _let_go(ports, run, stored)
    if stored is None or stored.job.uid != run.key.uid:
        return True
    if run.status == "failed" and stored.definition.pause_on_failure is not None:
        _pause(ports, settings, stored, stored.definition.pause_on_failure)
    return stored.definition.delete_after is None or _expire_with(ports, run, stored)


def expire_ended(ports: Ports, job_id: str, uid: str) -> None:
    """As after the end of a run, of a job that may have ended without one. Raises Unavailable."""
    stored = ports.store.read_job(job_id)
    if stored is not None and stored.job.uid == uid:
        _expire(ports, stored)


def keep(ports: Ports, stored: StoredJob) -> None:
    """A run of a job that is about to go away begins: until it has ended, the job stays."""
    job, after = stored.job, stored.definition.delete_after
    if job.expires_at is not None and after is not None:
        most = stored.definition.history + after
        ports.store.expire_job(job, epoch_seconds(ports.clock.now()) + most)


def _let_go(ports: Ports, run: Run, stored: StoredJob | None) -> None:
    """Only where somebody may wait: a job that was deleted, one that queues, or queued before."""
    may_wait = stored is None or stored.definition.overlap.startswith("queue")
    if may_wait or (stored is not None and stored.lock is not None and stored.lock.waiting):
        leave(ports, run.key)


def _pause(ports: Ports, settings: Settings, stored: StoredJob, count: int) -> None:
    if stored.job.status != "active" or not _keeps_failing(ports, stored.job, count):
        return
    # Here and not above: few jobs ask for it, and no other worker pays for loading it.
    from cronce.control import Control

    try:
        Control(ports, settings).pause_failing(stored.job, count)
    except (JobNotFound, VersionMismatch) as e:
        ports.observer.event("not_paused", job=stored.job.job_id, reason=str(e))


def _keeps_failing(ports: Ports, job: Job, count: int) -> bool:
    """Whether the last so many runs that came to an end, by occurrence, all failed; of those that
    ended since the job was last changed or resumed."""
    failed = 0
    for run in _latest(ports, job):
        if run.status not in ("succeeded", "failed") or run.finished_at is None:
            continue
        if run.status == "succeeded" or run.finished_at <= job.changed_at:
            return False
        failed += 1
        if failed == count:
            return True
    return False


def _expire_with(ports: Ports, run: Run, stored: StoredJob) -> bool:
    """False: the dispatcher has not moved the job past this occurrence yet, so nobody knows whether
    another one follows."""
    if stored.job.status != "ended":
        again = ports.store.read_job(stored.job.job_id)
        if again is None or again.job.uid != run.key.uid:
            return True
        stored = again
    job = stored.job
    if job.status == "active":
        passed = job.next is None or job.next.scheduled_for > run.key.scheduled_for
        return passed or bool(run.key.trigger)
    _expire(ports, stored)
    return True


def _expire(ports: Ports, stored: StoredJob) -> None:
    """The time counts from now, unless a run is open: then from its end."""
    job, after = stored.job, stored.definition.delete_after
    if job.status != "ended" or after is None:
        return
    if any(run.status in OPEN for run in _latest(ports, job)):
        return
    if ports.store.expire_job(job, epoch_seconds(ports.clock.now()) + after):
        ports.observer.event("job_expires", job=job.job_id, after=after)


def _latest(ports: Ports, job: Job) -> Iterator[Run]:
    """Runs of this job, the latest occurrence first, consistently, up to a bound."""
    cursor = None
    until = ports.clock.now() + seconds(limits.HORIZON)
    for _ in range(MOST_PAGES):
        page = ports.store.list_runs(
            job.job_id, limit=PAGE, cursor=cursor, earliest=EPOCH, latest=until
        )
        for run in page.items:
            if isinstance(run, Run) and run.key.uid == job.uid:
                yield run
        cursor = page.cursor
        if cursor is None:
            return
