"""Creating, replacing, pausing and deleting jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cronce.control.base import Base
from cronce.domain.definition import JobSpec
from cronce.domain.errors import (
    AlreadyExists,
    CalendarNotFound,
    CronceError,
    JobNotFound,
    Unplannable,
    VersionMismatch,
    WrongState,
)
from cronce.domain.identity import shard_of
from cronce.domain.instants import epoch_seconds, seconds
from cronce.domain.job import Definition, Job, JobStatus, StoredJob, make_plan
from cronce.domain.plan import Due, first_due
from cronce.domain.stamps import stamp_for, stamped

# Parses the request as of `now`, with `anchor` for a rate; raises Invalid with every fault.
Parse = Callable[[datetime, datetime], JobSpec]
EDIT_TRIES = 4
# Who changed a job that nobody asked to change.
BY_ITSELF = "cronce"


@dataclass(frozen=True)
class Put:
    stored: StoredJob
    created: bool
    changed: bool


class JobControl(Base):
    """by: the caller's identity, kept as who created or changed."""

    def put(
        self,
        job_id: str,
        parse: Parse,
        *,
        by: str,
        if_match: int | None = None,
        if_none_match: bool = False,
    ) -> Put:
        """Creates the job or replaces its definition; the same again changes nothing.

        Raises Invalid, AlreadyExists, VersionMismatch, Unavailable.
        """
        for _ in range(EDIT_TRIES):
            stored = self.ports.store.read_job(job_id)
            _check_preconditions(job_id, stored, if_match, if_none_match)
            try:
                put = (
                    self._create(job_id, parse, by)
                    if stored is None
                    else self._replace(stored, parse, by)
                )
            except CalendarNotFound:
                # Deleted since the request was parsed, which will now say so.
                continue
            if put is not None:
                return put
        raise self._lost_race(job_id)

    def get(self, job_id: str) -> StoredJob:
        """Raises JobNotFound."""
        stored = self.ports.store.read_job(job_id)
        if stored is None:
            raise JobNotFound(job_id)
        return stored

    def delete(self, job_id: str, *, if_match: int | None = None) -> None:
        """What was due is dispatched first; what lies ahead is withdrawn. Raises JobNotFound,
        VersionMismatch, Unavailable."""
        for _ in range(EDIT_TRIES):
            stored = self.get(job_id)
            _check_preconditions(job_id, stored, if_match, False)
            self._close(stored.job, self.ports.clock.now(), "edited")
            if self.ports.store.delete_job(stored.job):
                self.ports.observer.event("job_deleted", job=job_id)
                self._wake(stored.lock)
                return
        raise self._lost_race(job_id)

    def pause(
        self, job_id: str, *, by: str, note: str = "", if_match: int | None = None
    ) -> StoredJob:
        """A paused job stays as it is. Raises WrongState for one that ended or is in error."""

        def change(stored: StoredJob, now: datetime) -> Job | None:
            job = stored.job
            if job.status == "paused":
                return None
            if job.status != "active":
                raise WrongState(f"job {job_id!r}", job.status, "pause")
            return self._paused(job, now, note)

        return self._change(job_id, change, by, if_match)

    def pause_failing(self, job: Job, count: int) -> bool:
        """Of a job whose last runs failed. False: it is not any more what it was when they did."""
        paused: list[Job] = []

        def change(stored: StoredJob, now: datetime) -> Job | None:
            paused.clear()
            found = stored.job
            seen = (found.uid, found.generation, found.status)
            if seen != (job.uid, job.generation, "active"):
                return None
            reason = f"paused after {count} failed run{'s' if count > 1 else ''} in a row"
            paused.append(self._paused(found, now, reason))
            return paused[0]

        self._change(job.job_id, change, BY_ITSELF, None)
        if paused:
            self.ports.observer.event("job_paused_on_failure", job=job.job_id, count=count)
        return bool(paused)

    def _paused(self, job: Job, now: datetime, reason: str) -> Job:
        """What was dispatched ahead does not count: it is cancelled, or planned again on resume."""
        planned = job.runs_planned
        try:
            schedule = self.schedule_of(job)
            if job.next is not None and schedule.max_runs is not None:
                planned -= schedule.count(now, job.next.scheduled_for - seconds(1))
        except Unplannable as e:
            self.ports.observer.event("not_counted", job=job.job_id, reason=str(e))
        return replace(job, status="paused", next=None, reason=reason, runs_planned=max(0, planned))

    def resume(self, job_id: str, *, by: str, if_match: int | None = None) -> StoredJob:
        """From now on; what fell into the pause is recorded as paused, not missed."""

        def change(stored: StoredJob, now: datetime) -> Job | None:
            job = stored.job
            if job.status == "active":
                return None
            if job.status == "ended":
                raise WrongState(f"job {job_id!r}", job.status, "resume")
            schedule = self.schedule_of(job)
            then = first_due(job.uid, schedule, now)
            plan = stamped(job.plan, stamp_for(schedule, then))
            status: JobStatus = "active" if then else "ended"
            return replace(job, plan=plan, status=status, next=then, reason="")

        stored = self._change(job_id, change, by, if_match)
        self._dispatch_ahead(stored.job)
        return stored

    def _create(self, job_id: str, parse: Parse, by: str) -> Put | None:
        now = self.ports.clock.now()
        spec = parse(now, _anchor(now))
        uid = self.ports.random.uid()
        then = first_due(uid, spec.schedule, now)
        job = Job(
            job_id=job_id,
            uid=uid,
            generation=1,
            version=1,
            status="active",
            plan=_plan(spec, then),
            shard=shard_of(job_id, self.settings.shards),
            changed_at=now,
            next=then,
            group=spec.group,
        )
        definition = _signed(spec.definition, now, by, None)
        found = self.ports.store.create_job(job, definition)
        if found is not None:
            return None
        self.ports.observer.event("job_created", job=job_id, by=by)
        self._dispatch_ahead(job)
        return Put(StoredJob(job, definition), created=True, changed=True)

    def _replace(self, stored: StoredJob, parse: Parse, by: str) -> Put | None:
        now = self.ports.clock.now()
        spec = _parse_again(stored, parse, now)
        if spec is None:
            return Put(stored, created=False, changed=False)
        replan = not _same_schedule(stored, spec)
        job = replace(
            stored.job,
            version=stored.job.version + 1,
            plan={**stored.job.plan, "misfire": spec.misfire.to_plan()},
            group=spec.group,
        )
        if replan:
            self._close(stored.job, now, "edited")
            then = first_due(job.uid, spec.schedule, now) if job.status != "paused" else None
            job = replace(job, plan=_plan(spec, then))
            status = "paused" if job.status == "paused" else "active"
            reason = job.reason if status == "paused" else ""
            job = _next_generation(
                job, now, status=status, next=then, runs_planned=0, reason=reason
            )
        elif job.expires_at is not None:
            after = spec.definition.delete_after
            job = replace(job, expires_at=None if after is None else epoch_seconds(now) + after)
        definition = _signed(spec.definition, now, by, stored.definition)
        if not self.ports.store.edit_job(stored.job, job, definition, replan=replan):
            return None
        self.ports.observer.event("job_changed", job=job.job_id, by=by, version=job.version)
        self._dispatch_ahead(job)
        return Put(StoredJob(job, definition), created=False, changed=True)

    def _change(
        self,
        job_id: str,
        change: Callable[[StoredJob, datetime], Job | None],
        by: str,
        if_match: int | None,
    ) -> StoredJob:
        """A change of status: a new generation; what was due is dispatched first."""
        for _ in range(EDIT_TRIES):
            stored = self.get(job_id)
            _check_preconditions(job_id, stored, if_match, False)
            now = self.ports.clock.now()
            changed = change(stored, now)
            if changed is None:
                return stored
            if self._close(stored.job, now, "paused"):
                # What it dispatched counts, and may have been the last.
                stored = self.get(job_id)
                _check_preconditions(job_id, stored, if_match, False)
                changed = change(stored, now)
                if changed is None:
                    return stored
            job = _next_generation(replace(changed, version=changed.version + 1), now)
            definition = replace(stored.definition, updated_at=now, updated_by=by)
            if self.ports.store.edit_job(stored.job, job, definition, replan=True):
                self.ports.observer.event("job_changed", job=job_id, by=by, status=job.status)
                return StoredJob(job, definition)
        raise self._lost_race(job_id)

    def _lost_race(self, job_id: str) -> CronceError:
        stored = self.ports.store.read_job(job_id)
        return VersionMismatch(job_id, stored.job.version if stored else None)


