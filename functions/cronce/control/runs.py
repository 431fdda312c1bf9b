"""Triggering, reading, cancelling and redriving runs."""

from __future__ import annotations

from datetime import datetime

from cronce import limits
from cronce.aftermath import expire_ended
from cronce.control.base import Base
from cronce.domain.backfill import backfill_of
from cronce.domain.errors import CronceError, JobNotFound, RunNotFound, Unavailable, WrongState
from cronce.domain.identity import RunKey, manual_trigger, parse_run_id
from cronce.domain.instants import seconds
from cronce.domain.job import StoredJob
from cronce.domain.run import Run, RunStatus
from cronce.domain.transitions import Ending
from cronce.overlap import leave, vacate
from cronce.ports import Changed, Page


class RunControl(Base):
    """by: the caller's identity, kept as who triggered."""

    def run_now(self, job_id: str, *, by: str, client_id: str | None = None) -> tuple[Run, bool]:
        """A triggered run, and whether it is new: the same client id again finds the first one."""
        stored = self.ports.store.read_job(job_id)
        if stored is None:
            raise JobNotFound(job_id)
        now = self.ports.clock.now()
        trigger = manual_trigger(client_id or self.ports.random.token()[:12])
        key = RunKey(job_id, stored.job.uid, now.replace(microsecond=0), trigger)
        result = self.ports.store.trigger(key, triggered_by=by, now=now)
        if result.run is None:
            raise Unavailable("the run was neither written nor found")
        if isinstance(result, Changed):
            self._dispatch_run(result.run)
        return result.run, isinstance(result, Changed)

    def get_run(self, job_id: str, run_id: str) -> Run:
        """Raises RunNotFound."""
        return self._run(self._key(job_id, run_id), job_id, run_id)

    def list_runs(
        self,
        job_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        status: RunStatus | None = None,
    ) -> Page:
        """Latest occurrence first, also of a job that was deleted. Those of one status: a page may
        be short, even empty, and still have a cursor.

        Raises JobNotFound for one that neither exists nor has runs.
        """
        store = self.ports.store
        page = store.list_runs(job_id, limit=limit, cursor=cursor, status=status)
        if page.items or page.cursor or cursor or store.read_job(job_id) is not None:
            return page
        if status is None or not store.list_runs(job_id, limit=1).items:
            raise JobNotFound(job_id)
        return page

    def cancel_run(self, job_id: str, run_id: str, *, by: str) -> Run:
        """From every open state, a dispatched run without a row included. A cancelled run stays as
        it is. Raises RunNotFound, WrongState for a run that ended otherwise."""
        key = self._key(job_id, run_id)
        now = self.ports.clock.now()
        stored = self.ports.store.read_job(job_id)
        if self.ports.store.read_run(key) is None and not self._is_dispatched(key, stored, now):
            raise RunNotFound(job_id, run_id)
        history = stored.definition.history if stored else limits.HISTORY_DEFAULT
        e = Ending("requested", f"cancelled by {by}"[:512], history)
        result = self.ports.store.cancel(key, key.scheduled_for, e, by_request=True, now=now)
        run = result.run
        if run is None or (not isinstance(result, Changed) and run.status != "cancelled"):
            raise WrongState(f"run {run_id}", run.status if run else "unknown", "cancel")
        if stored is not None:
            self._follow(key, stored)
        return run

    def _follow(self, key: RunKey, stored: StoredJob) -> None:
        """Whoever waited for it goes on (if this fails, reconciling sees to it); a job that ended
        with it goes away."""
        try:
            if _takes_turns(key, stored):
                leave(self.ports, key)
            if stored.definition.delete_after is not None:
                expire_ended(self.ports, key.job_id, key.uid)
        except CronceError as e:
            self.ports.observer.event("leave_failed", job=key.job_id, reason=str(e))

    def redrive_run(self, job_id: str, run_id: str, *, by: str) -> Run:
        """New attempts for a failed run; the counter goes on. Raises RunNotFound; WrongState, also
        for the schedule's own runs of a paused job."""
        key = self._key(job_id, run_id)
        self._run(key, job_id, run_id)
        stored = self.ports.store.read_job(job_id)
        if stored is None or stored.job.uid != key.uid:
            raise WrongState(f"run {run_id}", "of a deleted job", "redrive")
        if stored.job.status == "paused" and not key.trigger:
            # The pause would cancel it, and a cancelled run cannot be redriven.
            raise WrongState(f"run {run_id}", "of a paused job", "redrive before resume")
        if _takes_turns(key, stored):
            vacate(self.ports, key)
        result = self.ports.store.redrive(key, triggered_by=by, now=self.ports.clock.now())
        if not isinstance(result, Changed):
            state = result.run.status if result.run else "gone"
            raise WrongState(f"run {run_id}", state, "redrive")
        self._dispatch_run(result.run)
        return result.run

    def _key(self, job_id: str, run_id: str) -> RunKey:
        key = parse_run_id(job_id, run_id)
        if key is None:
            raise RunNotFound(job_id, run_id)
        return key

    def _run(self, key: RunKey, job_id: str, run_id: str) -> Run:
        run = self.ports.store.read_run(key)
        if run is None:
            raise RunNotFound(job_id, run_id)
        return run

    def _is_dispatched(self, key: RunKey, stored: StoredJob | None, now: datetime) -> bool:
        """An occurrence of this job that may have a message but no row yet: neither so old that
        its row may have expired, nor counted as missed."""
        if stored is None or stored.job.uid != key.uid or key.trigger:
            return False
        created = stored.definition.created_at or stored.job.changed_at
        oldest = max(created, now - seconds(limits.QUEUE_RETENTION))
        if not oldest <= key.scheduled_for <= now + self.settings.ahead:
            return False
        planned = self.schedule_of(stored.job).contains(key.scheduled_for)
        return planned and self.ports.store.find_missed(key) is None


def _takes_turns(key: RunKey, stored: StoredJob) -> bool:
    """Whether it may hold the overlap lock; a backfill has a policy of its own."""
    return stored.definition.overlap != "allow" or backfill_of(key) is not None
