"""What every call of the control plane has in common: dispatching what its row makes due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from cronce.calendars import Calendars
from cronce.dispatch import dispatch, plan_visit
from cronce.domain.errors import CronceError, Unavailable, Unplannable
from cronce.domain.job import Job, misfire_of
from cronce.domain.message import Message
from cronce.domain.overlap import Lock
from cronce.domain.plan import Misfire, first_due, passed_over
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule
from cronce.missed import record as record_missed
from cronce.ports import DueJob, DueRun, Outgoing, Ports
from cronce.settings import Settings
from cronce.visits import TickReport, Visit

# The first may leave over what its policy keeps for later ticks; each dispatches some hundreds.
MOST_VISITS = 8


@dataclass(frozen=True)
class Base:
    ports: Ports
    settings: Settings

    def _close(self, job: Job, now: datetime, reason: str) -> bool:
        """Accounts for everything up to now, before the schedule that intended it goes away. Of an
        active job it is dispatched; what a visit leaves over of an outage is counted, with the
        reason. Of a paused one it is counted as paused.

        True: the row was advanced. Raises Unavailable: again goes on from there. What cannot be
        planned intends nothing.
        """
        try:
            if job.status == "paused":
                self._count_paused(job, now)
                return False
            return self._settle(job, now, reason)
        except Unplannable as e:
            self.ports.observer.event("not_settled", job=job.job_id, reason=str(e))
            return False

    def _settle(self, job: Job, now: datetime, reason: str) -> bool:
        due = due_job(job)
        for n in range(MOST_VISITS):
            if due is None or due.next.scheduled_for > now:
                return n > 0
            visit = self._planned_up_to(due, now, None if n == 0 else reason)
            if self._dispatch([visit], now).failed:
                raise Unavailable("what was due could not be dispatched")
            p = visit.plan
            assert p is not None
            due = replace(due, next=p.next, runs_planned=p.runs_planned) if p.next else None
        raise Unavailable("more is due than one call dispatches")

    def _planned_up_to(self, due: DueJob, now: datetime, reason: str | None) -> Visit:
        """What was intended up to now: jitter puts its due time off until later. With a reason
        nothing late is left over: it is counted.

        Only what is late is ever counted: should the change not come about, the job goes on as it
        was, and workers ask for the count of what is late (`judge.py`).
        """
        calendars = Calendars(self.ports.store)
        jitter = calendars.schedule(due.plan).jitter
        own = misfire_of(due.plan)
        misfire = own if reason is None else Misfire("skip", own.grace, own.late_limit)
        visit = plan_visit(due, now, self.settings, calendars, horizon=jitter, misfire=misfire)
        visit = visit.only_up_to(now)
        if reason is None or visit.plan is None or visit.plan.missed is None:
            return visit
        missed = replace(visit.plan.missed, policy=own.policy, reason=reason)
        return replace(visit, plan=replace(visit.plan, missed=missed))

    def _count_paused(self, job: Job, now: datetime) -> None:
        schedule = self.schedule_of(job)
        first = first_due(job.uid, schedule, job.changed_at)
        policy = job.misfire().policy
        missed = passed_over(schedule, first, now, policy=policy, reason="paused")
        if missed is not None:
            record_missed(self.ports, job.job_id, job.uid, schedule, missed, now)

    def schedule_of(self, job: Job) -> Schedule:
        """With the calendar that it names. Raises Unplannable, Unavailable."""
        return Calendars(self.ports.store).schedule(job.plan)

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
            self._dispatch([Visit.of_run(item)], self.ports.clock.now())
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
