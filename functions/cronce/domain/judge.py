"""May this run start? Asked at its due time, before the claim, of the job as it is then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cronce import limits
from cronce.domain.calendar import Calendar
from cronce.domain.errors import Unplannable
from cronce.domain.instants import seconds
from cronce.domain.job import Job, StoredJob
from cronce.domain.message import Message
from cronce.domain.overlap import lock_of
from cronce.domain.plan import Missed
from cronce.domain.replan import MARGIN
from cronce.domain.schedule import jittered
from cronce.domain.stamps import calendar_of


@dataclass(frozen=True)
class Proceed:
    """It may start; or it has started before, and the claim decides."""


@dataclass(frozen=True)
class Cancel:
    code: str
    detail: str


@dataclass(frozen=True)
class Skip:
    code: str
    detail: str


@dataclass(frozen=True)
class Miss:
    code: str
    detail: str


Verdict = Proceed | Cancel | Skip | Miss


def needs_missed(message: Message, stored: StoredJob | None, now: datetime) -> bool:
    """Whether a `missed` record could cover the occurrence: it is late, by the clock of anybody who
    counts; was planned by another generation; or a call of the API that came too late to change the
    job had already counted up to it. Only then is the table asked."""
    if stored is None or message.key.trigger or stored.job.uid != message.key.uid:
        return False
    job = stored.job
    if message.generation != job.generation:
        return True
    if job.generation > 1 and message.key.scheduled_for <= job.changed_at + MARGIN:
        return True
    return now - message.due > seconds(_grace(job) - limits.CLOCK_DIFFERENCE)


def needs_calendar(message: Message, stored: StoredJob | None, now: datetime) -> bool:
    """Whether the schedule of a job that names a calendar is looked at. Only then is that read."""
    if stored is None or message.key.trigger or calendar_of(stored.job.plan) is None:
        return False
    late = now - message.due > seconds(_grace(stored.job))
    return late or message.generation != stored.job.generation


def judge(
    message: Message,
    stored: StoredJob | None,
    missed: Missed | None,
    now: datetime,
    calendar: Calendar | None = None,
) -> Verdict:
    """Rules of a job's life first, of time second. A triggered run ends early only by deletion.

    calendar: the one that the job names, where `needs_calendar`.
    """
    if stored is None or stored.job.uid != message.key.uid:
        return Cancel("job_deleted", "the job was deleted")
    if missed is not None:
        return Miss(missed.reason, f"recorded as {missed.reason} already")
    own = not message.key.trigger
    if own and stored.job.status == "paused":
        return Cancel("job_paused", "the job was paused")
    if own and not _still_planned(message, stored.job, calendar):
        return Cancel("schedule_changed", "the schedule no longer contains this occurrence")
    late = now - message.start
    deadline = stored.definition.start_deadline
    if deadline is not None and late > seconds(deadline):
        return Skip("late", f"could not start within {deadline} s")
    if not own or _waits_in_line(message, stored):
        return Proceed()
    return _judge_late(message, stored.job, now, calendar)


def _waits_in_line(message: Message, stored: StoredJob) -> bool:
    """It was there in time, and an earlier run of the job kept it from starting."""
    return lock_of(message.key.uid, stored.lock).has(message.key)


def _still_planned(message: Message, job: Job, calendar: Calendar | None) -> bool:
    """What fell due before the change stands; of what came after, only what the new plan has."""
    if message.generation == job.generation or message.key.scheduled_for <= job.changed_at:
        return True
    try:
        return job.schedule(calendar).contains(message.key.scheduled_for)
    except Unplannable:
        return True


def _judge_late(message: Message, job: Job, now: datetime, calendar: Calendar | None) -> Verdict:
    try:
        misfire = job.misfire()
        late = (now - message.start).total_seconds()
        if late <= misfire.late_limit:
            return Proceed()
        if misfire.policy == "skip":
            return Skip(
                "late", f"first claimed more than {misfire.late_limit} s after its due time"
            )
        if misfire.policy == "run_all":
            if misfire.window is None or late <= misfire.window:
                return Proceed()
            return Skip("late", "older than the window of run_all")
        if _later_one_is_due(message, job, now, calendar):
            return Skip("superseded", "late, and a later occurrence has come due")
    except Unplannable:
        pass
    return Proceed()


def _later_one_is_due(message: Message, job: Job, now: datetime, calendar: Calendar | None) -> bool:
    schedule = job.schedule(calendar)
    later = schedule.next_after(message.key.scheduled_for)
    return later is not None and jittered(job.uid, later, schedule) <= now


def _grace(job: Job) -> int:
    try:
        return job.misfire().grace
    except Unplannable:
        return 0
