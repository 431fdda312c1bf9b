"""Planning again what was planned with other time zone rules, or with another calendar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cronce.aftermath import expire_ended
from cronce.calendars import Calendars
from cronce.control.base import Base, due_job
from cronce.domain.errors import CalendarNotFound, CronceError, Unplannable
from cronce.domain.job import Job
from cronce.domain.plan import Due
from cronce.domain.replan import is_outdated, moved, settled
from cronce.domain.stamps import Stamp, stamp_for, stamp_of
from cronce.ports import Page

PAGE = 100
TRIES = 2
NOTHING_LEFT = "nothing is left of its schedule"


@dataclass(frozen=True)
class Moved:
    """planned: with what `before` was planned. after: None when the job has ended."""

    job_id: str
    planned: Stamp
    before: datetime
    after: datetime | None


@dataclass(frozen=True)
class Replanned:
    """looked_at: jobs. standing: of them, planned with other data and left, because what comes next
    may have been dispatched; the tick goes on from there. failed: could not be written; again may
    help. cursor: None at the end."""

    looked_at: int
    moved: tuple[Moved, ...]
    standing: int
    failed: tuple[str, ...]
    cursor: str | None


@dataclass(frozen=True)
class _Outcome:
    moved: Moved | None = None
    standing: bool = False
    failed: str = ""


class ReplanControl(Base):
    def replan(
        self,
        *,
        calendar: str | None = None,
        dry_run: bool = False,
        limit: int = PAGE,
        cursor: str | None = None,
    ) -> Replanned:
        """One page of the active jobs, or of those that name a calendar, by the data of this
        release: a job whose next occurrence it puts elsewhere goes there. Again is harmless.

        Raises CalendarNotFound; Invalid for a cursor of something else; Unavailable.
        """
        page = self._page(calendar, limit, cursor)
        calendars = Calendars(self.ports.store)
        if calendar is not None and calendars.find(calendar) is None:
            raise CalendarNotFound(calendar)
        jobs = page.items

        def look(item: object) -> _Outcome:
            return self._look(item, calendars, dry_run)

        return _sum(page, self.ports.threads.each(look, jobs))

    def _page(self, calendar: str | None, limit: int, cursor: str | None) -> Page:
        store = self.ports.store
        if calendar is not None:
            return store.list_users(calendar, limit=limit, cursor=cursor)
        return store.list_jobs(status="active", limit=limit, cursor=cursor)

    def _look(self, item: object, calendars: Calendars, dry_run: bool) -> _Outcome:
        """item: a job as it was listed, or a job's id."""
        job = item if isinstance(item, Job) else None
        job_id = job.job_id if job else str(item)
        try:
            for _ in range(TRIES):
                job = job or self._active(job_id)
                if job is None:
                    return _Outcome()
                outcome = self._replan(job, calendars, dry_run)
                if outcome is not None:
                    return outcome
                job = None
        except Unplannable:
            # The tick says so in the job, which leaves the index.
            return _Outcome()
        except CronceError as e:
            self.ports.observer.event("replan_failed", job=job_id, reason=str(e))
        return _Outcome(failed=job_id)

    def _active(self, job_id: str) -> Job | None:
        stored = self.ports.store.read_job(job_id)
        return stored.job if stored and stored.job.status == "active" else None

    def _replan(self, job: Job, calendars: Calendars, dry_run: bool) -> _Outcome | None:
        """None: it has moved on in the meantime."""
        due, stamp = due_job(job), stamp_of(job.plan)
        if due is None:
            return _Outcome()
        schedule = calendars.schedule(job.plan)
        until = settled(self.ports.clock.now(), self.settings.ahead)
        then = moved(uid=job.uid, schedule=schedule, stamp=stamp, current=due.next, until=until)
        if then == due.next:
            stands = due.next.scheduled_for <= until and is_outdated(schedule, stamp)
            return _Outcome(standing=stands)
        if not dry_run and not self.ports.store.advance(
            due,
            then,
            runs_planned=due.runs_planned,
            reason="" if then else NOTHING_LEFT,
            stamp=stamp_for(schedule, then),
        ):
            return None
        if then is None and not dry_run:
            expire_ended(self.ports, job.job_id, job.uid)
        return _Outcome(Moved(job.job_id, stamp, due.next.scheduled_for, _instant(then)))


def _instant(due: Due | None) -> datetime | None:
    return due.scheduled_for if due else None


def _sum(page: Page, outcomes: Iterable[_Outcome]) -> Replanned:
    every = list(outcomes)
    return Replanned(
        looked_at=len(every),
        moved=tuple(o.moved for o in every if o.moved),
        standing=sum(o.standing for o in every),
        failed=tuple(o.failed for o in every if o.failed),
        cursor=page.cursor,
    )
