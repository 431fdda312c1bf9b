"""The shapes of requests and answers about backfills and groups."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from cronce.domain.backfill import MOST_OCCURRENCES, PACE, PACE_DEFAULT, BackfillStatus
from cronce.domain.groups import ACCEPTED, MOST_PER_SECOND
from cronce.domain.overlap import Overlap
from cronce.handlers.models import ClientId, Instant, JobId, Shape

Rate = Annotated[float, Field(gt=0, le=MOST_PER_SECOND, description=ACCEPTED)]


class _Ranged(Shape):
    model_config = ConfigDict(populate_by_name=True)


class AskBackfill(_Ranged):
    """Occurrences in [from, to) that the schedule itself has not run."""

    id: ClientId | None = Field(
        None, description="The caller's name of it: the same again finds the same backfill."
    )
    from_: Instant = Field(alias="from")
    to: Instant | None = Field(
        None,
        description="Not included; now, when it is left out. At most"
        f" {MOST_OCCURRENCES} occurrences.",
    )
    dry_run: bool = Field(False, description="Only tell what it would look at.")
    pace: int = Field(PACE_DEFAULT, ge=PACE[0], le=PACE[1], description="Runs a minute.")
    overlap: Overlap | None = Field(
        None,
        description="Its own policy; otherwise the job's, where one that limits overlap means one"
        " run after the other, and none skipped.",
    )


class DryRun(Shape):
    """existing: as many of them the schedule has run itself."""

    dry_run: bool
    total: int
    first: Instant | None
    last: Instant | None
    existing: int


class Backfill(_Ranged):
    """status: `done` when all its runs are dispatched; the last of them may still wait for their
    turn, or run. total: occurrences in the range. started, existing: of those that were looked at,
    as many were dispatched, or had been run by the schedule itself."""

    id: ClientId
    job_id: JobId
    status: BackfillStatus
    from_: Instant = Field(alias="from")
    to: Instant
    pace: int
    overlap: Overlap | None
    total: int
    started: int
    existing: int
    done_up_to: Instant | None = Field(description="The last occurrence that was looked at.")
    reason: str
    created_at: Instant
    created_by: str
    finished_at: Instant | None = Field(
        description="When the last of its runs was dispatched, or it was cancelled."
    )


class AskedBackfill(RootModel[Backfill | DryRun]):
    """What was asked for before, or what it would look at."""


class Backfills(Shape):
    """cursor: of the next page; null on the last one."""

    backfills: list[Backfill]
    cursor: str | None


class PutGroup(Shape):
    max_starts_per_second: Rate


class Group(Shape):
    """max_starts_per_second: null where the group has no limit."""

    group: str
    max_starts_per_second: Rate | None
    changed_at: Instant | None
    changed_by: str


class Groups(Shape):
    """Groups that have a limit. cursor: of the next page; null on the last one."""

    groups: list[Group]
    cursor: str | None


class MoveGroup(Shape):
    note: str | None = Field(None, description="Why; kept as the reason of each job.")
    cursor: str | None = Field(None, description="From the answer before.")


class ResumeGroup(Shape):
    cursor: str | None = Field(None, description="From the answer before.")


class NotMoved(Shape):
    job_id: JobId
    reason: str


class MovedGroup(Shape):
    """changed: jobs. failed: those that could not be changed. cursor: the same call again with it
    goes on; null when all jobs of the group were looked at."""

    changed: list[JobId]
    failed: list[NotMoved]
    cursor: str | None
