"""The shapes of what operators are told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cronce.handlers.models import Instant, JobId, Run, Shape
from cronce.operate.story import What


class StoryLine(Shape):
    """at: null where nobody wrote down when."""

    at: Instant | None
    what: What
    text: str


class Dispatch(Shape):
    """A record that sent the run. by: the tick that wrote it, or `api`. runs: with it. resent:
    messages of this dispatch that were sent again. looks: how often it was reconciled."""

    slice: int
    dispatched_at: Instant
    by: str
    runs: int
    resent: int
    looks: int
    next_look: Instant | None


class MissedCount(Shape):
    """Occurrences from `first` to `last` that did not run. reason: missed, paused or edited."""

    job_id: JobId
    first: Instant
    last: Instant
    count: int
    policy: str
    reason: str
    recorded_at: Instant | None


class Explained(Shape):
    """run: null where it has no row: sent and not claimed, missed, or still to come. searched:
    whether all records that may list it were looked at."""

    job_id: JobId
    run_id: str
    run: Run | None
    dispatches: list[Dispatch]
    missed: MissedCount | None
    story: list[StoryLine]
    searched: bool


class MissedCounts(Shape):
    """The latest first, at most 100; more: there are older ones."""

    missed: list[MissedCount]
    more: bool


class OpenRun(Run):
    """late: for a minute by now nobody has worked on it, although somebody should."""

    late: bool


class Hour(Shape):
    """What was dispatched within the hour that begins at `at`."""

    at: Instant
    runs: int
    outcomes: dict[str, int]


class Overview(Shape):
    """What was dispatched within from..to. runs: each counts once a dispatch; one that waits more
    than 15 minutes for its retry is dispatched again. outcomes: of those that ended; a status that
    is not there is 0. lateness: first attempts by the bound, in milliseconds, that they started
    within, each counted under the lowest. hours: by when it was dispatched; hours without
    anything are not there. complete: no bound was met, all numbers are whole."""

    since: Instant = Field(alias="from")
    to: Instant
    now: Instant
    runs: int
    dispatches: int
    resent: int
    outcomes: dict[str, int]
    lateness: dict[str, int] = Field(examples=[{"100": 812, "250": 17, "later": 1}])
    hours: list[Hour]
    open: list[OpenRun]
    missed: list[MissedCount]
    complete: bool


class ComingRun(Shape):
    """dispatched: its message lies in the queue already."""

    scheduled_for: Instant
    due: Instant
    trigger: str
    dispatched: bool


class ComingJob(Shape):
    """total: within the time asked for; at most 60 are listed."""

    job_id: JobId
    total: int
    occurrences: list[ComingRun]


class Coming(Shape):
    """By the first occurrence of each job."""

    now: Instant
    until: Instant
    jobs: list[ComingJob]
    complete: bool


class Tick(Shape):
    """last_tick: within a few seconds; null before the first."""

    slice: int
    last_tick: Instant | None
    claimed_up_to: Instant | None


class OverdueJob(Shape):
    job_id: JobId
    next_run: Instant


class Deep(Shape):
    """overdue: jobs whose time passed without a dispatch, oldest first, at most 100. records: that
    should have been reconciled by now; more: than were counted. allowed_targets: what jobs of this
    deployment may reach."""

    status: Literal["ok", "trouble"]
    now: Instant
    deployment: str
    version: str
    python: str
    tzdata: str
    profile: str
    shards: int
    ticks: list[Tick]
    overdue: list[OverdueJob]
    overdue_records: int
    oldest_record: Instant | None
    more: bool
