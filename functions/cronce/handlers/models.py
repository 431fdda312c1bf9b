"""The shapes of requests and answers: what OpenAPI says, and what answers are built from.

Requests are not validated by these but by `parse_job`, which finds all faults at once; a test holds
the two to each other.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from cronce import limits
from cronce.domain.durations import ACCEPTED as DURATION_FORM
from cronce.domain.identity import CLIENT_ID, JOB_ID
from cronce.domain.job import JobStatus
from cronce.domain.labels import DESCRIPTION_CHARS, GROUP, TAG_VALUE_CHARS, TAGS
from cronce.domain.overlap import Overlap
from cronce.domain.plan import MisfirePolicy
from cronce.domain.preview import MAX_COUNT
from cronce.domain.run import Outcome, RunStatus
from cronce.handlers.target_schemas import target_schema

Instant = Annotated[
    str,
    Field(
        json_schema_extra={"format": "date-time"},
        description="An instant in UTC, ISO 8601.",
        examples=["2026-11-30T01:30:00Z"],
    ),
]
Duration = Annotated[int | str, Field(description=DURATION_FORM, examples=["90s", 900, "PT15M"])]
JobId = Annotated[str, Field(pattern=f"^{JOB_ID.pattern}$", examples=["team-a.invoices"])]
ClientId = Annotated[str, Field(pattern=f"^{CLIENT_ID.pattern}$", examples=["november"])]


class Shape(BaseModel):
    # Of Python: Rust's expressions cannot look ahead, as those of names do.
    model_config = ConfigDict(extra="forbid", regex_engine="python-re")


# --- requests


class Dst(Shape):
    """What happens to wall times that do not exist, or occur twice."""

    gap: Literal["next", "skip"] | None = None
    overlap: Literal["first", "second", "both"] | None = None


class Schedule(Shape):
    """Exactly one of `cron`, `rate` and `at`."""

    cron: str | None = Field(None, examples=["*/15 * * * *", "cron(0 10 ? * MON-FRI *)"])
    seconds: bool | None = Field(None, description="The cron has six fields, seconds first.")
    rate: Duration | None = Field(None, examples=["5m", "rate(5 minutes)"])
    at: str | None = Field(None, examples=["2026-12-24T18:00:00"])
    timezone: str | None = Field(None, description="An IANA zone.", examples=["Europe/Berlin"])
    start: str | None = None
    end: str | None = None
    jitter: Duration | None = None
    max_runs: int | None = Field(None, ge=1)
    dst: Dst | None = None
    calendar: str | dict[str, Any] | None = None


class Retry(Shape):
    max_attempts: int = Field(limits.MAX_ATTEMPTS_DEFAULT, description="Executions in all.")
    backoff: Duration = limits.BACKOFF_DEFAULT
    factor: int = limits.BACKOFF_FACTOR_DEFAULT
    max_backoff: Duration = limits.MAX_BACKOFF_DEFAULT


class Misfire(Shape):
    policy: MisfirePolicy = "run_once"
    grace: Duration | None = Field(None, description="Later than this at the plan is missed.")
    late_limit: Duration | None = Field(None, description="First claimed later than this: missed.")
    window: Duration | None = Field(None, description="run_all only.")
    cap: int | None = Field(None, description="run_all only.")


class Target(RootModel[dict[str, dict[str, Any]]]):
    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return target_schema()


class Job(Shape):
    """A job as a user writes it."""

    schedule: str | Schedule = Field(examples=["rate(5 minutes)", {"cron": "0 9 * * 1-5"}])
    target: Target
    payload: Any = Field(
        None,
        description="Any JSON, handed on as written, compact; placeholders such as"
        f" <cronce.run_id> are filled in. At most {limits.PAYLOAD_BYTES} bytes. Without a payload"
        " the target is given a document that describes the run.",
    )
    payload_text: str | None = Field(
        None,
        description="A text, handed on as it is but for placeholders, instead of `payload`.",
    )
    retry: Retry | None = None
    timeout: Duration | None = Field(
        None, description=f"Per attempt; {limits.TIMEOUT[0]} to {limits.TIMEOUT[1]} s."
    )
    misfire: MisfirePolicy | Misfire | None = None
    start_deadline: Duration | None = Field(
        None, description="A run that could not start within this after its due time is skipped."
    )
    overlap: Overlap | None = None
    history: Duration | None = Field(
        None, description="How long runs stay after they ended; 15 to 400 days."
    )
    pause_on_failure: int | None = Field(
        None,
        ge=limits.PAUSE_ON_FAILURE[0],
        le=limits.PAUSE_ON_FAILURE[1],
        description="After so many failed runs in a row the job is paused.",
    )
    delete_after: Duration | None = Field(
        None,
        description="How long after its last run a job that has ended is deleted; 1 hour to 400"
        " days. Its runs stay for their history. Only with an at, an end or max_runs.",
    )
    description: str | None = Field(None, max_length=DESCRIPTION_CHARS)
    tags: dict[str, Annotated[str, Field(max_length=TAG_VALUE_CHARS)]] | None = Field(
        None, max_length=TAGS
    )
    group: str | None = Field(None, pattern=f"^{GROUP.pattern}$")


class JobPatch(Shape):
    """Fields of a job; null removes one."""

    schedule: str | Schedule | None = None
    target: Target | None = None
    payload: Any = None
    payload_text: str | None = None
    retry: Retry | None = None
    timeout: Duration | None = None
    misfire: MisfirePolicy | Misfire | None = None
    start_deadline: Duration | None = None
    overlap: Overlap | None = None
    history: Duration | None = None
    pause_on_failure: int | None = None
    delete_after: Duration | None = None
    description: str | None = None
    tags: dict[str, str | None] | None = None
    group: str | None = None


class RunNow(Shape):
    id: ClientId | None = Field(
        None, description="The caller's name of this run: the same again finds the same run."
    )


class Pause(Shape):
    note: str | None = Field(None, description="Why; kept as the job's reason.")


class Preview(Shape):
    """after: the instant to look from; now by default."""

    schedule: str | Schedule
    after: Instant | None = None
    count: int | None = Field(None, ge=1, le=MAX_COUNT)
    timeout: Duration | None = Field(None, description="Of the job, for the warnings.")
    overlap: Overlap | None = Field(None, description="Of the job, for the warnings.")


# --- answers


class JobStatusShort(Shape):
    """next_occurrence: the next one that is not dispatched yet; what is due within about three
    minutes may be. next_run: the same plus jitter."""

    state: JobStatus
    version: int
    generation: int
    uid: str
    next_run: Instant | None
    next_occurrence: Instant | None
    reason: str


class Status(JobStatusShort):
    """What cronce knows of a job. next_occurrence: the next one that is not dispatched yet; what is
    due within about three minutes may be. next_run: the same plus jitter."""

    created_at: Instant | None
    created_by: str
    updated_at: Instant | None
    updated_by: str
    expires_at: Instant | None = Field(description="When a job that has ended is deleted.")


class StoredJob(Job):
    """A job as it is answered. Without `id` and `status` it is what may be PUT."""

    id: JobId
    status: Status


class JobShort(Shape):
    """A job in a listing. schedule: null where it cannot be read."""

    id: JobId
    group: str
    schedule: Schedule | None
    status: JobStatusShort


class Jobs(Shape):
    """cursor: of the next page; null on the last one. A page may be short and still have one."""

    jobs: list[JobShort]
    cursor: str | None


class Occurrence(Shape):
    """due: plus jitter; another job has another jitter. local: on the wall clock of the zone.
    note: why it is not where the expression alone would put it."""

    scheduled_for: Instant
    due: Instant
    local: str
    note: str | None


class Occurrences(Shape):
    """What lies ahead of a schedule. warnings: what is allowed and probably not meant."""

    schedule: Schedule
    description: str
    occurrences: list[Instant]
    details: list[Occurrence]
    warnings: list[str]


class Attempt(Shape):
    """A failed attempt."""

    attempt: int
    outcome: Outcome
    code: str
    detail: str
    started_at: Instant | None
    finished_at: Instant


class Log(Shape):
    """Where the lines of the latest attempt lie."""

    group: str
    stream: str
    request_id: str


class Run(Shape):
    """due: scheduled_for plus jitter. trigger: empty for the schedule's own run."""

    job_id: JobId
    run_id: str
    status: RunStatus
    scheduled_for: Instant
    due: Instant
    trigger: str
    triggered_by: str
    attempt: int
    started_at: Instant | None
    finished_at: Instant | None
    held_until: Instant | None = Field(
        description="When its group or backfill let it start, where that was later than due."
    )
    lease_expires_at: Instant | None
    retry_at: Instant | None
    code: str
    detail: str
    attempts: list[Attempt]
    log: Log


class Runs(Shape):
    """cursor: of the next page; null on the last one. A page may be short and still have one."""

    runs: list[Run]
    cursor: str | None


class Health(Shape):
    status: Literal["ok"]
    deployment: str
    version: str
    tzdata: str = Field(description="The IANA release that schedules are planned with.")


class Anything(BaseModel):
    """Any JSON object."""

    model_config = ConfigDict(extra="allow")


class FaultShown(Shape):
    """pointer: into the body (RFC 6901), or `query:`, `path:`, `header:` and a name."""

    pointer: str
    code: str
    detail: str
    accepted: str | None = None


class Problem(Shape):
    """RFC 9457."""

    model_config = ConfigDict(extra="ignore")

    type: str
    title: str
    status: int
    detail: str | None = None
    request_id: str | None = None
    errors: list[FaultShown] | None = None
    current_version: int | None = None
    state: str | None = None
    jobs: list[JobId] | None = None
    size: int | None = None
    limit: int | None = None