def _check_preconditions(
    job_id: str, stored: StoredJob | None, if_match: int | None, if_none_match: bool
) -> None:
    if if_none_match and stored is not None:
        raise AlreadyExists(job_id, stored.job.version)
    version = stored.job.version if stored else None
    if if_match is not None and version != if_match:
        raise VersionMismatch(job_id, version)


def _parse_again(stored: StoredJob, parse: Parse, now: datetime) -> JobSpec | None:
    """The request against a job that exists; None when it says what is already so.

    Read as of the job's creation first: a one-time job that has run may be put again unchanged, and
    a rate keeps its anchor as long as its schedule is not changed.
    """
    created = stored.definition.created_at or stored.job.changed_at
    try:
        spec = parse(created, _anchor(created))
    except CronceError:
        return parse(now, _anchor(now))
    if _same_schedule(stored, spec):
        same = (
            spec.definition.document == stored.definition.document
            and spec.definition.payload == stored.definition.payload
            and spec.definition.payload_is_json == stored.definition.payload_is_json
        )
        return None if same else spec
    return parse(now, _anchor(now))


def _plan(spec: JobSpec, then: Due | None) -> dict[str, object]:
    return stamped(make_plan(spec.schedule, spec.misfire), stamp_for(spec.schedule, then))


def _same_schedule(stored: StoredJob, spec: JobSpec) -> bool:
    return spec.definition.document.get("schedule") == stored.definition.document.get("schedule")


def _next_generation(job: Job, now: datetime, **changes: Any) -> Job:
    changed = replace(job, **changes)
    return replace(changed, generation=job.generation + 1, changed_at=now, expires_at=None)


def _signed(d: Definition, now: datetime, by: str, before: Definition | None) -> Definition:
    return replace(
        d,
        created_at=before.created_at if before else now,
        created_by=before.created_by if before else by,
        updated_at=now,
        updated_by=by,
    )


def _anchor(now: datetime) -> datetime:
    """Occurrences lie on whole seconds."""
    return now.replace(microsecond=0)
