"""Named calendars: content that many jobs share, with a version that counts its changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from cronce.domain.calendar import NAME, Calendar
from cronce.domain.errors import Invalid

NAME_FORM = "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"


@dataclass(frozen=True)
class NamedCalendar:
    """calendar: the content, with its name and version. changed_at: when this version was written.
    users: how many jobs name it; written by the transactions that write those jobs only."""

    calendar: Calendar
    created_at: datetime
    changed_at: datetime
    created_by: str = ""
    changed_by: str = ""
    users: int = 0

    @property
    def name(self) -> str:
        return self.calendar.name or ""

    @property
    def version(self) -> int:
        return self.calendar.version or 0

    def followed_by(self, content: Calendar, now: datetime, by: str) -> NamedCalendar:
        """Its next version; itself when the content is what it has."""
        if content.named(self.name, self.version) == self.calendar:
            return self
        calendar = content.named(self.name, self.version + 1)
        return replace(self, calendar=calendar, changed_at=now, changed_by=by)


def first_version(name: str, content: Calendar, now: datetime, by: str) -> NamedCalendar:
    return NamedCalendar(content.named(name, 1), now, now, by, by)


def check_calendar_name(text: str, at: str) -> str:
    """The name itself. Raises Invalid naming `at`."""
    if NAME.fullmatch(text):
        return text
    raise Invalid.one(at, "bad_name", f"{text!r:.80} is not the name of a calendar", NAME_FORM)


def named_in_document(schedule: object) -> str | None:
    """The calendar that a schedule, as a user wrote it, names; None where it names none."""
    if not isinstance(schedule, Mapping):
        return None
    calendar = schedule.get("calendar")
    name = calendar.get("name") if isinstance(calendar, Mapping) else calendar
    return name if isinstance(name, str) and NAME.fullmatch(name) else None
