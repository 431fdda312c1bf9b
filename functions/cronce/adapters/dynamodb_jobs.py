"""Job rows: users' edits by uid and version, the dispatcher's writes by uid, generation and T."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from cronce.adapters import recognise
from cronce.adapters.dynamodb_calendars import (
    Write,
    check_calendar_is_there,
    is_gone,
    job_writes,
)
from cronce.adapters.expressions import ABSENT, KNOWN, Delete, Put, Refusal, Update
from cronce.adapters.items import (
    JOB_SK,
    LAST,
    LOCK_SK,
    MISSED_PREFIX,
    SPEC_SK,
    VERSION,
    job_pk,
    missed_sk,
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
from cronce.adapters.locks import lock_from_item
from cronce.domain.errors import Unavailable, Unplannable
from cronce.domain.identity import RunKey
from cronce.domain.instants import epoch_seconds, to_wire
from cronce.domain.job import Definition, Job, StoredJob
from cronce.domain.plan import Due, Missed
from cronce.domain.stamps import Stamp, calendar_of, unstamped
from cronce.ports import BrokenRow, DueJob

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

# Nobody has edited it since it was read, and it is still the job of the same creation.
AS_READ: Final = f"{KNOWN} AND #uid = :uid AND #version = :version"
# The same job, the same schedule, and still at the occurrence that was dispatched. T alone would
# not do: an edit may have put another schedule's next occurrence at the same instant.
AT_T: Final = f"{KNOWN} AND #uid = :uid AND #generation = :generation AND #next_run = :t"

# The expiry itself is compared: the table removes an expired row only days later.
VACANT: Final = f"{ABSENT} OR #expires_at <= :epoch"
# Nothing of the schedule is to come, and nobody has given it another one since.
ENDED: Final = f"{KNOWN} AND #uid = :uid AND #generation = :generation AND #status = :ended"

# Whoever changes it is told so, and nobody else.
NOT_SO_YET: Final = {
    True: f"{KNOWN} AND #uid = :uid AND attribute_not_exists(#failing)",
    False: f"{KNOWN} AND #uid = :uid AND attribute_exists(#failing)",
}

# Whatever it has for a version, unless that is a newer one.
STILL_BROKEN: Final = "NOT (attribute_type(#v, :n) AND #v > :v) AND #next_run = :t"

# Where a stamp stands in the row. Its parts one by one: the rest of the plan is the user's, who may
# be writing it at this moment.
STAMPED: Final = {
    "tzdata": "plan.#schedule.#tzdata",
    "offset": "plan.#schedule.#offset",
    "calendar": "plan.#schedule.#calendar.#version",
}
NO_STAMP: Final = Stamp()


class JobRows:
    table: Table

    def read_job(self, job_id: str) -> StoredJob | None:
        pages = self.table.pages(
            "#pk = :pk AND #sk BETWEEN :from AND :to",
            {"pk": job_pk(job_id), "from": JOB_SK, "to": LOCK_SK},
            consistent=True,
        )
        rows = {item["sk"]: item for page in pages for item in page}
        if JOB_SK not in rows:
            return None
        job = job_from_item(rows[JOB_SK])
        if job.is_gone(self.table.now()):
            return None
        if SPEC_SK not in rows:
            raise Unplannable(f"job {job_id} has no definition")
        return StoredJob(
            job,
            definition_from_item(rows[SPEC_SK]),
            lock_from_item(rows[LOCK_SK]) if LOCK_SK in rows else None,
        )

    def create_job(self, job: Job, definition: Definition) -> Job | None:
        name = calendar_of(job.plan)
        writes: list[Write] = [
            Put(job_to_item(job), VACANT, {"epoch": epoch_seconds(job.changed_at)}),
            Put(definition_to_item(job, definition)),
            *job_writes(job.job_id, job.uid, None, name),
        ]
        refused = self.table.transact(writes)
        if refused is None:
            return None
        found = _found_job(refused[0])
        if found is None:
            check_calendar_is_there(writes, refused, name)
            raise Unavailable(f"job {job.job_id}: refused, and nobody says why")
        return None if found.uid == job.uid else found

    def edit_job(self, believed: Job, job: Job, definition: Definition, *, replan: bool) -> bool:
        edit = Update(
            job_pk(job.job_id),
            JOB_SK,
            job_changes(job, replan=replan),
            AS_READ,
            _as_read(believed),
        )
        writes: list[Write] = [edit, Put(definition_to_item(job, definition))]
        refused = self._transact(writes, believed, _counted(job))
        if refused is None:
            return True
        found = _found_job(refused)
        if found is None or (found.uid, found.version) != (job.uid, job.version):
            return False
        return self._is_edited(job, definition)

    def _transact(
        self, writes: Sequence[Write], believed: Job, calendar: str | None
    ) -> Refusal | None:
        """An edit or a deletion, with what it means for calendars; the refusal of its first write.
        calendar: the one that the job names from then on."""
        before = _counted(believed)
        for counted in (True, False):
            uses = job_writes(believed.job_id, believed.uid, before, calendar, counted=counted)
            every = [*writes, *uses]
            refused = self.table.transact(every)
            if refused is None or refused[0] is not None:
                return None if refused is None else refused[0]
            check_calendar_is_there(every, refused, calendar)
            if not is_gone(every, refused, before):
                break
        raise Unavailable(f"job {believed.job_id}: refused, and nobody says why")

    def _is_edited(self, job: Job, definition: Definition) -> bool:
        """The version is the one that we wrote; another edit of the same row wrote the same one."""
        stored = self.read_job(job.job_id)
        return (
            stored is not None
            and (stored.job.uid, stored.job.version) == (job.uid, job.version)
            and unstamped(stored.job.plan) == unstamped(job.plan)
            and stored.job.group == job.group
            and definition_to_item(job, stored.definition) == definition_to_item(job, definition)
        )

    def delete_job(self, believed: Job) -> bool:
        pk = job_pk(believed.job_id)
        writes: list[Write] = [
            Delete(pk, JOB_SK, AS_READ, _as_read(believed)),
            Delete(pk, SPEC_SK),
            Delete(pk, LOCK_SK),
        ]
        refused = self._transact(writes, believed, None)
        return refused is None or refused.found is None

    def expire_job(self, job: Job, expires_at: int) -> bool:
        pk, changes = job_pk(job.job_id), {"expires_at": expires_at}
        values = {"v": VERSION, "uid": job.uid, "generation": job.generation, "ended": "ended"}
        writes: list[Write] = [
            Update(pk, JOB_SK, changes, ENDED, values),
            Update(pk, SPEC_SK, changes, KNOWN, {"v": VERSION}),
        ]
        return self._transact(writes, job, None) is None

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
        refused = self._at_t(due, changes, stamp or NO_STAMP)
        found = None if refused is None else _found_job(refused)
        return refused is None or (found is not None and recognise.advanced(found, due, then))

    def set_error(self, row: DueJob | BrokenRow, reason: str) -> bool:
        changes = {"status": "error", "reason": reason, **index_entry(None)}
        if isinstance(row, BrokenRow):
            return self._break(row, changes)
        refused = self._at_t(row, changes)
        found = None if refused is None else _found_job(refused)
        return refused is None or (found is not None and recognise.in_error(found, row, reason))

    def _at_t(
        self, due: DueJob, changes: dict[str, object | None], stamp: Stamp = NO_STAMP
    ) -> Refusal | None:
        told = {name: value for name, value in vars(stamp).items() if value is not None}
        values = {
            **told,
            "v": VERSION,
            "uid": due.uid,
            "generation": due.generation,
            "t": to_wire(due.next.due),
        }
        compute = {STAMPED[name]: f":{name}" for name in told}
        changes = {"v": VERSION, **changes}
        write = Update(job_pk(due.job_id), JOB_SK, changes, AT_T, values, compute)
        answer = self.table.update(write)
        return answer if isinstance(answer, Refusal) else None

    def _break(self, row: BrokenRow, changes: dict[str, object | None]) -> bool:
        """Only a job has a status `error`; any other row just leaves the index, with the reason."""
        if row.sk != JOB_SK:
            del changes["status"]
        answer = self.table.update(
            Update(
                row.pk, row.sk, changes, STILL_BROKEN, {"v": VERSION, "n": "N", "t": row.next_run}
            )
        )
        if not isinstance(answer, Refusal):
            return True
        found = answer.found
        return (
            found is not None
            and "next_run" not in found
            and found.get("reason") == changes["reason"]
        )

    def set_failing(self, job: Job, failing: bool) -> bool:
        changes, values = {"failing": failing or None}, {"v": VERSION, "uid": job.uid}
        write = Update(job_pk(job.job_id), JOB_SK, changes, NOT_SO_YET[failing], values)
        return not isinstance(self.table.update(write), Refusal)

    def put_missed(
        self, job_id: str, uid: str, missed: Missed, *, now: datetime, history: int
    ) -> None:
        self.table.put(Put(missed_to_item(job_id, uid, missed, now=now, history=history)))

    def find_missed(self, key: RunKey) -> Missed | None:
        pages = self.table.pages(
            "#pk = :pk AND #sk BETWEEN :from AND :to",
            {
                "pk": job_pk(key.job_id),
                "from": MISSED_PREFIX,
                "to": missed_sk(key.scheduled_for, LAST),
                "uid": key.uid,
                "at": to_wire(key.scheduled_for),
                "v": VERSION,
            },
            filter_=f"{KNOWN} AND #uid = :uid AND #last >= :at",
            consistent=True,
            descending=True,
        )
        for page in pages:
            for item in page:
                return missed_from_item(item)
        return None


def _counted(job: Job) -> str | None:
    """The calendar that counts the job as a user: one that is about to go away is none."""
    return None if job.expires_at is not None else calendar_of(job.plan)


def _as_read(job: Job) -> dict[str, object]:
    return {"v": VERSION, "uid": job.uid, "version": job.version}


def _found_item(refused: Refusal | None) -> dict[str, object] | None:
    return refused.found if refused else None


def _found_job(refused: Refusal | None) -> Job | None:
    item = _found_item(refused)
    return job_from_item(item) if item else None
