"""Operations on named calendars, and planning jobs again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce.control.replan import PAGE, Moved, Replanned
from cronce.domain.calendar import MAX_NAMED_DATES, Calendar, parse_calendar
from cronce.domain.days import day_date
from cronce.domain.errors import CalendarMismatch, Fault, Invalid
from cronce.domain.instants import to_api
from cronce.domain.named import NamedCalendar, check_calendar_name
from cronce.domain.zones import tzdata_version
from cronce.handlers import models_calendars as models
from cronce.handlers.documents import instant
from cronce.handlers.fields import cursor as read_cursor
from cronce.handlers.fields import flag, whole
from cronce.handlers.operations import (
    IF_MATCH,
    IF_NONE_MATCH,
    PAGED,
    Answered,
    Operation,
    Parts,
)
from cronce.handlers.request import Request
from cronce.holidays_source import NAMED_YEARS, holidays_from
from cronce.jsontext import plain

ANSWERED = ("name", "status", "replanned")
FIELDS = ("dry_run", "calendar", "limit", "cursor")


def put_calendar(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    doc = plain(request.document())

    def parse(now: datetime) -> Calendar:
        return _parse(doc, now)

    put = parts.control.put_calendar(
        name,
        parse,
        by=request.caller,
        if_match=_version_wanted(parts, request, name),
        if_none_match=request.if_none_match(),
    )
    headers = _etag(put.named)
    if put.created:
        headers["Location"] = f"/calendars/{name}"
    replanned = _replanned(put.replanned, dry_run=False) if put.replanned else None
    document = {**_document(put.named), "replanned": replanned}
    return Answered(201 if put.created else 200, document, headers)


def _parse(doc: object, now: datetime) -> Calendar:
    """Raises Invalid."""
    if isinstance(doc, dict) and (answered := [name for name in ANSWERED if name in doc]):
        accepted = "the document without name, status and replanned"
        faults = [Fault(f"/{n}", "answer_only", f"{n} belongs to answers", accepted)
                  for n in answered]  # fmt: skip
        raise Invalid(faults)
    holidays = holidays_from(now.year, NAMED_YEARS)
    return parse_calendar(doc, holidays=holidays, max_dates=MAX_NAMED_DATES)


def get_calendar(parts: Parts, request: Request) -> Answered:
    named = parts.control.get_calendar(_name(request))
    return Answered(200, _document(named), _etag(named))


def delete_calendar(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    parts.control.delete_calendar(name, if_match=_version_wanted(parts, request, name))
    return Answered(204)


def list_calendars(parts: Parts, request: Request) -> Answered:
    page = request.listed(parts.control.list_calendars)
    shown = [_document(named) for named in page.items]
    return Answered(200, {"calendars": shown, "cursor": page.cursor})


def replan(parts: Parts, request: Request) -> Answered:
    fields = request.optional_fields(FIELDS)
    dry_run = fields.read("dry_run", flag, False)
    limit = fields.read("limit", whole(1, PAGE), PAGE)
    calendar = fields.read("calendar", _name_or_none, None)
    cursor = fields.read("cursor", read_cursor, None)
    fields.check()
    found = parts.control.replan(calendar=calendar, dry_run=dry_run, limit=limit, cursor=cursor)
    return Answered(200, _replanned(found, dry_run=dry_run))


def _name(request: Request) -> str:
    return check_calendar_name(request.path["calendar"], "path:calendar")


def _name_or_none(value: object, at: str) -> str | None:
    if value is None:
        return None
    return check_calendar_name(value if isinstance(value, str) else "", at)


def _version_wanted(parts: Parts, request: Request, name: str) -> int | None:
    """Raises CalendarMismatch for `*` when there is no calendar."""

    def current() -> int:
        if found := parts.control.ports.store.read_calendar(name):
            return found.version
        raise CalendarMismatch(name, None)

    return request.if_match(current)


def _etag(named: NamedCalendar) -> dict[str, str]:
    return {"ETag": f'"{named.version}"'}


def _document(named: NamedCalendar) -> dict[str, Any]:
    status = models.CalendarStatus(
        version=named.version,
        users=max(0, named.users),
        holiday_dates=[day_date(d).isoformat() for d in sorted(named.calendar.holiday_dates)],
        created_at=to_api(named.created_at),
        created_by=named.created_by,
        updated_at=to_api(named.changed_at),
        updated_by=named.changed_by,
    )
    return {"name": named.name, **named.calendar.to_document(), "status": status.model_dump()}


def _replanned(found: Replanned, *, dry_run: bool) -> dict[str, Any]:
    return models.Replanned(
        tzdata=tzdata_version(),
        dry_run=dry_run,
        looked_at=found.looked_at,
        moved=[_moved(m) for m in found.moved],
        standing=found.standing,
        failed=list(found.failed),
        cursor=found.cursor,
    ).model_dump()


def _moved(m: Moved) -> models.MovedJob:
    return models.MovedJob(
        id=m.job_id,
        before=to_api(m.before),
        after=instant(m.after),
        planned_with=models.PlannedWith(tzdata=m.planned.tzdata, calendar=m.planned.calendar),
    )


OPERATIONS = (
    Operation(
        "listCalendars",
        "GET",
        "/calendars",
        "Named calendars, by name. Eventually consistent.",
        list_calendars,
        {200: models.Calendars},
        query=PAGED,
    ),
    Operation(
        "putCalendar",
        "PUT",
        "/calendars/{calendar}",
        "Create a calendar, or replace what it excludes. Its jobs are planned again; what lies"
        " inside the horizon stands. The same again changes nothing, unless the holidays of its"
        " country come out otherwise.",
        put_calendar,
        {201: models.PutCalendar, 200: models.PutCalendar},
        body=models.Calendar,
        headers=(IF_MATCH, IF_NONE_MATCH),
        conflicts=(409, 412),
    ),
    Operation(
        "getCalendar",
        "GET",
        "/calendars/{calendar}",
        "The calendar: what it excludes, and how many jobs name it.",
        get_calendar,
        {200: models.StoredCalendar},
        conflicts=(409,),
    ),
    Operation(
        "deleteCalendar",
        "DELETE",
        "/calendars/{calendar}",
        "Delete a calendar that no job names.",
        delete_calendar,
        {204: None},
        headers=(IF_MATCH,),
        conflicts=(409, 412),
    ),
    Operation(
        "replan",
        "POST",
        "/replan",
        "Plan jobs again whose next occurrence is another one by now: after an upgrade of the time"
        " zone data, or a change of their calendar. One page a call; nothing fires twice.",
        replan,
        {200: models.Replanned},
        body=models.Replan,
        body_required=False,
        conflicts=(409,),
    ),
)
