"""A job as the table keeps it: what planning needs, and apart from it what execution needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from cronce import limits
from cronce.domain.calendar import Calendar
from cronce.domain.instants import epoch_seconds
from cronce.domain.overlap import Lock, Overlap
from cronce.domain.plan import Due, Misfire
from cronce.domain.retry import RetryPolicy
from cronce.domain.schedule import Schedule

JobStatus = Literal["active", "paused", "error", "ended"]

DEFAULT_GROUP = "default"


@dataclass(frozen=True)
class Job:
    """The job row. Users' edits write `version`, the dispatcher never does.

    uid: new for each creation. generation: counts changes of schedule, zone and status.
    version: counts every edit; the ETag. plan: `{"schedule": …, "misfire": …}`, all that planning
    needs, safe for JSON and DynamoDB. changed_at: when generation last changed. next: the next
    occurrence and its due time; None when there is none, or the job is not active.
    runs_planned: occurrences fired so far (for `max_runs`). reason: why paused, ended or in error.
    expires_at: epoch seconds; from then on an ended job counts as deleted. failing: the last run
    failed, in a deployment that announces.
    """

    job_id: str
    uid: str
    generation: int
    version: int
    status: JobStatus
    plan: Mapping[str, object]
    shard: int
    changed_at: datetime
    next: Due | None = None
    runs_planned: int = 0
    group: str = DEFAULT_GROUP
    reason: str = ""
    expires_at: int | None = None
    failing: bool = False

    def is_gone(self, now: datetime) -> bool:
        """The table removes an expired row only days later."""
        return self.expires_at is not None and self.expires_at <= epoch_seconds(now)

    def schedule(self, calendar: Calendar | None = None) -> Schedule:
        """calendar: the named one, of a job that names one. Raises Unplannable."""
        return schedule_of(self.plan, calendar)

    def misfire(self) -> Misfire:
        """Raises Unplannable."""
        return misfire_of(self.plan)


@dataclass(frozen=True)
class Definition:
    """What execution needs; read together with the job in one consistent query.

    document: what the user wrote, normalised, without payload. payload: JSON text as written, or
    `payload_text` byte for byte; None: the run document. timeout, start_deadline, history,
    delete_after: in seconds. pause_on_failure: failed runs in a row.
    """

    document: Mapping[str, object]
    target: Mapping[str, object]
    payload: str | None = None
    payload_is_json: bool = True
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: int = limits.TIMEOUT_DEFAULT
    overlap: Overlap = "allow"
    start_deadline: int | None = None
    history: int = limits.HISTORY_DEFAULT
    pause_on_failure: int | None = None
    delete_after: int | None = None
    created_at: datetime | None = None
    created_by: str = ""
    updated_at: datetime | None = None
    updated_by: str = ""


@dataclass(frozen=True)
class StoredJob:
    """What one consistent query reads. lock: of a job that limits overlap, once it has run."""

    job: Job
    definition: Definition
    lock: Lock | None = None


def schedule_of(plan: Mapping[str, object], calendar: Calendar | None = None) -> Schedule:
    """Raises Unplannable."""
    return Schedule.from_plan(plan.get("schedule"), calendar)


def misfire_of(plan: Mapping[str, object]) -> Misfire:
    """Raises Unplannable."""
    return Misfire.from_plan(plan.get("misfire"))


def make_plan(schedule: Schedule, misfire: Misfire) -> dict[str, object]:
    return {"schedule": schedule.to_plan(), "misfire": misfire.to_plan()}
