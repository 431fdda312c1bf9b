"""What lies ahead: of a job, and of a schedule that nobody has stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce import limits
from cronce.describe import describe
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Fault, Invalid
from cronce.domain.instants import to_api
from cronce.domain.named import named_in_document
from cronce.domain.overlap import OVERLAPS
from cronce.domain.preview import MAX_COUNT, Upcoming, upcoming, warnings
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.handlers import models
from cronce.handlers.operations import Answered, Operation, Parameter, Parts, instant_parameter
from cronce.handlers.request import Request, read_instant
from cronce.holidays_source import INLINE_YEARS, holidays_from
from cronce.jsontext import plain, pointer

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
    return Answered(200, _document(schedule, found, told))


def preview(parts: Parts, request: Request) -> Answered:
    doc = plain(request.document())
    if not isinstance(doc, dict):
        raise Invalid.one("", "wrong_type", "not an object", f"an object with {', '.join(FIELDS)}")
    after, count, timeout, overlap = _options(doc, parts.control.ports.clock.now())
    holidays = holidays_from(after.year, INLINE_YEARS)
    name = named_in_document(doc["schedule"])
    calendar = parts.control.find_calendar(name) if name else None
    try:
        schedule = parse_schedule(doc["schedule"], now=after, holidays=holidays, calendar=calendar)
    except Invalid as e:
        raise Invalid([fault.under("/schedule") for fault in e.faults]) from None
    found = upcoming(schedule, uid="", after=after, count=count)
    return Answered(200, _document(schedule, found, warnings(schedule, timeout, overlap)))


def _options(doc: dict[str, Any], now: datetime) -> tuple[datetime, int, int, str]:
    """after, count, timeout, overlap. Raises Invalid with every fault in them."""
    accepted = ", ".join(FIELDS)
    faults = [
        Fault(pointer(name[:80]), "unknown_field", "no such field", accepted)
        for name in [name for name in doc if name not in FIELDS][:20]
    ]
    if "schedule" not in doc:
        faults.append(Fault("/schedule", "missing_field", "schedule is required", "a schedule"))
    after, timeout = now, limits.TIMEOUT_DEFAULT
    try:
        after = read_instant(doc["after"], "/after") if "after" in doc else now
    except Invalid as e:
        faults += e.faults
    try:
        low, high = limits.TIMEOUT
        given = doc.get("timeout", limits.TIMEOUT_DEFAULT)
        timeout = parse_duration(given, pointer="/timeout", low=low, high=high)
    except Invalid as e:
        faults += e.faults
    count, overlap = doc.get("count", COUNT), doc.get("overlap", "allow")
    if type(count) is not int or not 1 <= count <= MAX_COUNT:
        faults.append(Fault("/count", "out_of_range", "not accepted", f"1 to {MAX_COUNT}"))
    if overlap not in OVERLAPS:
        faults.append(Fault("/overlap", "unknown_value", "not a policy", ", ".join(OVERLAPS)))
    if faults:
        raise Invalid(faults)
    return after, count, timeout, overlap


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
