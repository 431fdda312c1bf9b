"""What every call of the control plane has in common: dispatching what its row makes due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cronce.calendars import Calendars
from cronce.dispatch import dispatch, plan_visit
from cronce.domain.errors import CronceError, Unavailable, Unplannable
from cronce.domain.instants import seconds
from cronce.domain.job import Job
from cronce.domain.message import Message
from cronce.domain.overlap import Lock
from cronce.domain.plan import first_due, passed_over
from cronce.domain.record import Sent
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule
from cronce.missed import record as record_missed
from cronce.ports import DueJob, DueRun, Outgoing, Ports
from cronce.settings import Settings
from cronce.visits import TickReport, Visit


@dataclass(frozen=True)
class Base:
    ports: Ports
    settings: Settings

    def _settle(self, job: Job, now: datetime) -> bool:
        """Dispatches what was intended up to now, before the schedule that intended it goes away.
        True: the row was advanced. Raises Unavailable: then nothing was changed. What cannot be
        planned intends nothing."""
        due = due_job(job)
        if due is None or due.next.scheduled_for > now:
            return False
        try:
            visit = self._planned_up_to(due, now)
        except Unplannable as e:
            self.ports.observer.event("not_settled", job=job.job_id, reason=str(e))
            return False
        report = self._dispatch([visit], now)
        if report.failed:
            raise Unavailable("what was due could not be dispatched")
        assert visit.plan is not None
        assert visit.schedule is not None
        rest = visit.plan.next
        if rest is not None and rest.scheduled_for <= now:
            self._record_gap(job, visit.schedule, rest.scheduled_for - seconds(1), now, "edited")
        return True

    def _planned_up_to(self, due: DueJob, now: datetime) -> Visit:
        """What was intended up to now: jitter puts its due time off until later."""
        calendars = Calendars(self.ports.store)
        jitter = calendars.schedule(due.plan).jitter
        return plan_visit(due, now, self.settings, calendars, horizon=jitter).only_up_to(now)

    def schedule_of(self, job: Job) -> Schedule:
        """With the calendar that it names. Raises Unplannable, Unavailable."""
        return Calendars(self.ports.store).schedule(job.plan)

    def _record_gap(
        self, job: Job, schedule: Schedule, after: datetime, until: datetime, reason: str
    ) -> None:
        """Occurrences in (after, until] that nobody will run, counted."""
        missed = passed_over(
            schedule,
            first_due(job.uid, schedule, after),
            until,
            policy=job.misfire().policy,
            reason=reason,
        )
        if missed is None:
            return
        record_missed(self.ports, job.job_id, job.uid, schedule, missed, until)

    def _dispatch_ahead(self, job: Job) -> None:
        due = due_job(job)
        now = self.ports.clock.now()
        if due is None or due.at > now + self.settings.ahead:
            return
        try:
            calendars = Calendars(self.ports.store)
            self._dispatch([plan_visit(due, now, self.settings, calendars)], now)
        except CronceError as e:
            self.ports.observer.event("dispatch_left_to_tick", job=job.job_id, reason=str(e))

    def _dispatch_run(self, run: Run) -> None:
        if run.indexed_at is None:
            return
        item = DueRun(run.key, run.indexed_at)
        try:
            self._dispatch([Visit(item, (Sent(run.key, 0, item.due),))], self.ports.clock.now())
        except CronceError as e:
            self.ports.observer.event("dispatch_left_to_tick", job=run.key.job_id, reason=str(e))

    def _wake(self, lock: Lock | None) -> None:
        """Messages for the runs that waited for a lock that is gone: they are found cancelled."""
        if lock is None or not lock.waiting:
            return
        now = self.ports.clock.now()
        self.ports.queue.send(
            [Outgoing(Message(s.key, s.generation, s.due, now), 0) for s in lock.waiting]
        )

    def _dispatch(self, visits: list[Visit], now: datetime) -> TickReport:
        report = TickReport()
        dispatch(self.ports, self.settings, visits, now, by="api", report=report)
        return report


def due_job(job: Job) -> DueJob | None:
    if job.status != "active" or job.next is None:
        return None
    planned = job.runs_planned
    return DueJob(job.job_id, job.uid, job.generation, job.plan, job.next, planned, job.group)
