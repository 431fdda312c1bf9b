"""Job rows in memory."""

from __future__ import annotations

from datetime import datetime

from cronce.adapters import recognise
from cronce.adapters.calendar_items import (
    CALENDAR_SK,
    calendar_from_item,
    calendar_pk,
    user_sk,
    user_to_item,
)
from cronce.adapters.items import (
    JOB_SK,
    LAST,
    LOCK_SK,
    MISSED_PREFIX,
    SPEC_SK,
    VERSION,
    is_known,
    job_pk,
    mapping,
    missed_sk,
    present,
)
from cronce.adapters.job_items import (
    definition_from_item,
    definition_to_item,
    index_entry,
    job_changes,
    job_from_item,
    job_to_item,
    missed_from_item,
    missed_to_item,
)
from cronce.adapters.locks import lock_from_item, lock_to_item
from cronce.adapters.wire import Item
from cronce.domain.errors import CalendarNotFound, Unplannable
from cronce.domain.identity import RunKey
from cronce.domain.instants import to_wire
from cronce.domain.job import Definition, Job, StoredJob
from cronce.domain.overlap import Lock
from cronce.domain.plan import Due, Missed
from cronce.domain.stamps import Stamp, calendar_of, stamped, unstamped
from cronce.ports import BrokenRow, DueJob
from cronce.testing.memory_rows import MemoryRows


