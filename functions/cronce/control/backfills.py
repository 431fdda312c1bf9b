"""Backfills: asking for one, trying it dry, seeing how far it is, cancelling it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from cronce.backfill import own_runs
from cronce.calendars import Calendars
from cronce.control.base import Base
from cronce.dispatch import fill
from cronce.domain.backfill import (
    EXECUTED,
    MOST_OCCURRENCES,
    Backfill,
    count,
    occurrences,
)
from cronce.domain.errors import (
    BackfillNotFound,
    CronceError,
    Invalid,
    JobNotFound,
    Unavailable,
    WrongState,
)
from cronce.domain.identity import shard_of
from cronce.domain.job import StoredJob
from cronce.domain.overlap import Overlap
from cronce.ports import DueBackfill, Page
from cronce.visits import TickReport

CANCEL_TRIES = 6


@dataclass(frozen=True)
class Ask:
    """first, before: the range, its end not included. id: None makes one up."""

    first: datetime
    before: datetime
    pace: int
    overlap: Overlap | None = None
    id: str | None = None


@dataclass(frozen=True)
class DryRun:
    """What a backfill would look at. existing: as many of them the schedule has run itself."""

    total: int
    first: datetime | None
    last: datetime | None
    existing: int


class BackfillControl(Base):
    """by: the caller's identity, kept as who asked."""

    def try_backfill(self, job_id: str, ask: Ask) -> DryRun:
        """Changes nothing. Raises JobNotFound, Invalid, Unplannable."""
        stored, planned = self._planned(job_id, ask)
        schedule = self.schedule_of(stored.job)
        found = occurrences(schedule, planned.first, planned.before, MOST_OCCURRENCES)
        own = own_runs(self.ports, job_id, planned.uid, found)
        existing = sum(1 for at in found if at in own and own[at].status in EXECUTED)
        if not found:
            return DryRun(0, None, None, 0)
        return DryRun(len(found), found[0], found[-1], existing)

    def backfill(self, job_id: str, ask: Ask, *, by: str) -> tuple[Backfill, bool]:
        """The backfill, and whether it is new: the same id again finds the first one. Its first
        runs are dispatched at once; if that fails, the tick does it. Raises JobNotFound, Invalid,
        Unplannable, WrongState."""
        _, planned = self._planned(job_id, ask)
        planned = replace(planned, created_by=by)
        found = self.ports.store.create_backfill(planned)
        if found is not None:
            if not found.asks_for_the_same(planned):
                raise WrongState(f"backfill {found.id!r}", "of another range", "start again")
            return found, False
        self.ports.observer.event("backfill_created", job=job_id, id=planned.id, by=by)
        self._begin(planned)
        return self.ports.store.read_backfill(job_id, planned.id) or planned, True

    def get_backfill(self, job_id: str, backfill_id: str) -> Backfill:
        """Raises BackfillNotFound."""
        found = self.ports.store.read_backfill(job_id, backfill_id)
        if found is None:
            raise BackfillNotFound(job_id, backfill_id)
        return found

    def list_backfills(self, job_id: str, *, limit: int, cursor: str | None = None) -> Page:
        """By id, also of a job that was deleted. Raises JobNotFound, Invalid."""
        page = self.ports.store.list_backfills(job_id, limit=limit, cursor=cursor)
        if not page.items and cursor is None and self.ports.store.read_job(job_id) is None:
            raise JobNotFound(job_id)
        return page

    def cancel_backfill(self, job_id: str, backfill_id: str, *, by: str) -> Backfill:
        """Starts no more runs; those that have not begun are cancelled when their turn comes. A
        cancelled one stays as it is. Raises BackfillNotFound, WrongState for one that is done."""
        for _ in range(CANCEL_TRIES):
            found = self.get_backfill(job_id, backfill_id)
            if found.status == "cancelled":
                return found
            if found.status == "done":
                raise WrongState(f"backfill {backfill_id!r}", found.status, "cancel")
            then = found.cancelled(f"cancelled by {by}"[:200], self.ports.clock.now())
            if self.ports.store.update_backfill(found, then):
                self.ports.observer.event("backfill_cancelled", job=job_id, id=backfill_id, by=by)
                return then
        raise Unavailable(f"backfill {backfill_id}: in conflict with the tick")

    def _planned(self, job_id: str, ask: Ask) -> tuple[StoredJob, Backfill]:
        """What the schedule is still going to run by itself is not in the range."""
        stored = self.ports.store.read_job(job_id)
        if stored is None:
            raise JobNotFound(job_id)
        job, now = stored.job, self.ports.clock.now()
        before = min(ask.before, job.next.scheduled_for) if job.next else ask.before
        total = count(self.schedule_of(job), ask.first, before)
        if total > MOST_OCCURRENCES:
            accepted = f"a range of at most {MOST_OCCURRENCES} occurrences"
            raise Invalid.one("/to", "too_many", f"{total} occurrences", accepted)
        backfill_id = ask.id or self.ports.random.token()[:12]
        return stored, Backfill(
            job_id=job_id,
            id=backfill_id,
            uid=job.uid,
            first=ask.first,
            before=max(before, ask.first),
            pace=ask.pace,
            total=total,
            shard=shard_of(job_id, self.settings.shards),
            created_at=now,
            overlap=ask.overlap,
            next_run=now,
        )

    def _begin(self, b: Backfill) -> None:
        item = DueBackfill(b.job_id, b.id, b.created_at)
        try:
            calendars = Calendars(self.ports.store)
            fill(self.ports, self.settings, item, calendars, by="api", report=TickReport())
        except CronceError as e:
            self.ports.observer.event("dispatch_left_to_tick", job=b.job_id, reason=str(e))
