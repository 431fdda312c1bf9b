"""What lies ahead: of a job, and of a schedule that nobody has stored."""

from __future__ import annotations

from cronce import limits
from cronce.describe import describe
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Invalid
from cronce.domain.instants import to_api
from cronce.domain.named import named_in_document
from cronce.domain.overlap import OVERLAPS
from cronce.domain.preview import MAX_COUNT, Upcoming, upcoming, warnings
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.handlers import models
from cronce.handlers.fields import anything, one_of, whole
from cronce.handlers.operations import Answered, Operation, Parameter, Parts, instant_parameter
from cronce.handlers.request import Request, read_instant
from cronce.holidays_source import INLINE_YEARS, holidays_from

COUNT = 10
FIELDS = ("schedule", "after", "count", "timeout", "overlap")


def upcoming_of_job(parts: Parts, request: Request) -> Answered:
    """Of a job that is paused or ended too: what its schedule says."""
    stored = parts.control.get(request.job_id())
    count = request.number("count", 1, MAX_COUNT, COUNT)
    after = request.instant("after") or parts.control.ports.clock.now()
    job, definition = stored.job, stored.definition
    schedule = parts.control.schedule_of(job)
    found = upcoming(schedule, uid=job.uid, after=after, count=count, runs_planned=job.runs_planned)
    told = warnings(schedule, definition.timeout, definition.overlap)
    if job.status == "paused":
        told = ["the job is paused: these do not run unless it is resumed before", *told]
    return Answered(200, _document(schedule, found, told))


def preview(parts: Parts, request: Request) -> Answered:
    fields = request.fields(FIELDS)
    asked = fields.need("schedule", anything, "a schedule")
    after = fields.read("after", read_instant, parts.control.ports.clock.now())
    timeout = fields.read("timeout", _timeout, limits.TIMEOUT_DEFAULT)
    count = fields.read("count", whole(1, MAX_COUNT), COUNT)
    overlap = fields.read("overlap", one_of(OVERLAPS), "allow")
    fields.check()
    holidays = holidays_from(after.year, INLINE_YEARS)
    name = named_in_document(asked)
    calendar = parts.control.find_calendar(name) if name else None
    try:
        schedule = parse_schedule(asked, now=after, holidays=holidays, calendar=calendar)
    except Invalid as e:
        raise Invalid([fault.under("/schedule") for fault in e.faults]) from None
    found = upcoming(schedule, uid="", after=after, count=count)
    return Answered(200, _document(schedule, found, warnings(schedule, timeout, overlap)))


def _timeout(value: object, at: str) -> int:
    low, high = limits.TIMEOUT
    return parse_duration(value, pointer=at, low=low, high=high)


def _document(schedule: Schedule, found: list[Upcoming], told: list[str]) -> dict[str, object]:
    return {
        "schedule": schedule.to_document(),
        "description": describe(schedule),
        "occurrences": [to_api(each.scheduled_for) for each in found],
        "details": [
            models.Occurrence(
                scheduled_for=to_api(each.scheduled_for),
                due=to_api(each.due),
                local=each.local,
                note=each.note,
            ).model_dump()
            for each in found
        ],
        "warnings": told,
    }


OPERATIONS = (
    Operation(
        "upcoming",
        "GET",
        "/jobs/{job_id}/upcoming",
        "The next occurrences of a job's schedule; a paused job has them and does not run them.",
        upcoming_of_job,
        {200: models.Occurrences},
        query=(
            Parameter(
                "count",
                "How many at most.",
                {"type": "integer", "minimum": 1, "maximum": MAX_COUNT, "default": COUNT},
            ),
            instant_parameter("after", "Look from here on; now by default."),
        ),
        conflicts=(409,),
    ),
    Operation(
        "preview",
        "POST",
        "/schedules/preview",
        "What a schedule would do. Nothing is stored.",
        preview,
        {200: models.Occurrences},
        body=models.Preview,
    ),
)
