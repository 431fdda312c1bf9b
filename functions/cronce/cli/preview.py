"""`cronce preview`: what a schedule would do. Without a deployment, unless it names a calendar that
one keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TextIO

from cronce.cli import output
from cronce.describe import describe
from cronce.domain.errors import Fault, Invalid, NotJson
from cronce.domain.instants import EPOCH, to_api
from cronce.domain.local_time import instant_of, read_time
from cronce.domain.named import named_in_document
from cronce.domain.preview import MAX_COUNT, Upcoming, upcoming, warnings
from cronce.domain.schedule import parse_schedule, unfold
from cronce.domain.zones import check_zone
from cronce.holidays_source import INLINE_YEARS, holidays_from
from cronce.jsontext import parse, plain

if TYPE_CHECKING:
    from cronce.client import Client

OK, REFUSED = 0, 2
MAX_ARGUMENT = 16_384
# The defaults of a job that says nothing else.
DEFAULT_TIMEOUT, DEFAULT_OVERLAP = 60, "allow"


@dataclass(frozen=True)
class Asked:
    """argument: a cron, a macro, cron(…), rate(…), at(…), or a schedule as a JSON object. after:
    the instant to look from, as ISO 8601; now, when None."""

    argument: str
    timezone: str | None = None
    after: str | None = None
    count: int = 10


def run(
    asked: Asked, as_json: bool, out: TextIO, err: TextIO, connected: Callable[[], Client]
) -> int:
    """Print the next occurrences; the exit code: 0, or 2 with the reasons on `err`.

    connected: the client of a deployment, for a calendar that is named."""
    try:
        found = preview(asked, connected)
    except Invalid as refused:
        for fault in refused.faults:
            print(f"cronce: {output.plain(fault)}", file=err)
        return REFUSED
    if as_json:
        print(json.dumps(found, indent=2), file=out)
    else:
        out.writelines(line + "\n" for line in _lines(found))
    return OK


def preview(asked: Asked, connected: Callable[[], Client]) -> dict[str, Any]:
    """The next `count` occurrences as a document. Raises Invalid, and what a client raises."""
    count = asked.count
    if not 1 <= count <= MAX_COUNT:
        raise Invalid.one("--count", "out_of_range", f"{count} occurrences", f"1 to {MAX_COUNT}")
    document = _document(asked.argument, asked.timezone)
    start = _after(asked.after, asked.timezone)
    if name := named_in_document(document):
        try:
            client = connected()
        except Exception as error:
            error.add_note(f"the calendar {name!r} is kept by a deployment, which was to be asked")
            raise
        return client.preview(document, after=to_api(start), count=count)
    schedule = parse_schedule(document, now=start, holidays=holidays_from(start.year, INLINE_YEARS))
    found = upcoming(schedule, uid="", after=start, count=count)
    return {
        "schedule": schedule.to_document(),
        "description": describe(schedule),
        "occurrences": [to_api(each.scheduled_for) for each in found],
        "details": [_detail(each) for each in found],
        "warnings": warnings(schedule, DEFAULT_TIMEOUT, DEFAULT_OVERLAP),
    }


def _document(argument: str, timezone: str | None) -> object:
    if len(argument) > MAX_ARGUMENT:
        raise Invalid.one("", "too_long", f"{len(argument)} characters", f"at most {MAX_ARGUMENT}")
    document: object = argument
    if argument.lstrip()[:1] in ("{", '"'):
        try:
            document = plain(parse(argument.encode()))
        except NotJson as broken:
            accepted = "a schedule as JSON, or as text"
            fault = Fault("", "bad_json", f"not JSON: {broken}", accepted)
            raise Invalid(broken.faults or [fault]) from None
    if timezone is None:
        return document
    check_zone(timezone, "--timezone")
    if isinstance(document, str):
        return {**unfold(document), "timezone": timezone}
    if isinstance(document, dict) and document.setdefault("timezone", timezone) != timezone:
        detail = "the schedule and --timezone name different zones"
        raise Invalid.one("--timezone", "two_zones", detail, "one of the two")
    return document


def _after(after: str | None, timezone: str | None) -> datetime:
    if after is None:
        return datetime.now(UTC)
    written = read_time(after, "--after")
    if written.offset is not None:
        return EPOCH + timedelta(seconds=written.wall - written.offset)
    instant = instant_of(written.wall, timezone or "UTC")
    if timezone is None or instant is None:
        detail = "a local time without --timezone names no instant"
        raise Invalid.one("--after", "naive_time", detail, "2026-03-28T23:00:00Z")
    return EPOCH + timedelta(seconds=instant)


def _detail(each: Upcoming) -> dict[str, str]:
    detail = {
        "scheduled_for": to_api(each.scheduled_for),
        "due": to_api(each.due),
        "local": each.local,
    }
    return detail | ({"note": each.note} if each.note else {})


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [found["description"], ""]
    for each in found["details"]:
        note = f"  {each['note']}" if each.get("note") else ""
        jitter = f"  starts {each['due']}" if each["due"] != each["scheduled_for"] else ""
        lines.append(f"{each['scheduled_for']}  {each['local']}{jitter}{note}")
    if not found["details"]:
        lines.append("no occurrences")
    return lines + [f"warning: {text}" for text in found["warnings"]]