class MemoryJobs:
    rows: MemoryRows

    def read_job(self, job_id: str) -> StoredJob | None:
        with self.rows.lock:
            job = self.rows.get(job_pk(job_id), JOB_SK)
            spec = self.rows.get(job_pk(job_id), SPEC_SK)
            lock = self.read_lock(job_id)
        if job is None:
            return None
        read = job_from_item(job)
        if read.is_gone(self.rows.now()):
            return None
        if spec is None:
            raise Unplannable(f"job {job_id} has no definition")
        return StoredJob(read, definition_from_item(spec), lock)

    def read_lock(self, job_id: str) -> Lock | None:
        item = self.rows.get(job_pk(job_id), LOCK_SK)
        return lock_from_item(item) if item else None

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        item = lock_to_item(job_id, lock)
        with self.rows.lock:
            found = self.rows.get(job_pk(job_id), LOCK_SK)
            if (None if believed is None else (believed.uid, believed.version)) != (
                None if found is None else (found["uid"], found["version"])
            ):
                return found == item
            if found is not None and not is_known(found):
                return False
            self.rows.put(item)
            return True

    def create_job(self, job: Job, definition: Definition) -> Job | None:
        with self.rows.lock:
            found = self.rows.get(job_pk(job.job_id), JOB_SK)
            if found is not None:
                old = job_from_item(found)
                if not old.is_gone(job.changed_at):
                    return None if old.uid == job.uid else old
            self._use(job, None, calendar_of(job.plan))
            self.rows.put(job_to_item(job))
            self.rows.put(definition_to_item(job, definition))
            return None

    def edit_job(self, believed: Job, job: Job, definition: Definition, *, replan: bool) -> bool:
        with self.rows.lock:
            found = self.rows.get(job_pk(job.job_id), JOB_SK)
            spec = definition_to_item(job, definition)
            if found is None:
                return False
            if not _is_as_read(found, believed):
                return self._is_edited(found, spec, job)
            self._use(job, _counted(believed), _counted(job))
            self.rows.put(present({**found, **job_changes(job, replan=replan)}))
            self.rows.put(spec)
            return True

    def _is_edited(self, found: Item, spec: Item, job: Job) -> bool:
        old = job_from_item(found)
        same = (old.uid, old.version, old.group) == (job.uid, job.version, job.group)
        same = same and unstamped(old.plan) == unstamped(job.plan)
        return same and self.rows.get(job_pk(job.job_id), SPEC_SK) == spec

    def delete_job(self, believed: Job) -> bool:
        pk = job_pk(believed.job_id)
        with self.rows.lock:
            found = self.rows.get(pk, JOB_SK)
            if found is not None and not _is_as_read(found, believed):
                return False
            if found is not None:
                self._use(believed, _counted(believed), None)
            self.rows.delete(pk, JOB_SK)
            self.rows.delete(pk, SPEC_SK)
            self.rows.delete(pk, LOCK_SK)
            return True

    def expire_job(self, job: Job, expires_at: int) -> bool:
        believed = (job.uid, job.generation, "ended")
        with self.rows.lock:
            found = self.rows.get(job_pk(job.job_id), JOB_SK)
            spec = self.rows.get(job_pk(job.job_id), SPEC_SK)
            if found is None or spec is None or not is_known(found) or not is_known(spec):
                return False
            if tuple(map(found.get, ("uid", "generation", "status"))) != believed:
                return False
            self._use(job, _counted(job), None)
            self.rows.put({**found, "expires_at": expires_at})
            self.rows.put({**spec, "expires_at": expires_at})
            return True

    def _use(self, job: Job, before: str | None, now: str | None) -> None:
        """What the job's transaction writes at calendars. Raises CalendarNotFound, UnknownVersion
        before anything is written."""
        if before == now:
            return
        rows = {
            name: self.rows.get(calendar_pk(name), CALENDAR_SK) for name in (before, now) if name
        }
        for row in rows.values():
            if row is not None:
                calendar_from_item(row)
        if now is not None and rows[now] is None:
            raise CalendarNotFound(now)
        for name, change in ((before, -1), (now, 1)):
            row = rows.get(name) if name else None
            if row is not None:
                users = row["users"]
                assert isinstance(users, int)
                self.rows.put({**row, "users": users + change})
        if before is not None:
            self.rows.delete(calendar_pk(before), user_sk(job.job_id))
        if now is not None:
            self.rows.put(user_to_item(now, job.job_id, job.uid))

    def advance(
        self,
        due: DueJob,
        then: Due | None,
        *,
        runs_planned: int,
        reason: str = "",
        stamp: Stamp | None = None,
    ) -> bool:
        changes = {"runs_planned": runs_planned or None, **index_entry(then)}
        if then is None:
            changes |= {"status": "ended", "reason": reason or None}
        with self.rows.lock:
            found = self.rows.get(job_pk(due.job_id), JOB_SK)
            if found is not None and stamp is not None:
                changes |= {"plan": stamped(mapping(found, "plan"), stamp)}
            if self._moved(found, due, changes):
                return True
            return found is not None and recognise.advanced(job_from_item(found), due, then)

    def set_error(self, row: DueJob | BrokenRow, reason: str) -> bool:
        changes = {"status": "error", "reason": reason, **index_entry(None)}
        with self.rows.lock:
            if isinstance(row, BrokenRow):
                return self._broken(row, changes)
            found = self.rows.get(job_pk(row.job_id), JOB_SK)
            if self._moved(found, row, changes):
                return True
            return found is not None and recognise.in_error(job_from_item(found), row, reason)

    def _moved(self, found: Item | None, due: DueJob, changes: dict[str, object | None]) -> bool:
        believed = (due.uid, due.generation, to_wire(due.next.due))
        if found is None or not is_known(found):
            return False
        if tuple(map(found.get, ("uid", "generation", "next_run"))) != believed:
            return False
        self.rows.put(present({**found, "v": VERSION, **changes}))
        return True

    def _broken(self, row: BrokenRow, changes: dict[str, object | None]) -> bool:
        if row.sk != JOB_SK:
            del changes["status"]
        found = self.rows.get(row.pk, row.sk)
        if found is None or _is_newer(found):
            return False
        if found.get("next_run") != row.next_run:
            return "next_run" not in found and found.get("reason") == changes["reason"]
        self.rows.put(present({**found, **changes}))
        return True

    def set_failing(self, job: Job, failing: bool) -> bool:
        with self.rows.lock:
            found = self.rows.get(job_pk(job.job_id), JOB_SK)
            if found is None or not is_known(found) or found.get("uid") != job.uid:
                return False
            if ("failing" in found) == failing:
                return False
            self.rows.put(present({**found, "failing": failing or None}))
            return True

    def put_missed(
        self, job_id: str, uid: str, missed: Missed, *, now: datetime, history: int
    ) -> None:
        self.rows.put(missed_to_item(job_id, uid, missed, now=now, history=history))

    def find_missed(self, key: RunKey) -> Missed | None:
        last = missed_sk(key.scheduled_for, LAST)
        at = to_wire(key.scheduled_for)
        for item in reversed(self.rows.between(job_pk(key.job_id), MISSED_PREFIX, last)):
            if is_known(item) and item.get("uid") == key.uid and str(item.get("last")) >= at:
                return missed_from_item(item)
        return None


def _counted(job: Job) -> str | None:
    return None if job.expires_at is not None else calendar_of(job.plan)


def _is_as_read(found: Item, believed: Job) -> bool:
    same = (found.get("uid"), found.get("version")) == (believed.uid, believed.version)
    return same and is_known(found)


def _is_newer(found: Item) -> bool:
    v = found.get("v")
    return isinstance(v, int) and v > VERSION
