"""The control plane: what users ask for. Each call answers success once its row is written; what is
due inside the horizon is then dispatched at once, and if that fails the tick does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cronce import limits
from cronce.dispatch import TickReport, Visit, dispatch, plan_visit
from cronce.domain.definition import JobSpec
from cronce.domain.errors import (
    AlreadyExists,
    CronceError,
    JobNotFound,
    RunNotFound,
    Unavailable,
    VersionMismatch,
    WrongState,
)
from cronce.domain.identity import RunKey, manual_trigger, parse_run_id, shard_of
from cronce.domain.instants import seconds
from cronce.domain.job import Definition, Job, StoredJob, make_plan
from cronce.domain.plan import Due, Missed
from cronce.domain.record import Sent
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule, jittered
from cronce.domain.transitions import Ending
from cronce.ports import Changed, DueJob, DueRun, Page, Ports
from cronce.settings import Settings

# Parses the request as of `now`, with `anchor` for a rate; raises Invalid with every fault.
Parse = Callable[[datetime, datetime], JobSpec]
EDIT_TRIES = 4


@dataclass(frozen=True)
class Put:
    stored: StoredJob
    created: bool
    changed: bool


@dataclass(frozen=True)
class Control:
    """by: the caller's identity, kept as who created, changed or triggered."""

    ports: Ports
    settings: Settings

    # --- jobs

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
            put = (
                self._create(job_id, parse, by)
                if stored is None
                else self._replace(stored, parse, by)
            )
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
            self._settle(stored.job, self.ports.clock.now())
            if self.ports.store.delete_job(stored.job):
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
            return replace(job, status="paused", next=None, reason=note)

        return self._change(job_id, change, by, if_match)

    def resume(self, job_id: str, *, by: str, if_match: int | None = None) -> StoredJob:
        """From now on; what fell into the pause is recorded as paused, not missed."""

        def change(stored: StoredJob, now: datetime) -> Job | None:
            job = stored.job
            if job.status == "active":
                return None
            if job.status == "ended":
                raise WrongState(f"job {job_id!r}", job.status, "resume")
            schedule = job.schedule()
            if job.status == "paused":
                self._record_gap(job, schedule, job.changed_at, now, "paused")
            then = _next_due(job.uid, schedule, now)
            return replace(job, status="active" if then else "ended", next=then, reason="")

        stored = self._change(job_id, change, by, if_match)
        self._dispatch_ahead(stored.job)
        return stored

    # --- runs

    def run_now(self, job_id: str, *, by: str, client_id: str | None = None) -> tuple[Run, bool]:
        """A triggered run, and whether it is new: the same client id again finds the first one."""
        job = self.get(job_id).job
        now = self.ports.clock.now()
        trigger = manual_trigger(client_id or self.ports.random.token()[:12])
        key = RunKey(job_id, job.uid, now.replace(microsecond=0), trigger)
        result = self.ports.store.trigger(key, triggered_by=by, now=now)
        if result.run is None:
            raise Unavailable("the run was neither written nor found")
        if isinstance(result, Changed):
            self._dispatch_run(result.run)
        return result.run, isinstance(result, Changed)

    def get_run(self, job_id: str, run_id: str) -> Run:
        """Raises RunNotFound."""
        return self._run(self._key(job_id, run_id), job_id, run_id)

    def list_runs(self, job_id: str, *, limit: int, cursor: str | None = None) -> Page:
        """Latest occurrence first, also of a job that was deleted.

        Raises JobNotFound for one that neither exists nor has runs.
        """
        page = self.ports.store.list_runs(job_id, limit=limit, cursor=cursor)
        if not page.items and cursor is None and self.ports.store.read_job(job_id) is None:
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
        return run

    def redrive_run(self, job_id: str, run_id: str, *, by: str) -> Run:
        """New attempts for a failed run; the counter goes on. Raises RunNotFound, WrongState."""
        key = self._key(job_id, run_id)
        self._run(key, job_id, run_id)
        stored = self.ports.store.read_job(job_id)
        if stored is None or stored.job.uid != key.uid:
            raise WrongState(f"run {run_id}", "of a deleted job", "redrive")
        result = self.ports.store.redrive(key, triggered_by=by, now=self.ports.clock.now())
        if not isinstance(result, Changed):
            state = result.run.status if result.run else "gone"
            raise WrongState(f"run {run_id}", state, "redrive")
        self._dispatch_run(result.run)
        return result.run

    # --- steps

    def _create(self, job_id: str, parse: Parse, by: str) -> Put | None:
        now = self.ports.clock.now()
        spec = parse(now, _anchor(now))
        uid = self.ports.random.uid()
        job = Job(
            job_id=job_id,
            uid=uid,
            generation=1,
            version=1,
            status="active",
            plan=make_plan(spec.schedule, spec.misfire),
            shard=shard_of(job_id, self.settings.shards),
            changed_at=now,
            next=_next_due(uid, spec.schedule, now),
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
            plan=make_plan(spec.schedule, spec.misfire),
            group=spec.group,
        )
        if replan:
            self._settle(stored.job, now)
            then = _next_due(job.uid, spec.schedule, now) if job.status != "paused" else None
            status = "paused" if job.status == "paused" else "active"
            job = _next_generation(job, now, status=status, next=then, runs_planned=0)
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
            self._settle(stored.job, now)
            job = _next_generation(replace(changed, version=changed.version + 1), now)
            definition = replace(stored.definition, updated_at=now, updated_by=by)
            if self.ports.store.edit_job(stored.job, job, definition, replan=True):
                self.ports.observer.event("job_changed", job=job_id, by=by, status=job.status)
                return StoredJob(job, definition)
        raise self._lost_race(job_id)

    def _settle(self, job: Job, now: datetime) -> None:
        """Dispatches what was intended up to now, before the schedule that intended it goes away.
        Raises Unavailable: then nothing was changed."""
        due = _due_job(job)
        if due is None or due.next.scheduled_for > now:
            return
        schedule = job.schedule()
        visit = plan_visit(due, now, schedule.jitter).only_up_to(now)
        report = self._dispatch([visit], now)
        if report.failed:
            raise Unavailable("what was due could not be dispatched")
        assert visit.plan is not None
        rest = visit.plan.next
        if rest is not None and rest.scheduled_for <= now:
            self._record_gap(job, schedule, rest.scheduled_for - seconds(1), now, "edited")

    def _record_gap(
        self, job: Job, schedule: Schedule, after: datetime, until: datetime, reason: str
    ) -> None:
        """Occurrences in (after, until] that nobody will run, counted."""
        first = schedule.next_after(after)
        if first is None or first > until:
            return
        last = schedule.latest_at_or_before(until, not_before=after) or first
        missed = Missed(first, last, schedule.count(after, until), job.misfire().policy, reason)
        self.ports.store.put_missed(
            job.job_id, job.uid, missed, now=until, history=limits.HISTORY_DEFAULT
        )

    def _dispatch_ahead(self, job: Job) -> None:
        due = _due_job(job)
        now = self.ports.clock.now()
        if due is None or due.at > now + self.settings.ahead:
            return
        try:
            self._dispatch([plan_visit(due, now, self.settings.horizon)], now)
        except CronceError as e:
            self.ports.observer.event("dispatch_left_to_tick", job=job.job_id, reason=str(e))

    def _dispatch_run(self, run: Run) -> None:
        if run.indexed_at is None:
            return
        item = DueRun(run.key, run.indexed_at)
        try:
            self._dispatch([Visit(item, (Sent(run.key, 0, item.at),))], self.ports.clock.now())
        except CronceError as e:
            self.ports.observer.event("dispatch_left_to_tick", job=run.key.job_id, reason=str(e))

    def _dispatch(self, visits: list[Visit], now: datetime) -> TickReport:
        report = TickReport()
        dispatch(self.ports, self.settings, visits, now, by="api", report=report)
        return report

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
        """An occurrence of this job that may have a message but no row yet."""
        if stored is None or stored.job.uid != key.uid or key.trigger:
            return False
        created = stored.definition.created_at or stored.job.changed_at
        in_time = created <= key.scheduled_for <= now + self.settings.ahead
        return in_time and stored.job.schedule().contains(key.scheduled_for)

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
        return None if same else replace(spec, schedule=stored.job.schedule())
    return parse(now, _anchor(now))


def _same_schedule(stored: StoredJob, spec: JobSpec) -> bool:
    return spec.definition.document.get("schedule") == stored.definition.document.get("schedule")


def _next_generation(job: Job, now: datetime, **changes: Any) -> Job:
    return replace(replace(job, **changes), generation=job.generation + 1, changed_at=now)


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


def _next_due(uid: str, schedule: Schedule, now: datetime) -> Due | None:
    """Strictly after now, from the moment of the edit: changing a schedule never fires at once."""
    first = schedule.next_after(now)
    return Due(first, jittered(uid, first, schedule)) if first else None


def _due_job(job: Job) -> DueJob | None:
    if job.status != "active" or job.next is None:
        return None
    return DueJob(job.job_id, job.uid, job.generation, job.plan, job.next, job.runs_planned)
