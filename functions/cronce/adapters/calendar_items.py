"""Rows of named calendars, and the rows that say which jobs name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from cronce.adapters.items import VERSION, instant, json_text, number, present, reading, text
from cronce.adapters.wire import Item
from cronce.domain.calendar import ON_EXCLUDED, Calendar
from cronce.domain.instants import to_wire
from cronce.domain.named import NamedCalendar

CALENDAR_SK: Final = "CALENDAR"
USER_PREFIX: Final = "JOB#"
# Calendars are listed by the index `by_group`; no job can be in a group of this name.
LISTED: Final = "#calendars"


def calendar_pk(name: str) -> str:
    return f"CALENDAR#{name}"


def user_sk(job_id: str) -> str:
    return f"{USER_PREFIX}{job_id}"


def user_to_item(name: str, job_id: str, uid: str) -> Item:
    return {"pk": calendar_pk(name), "sk": user_sk(job_id), "v": VERSION, "uid": uid}


def calendar_changes(named: NamedCalendar) -> dict[str, object | None]:
    """All that a user's write sets. Dates are days since 1970 as JSON text: read by every tick that
    has a job of this calendar, and a list of two thousand numbers is slow to read."""
    calendar = named.calendar
    country, subdivision = calendar.holidays or (None, None)
    return {
        "v": VERSION,
        "version": named.version,
        "on_excluded": calendar.on_excluded,
        "weekends": calendar.weekends or None,
        "dates": json_text(sorted(calendar.dates)) if calendar.dates else None,
        "country": country,
        "subdivision": subdivision,
        "holidays": json_text(sorted(calendar.holiday_dates)) if calendar.holiday_dates else None,
        "created_at": to_wire(named.created_at),
        "created_by": named.created_by or None,
        "changed_at": to_wire(named.changed_at),
        "updated_by": named.changed_by or None,
    }


def calendar_to_item(named: NamedCalendar) -> Item:
    keys = {"pk": calendar_pk(named.name), "sk": CALENDAR_SK}
    index = {"group": LISTED, "job_id": named.name}
    return present({**keys, **index, "users": named.users, **calendar_changes(named)})


@reading
def calendar_from_item(item: Mapping[str, object]) -> NamedCalendar:
    on_excluded = item["on_excluded"]
    if on_excluded not in ON_EXCLUDED:
        raise ValueError("unknown on_excluded")
    country, subdivision = item.get("country"), item.get("subdivision")
    calendar = Calendar(
        dates=_days(item, "dates"),
        weekends=item.get("weekends") is True,
        on_excluded=on_excluded,
        holidays=(str(country), None if subdivision is None else str(subdivision))
        if country is not None
        else None,
        holiday_dates=_days(item, "holidays"),
        name=text(item, "pk").removeprefix(calendar_pk("")),
        version=number(item, "version"),
    )
    return NamedCalendar(
        calendar=calendar,
        created_at=instant(item, "created_at"),
        changed_at=instant(item, "changed_at"),
        created_by=text(item, "created_by", ""),
        changed_by=text(item, "updated_by", ""),
        users=number(item, "users", 0),
    )


def _days(item: Mapping[str, object], name: str) -> frozenset[int]:
    days = json.loads(text(item, name, "[]"))
    if not isinstance(days, list) or not all(type(day) is int for day in days):
        raise ValueError(f"{name} are no days")
    return frozenset(days)


def says_the_same(found: Mapping[str, object], named: NamedCalendar) -> bool:
    """Whether a row is what our own write left, whoever began to use it since."""
    return all(found.get(key) == value for key, value in calendar_changes(named).items())
