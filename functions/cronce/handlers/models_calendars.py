"""The shapes of requests and answers about named calendars and re-planning."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cronce.control.replan import PAGE
from cronce.domain.calendar import MAX_NAMED_DATES, NAME, OnExcluded
from cronce.handlers.models import Instant, JobId, Shape

CalendarName = Annotated[str, Field(pattern=f"^{NAME.pattern}$", examples=["bank-holidays"])]
Day = Annotated[str, Field(json_schema_extra={"format": "date"}, examples=["2026-12-24"])]


class Holidays(Shape):
    """Public holidays, by ISO 3166 codes."""

    country: str = Field(examples=["DE"])
    subdivision: str | None = Field(None, examples=["BY"])


class Excluded(Shape):
    """One or more of the three."""

    dates: list[Day] | None = Field(None, max_length=MAX_NAMED_DATES)
    weekends: bool | None = None
    holidays: Holidays | None = None


class Calendar(Shape):
    """A calendar as a user writes it: local dates on which a cron does not fire."""

    exclude: Excluded
    on_excluded: OnExcluded = "skip"


class CalendarStatus(Shape):
    """users: jobs that name it. holiday_dates: what the country's holidays came to when this
    version was written; put it again to have them for later years."""

    version: int
    users: int
    holiday_dates: list[Day]
    created_at: Instant
    created_by: str
    updated_at: Instant
    updated_by: str


class StoredCalendar(Calendar):
    """Without `name` and `status` it is what may be PUT."""

    name: CalendarName
    status: CalendarStatus


class Calendars(Shape):
    """cursor: of the next page; null on the last one."""

    calendars: list[StoredCalendar]
    cursor: str | None


class PlannedWith(Shape):
    tzdata: str | None
    calendar: int | None = Field(description="The version of the named calendar.")


class MovedJob(Shape):
    """before, after: its next occurrence. after: null where nothing is left of its schedule."""

    id: JobId
    before: Instant
    after: Instant | None
    planned_with: PlannedWith


class Replanned(Shape):
    """One page. looked_at: jobs. standing: of them, planned with other data and left as they are,
    because their next occurrence may have been dispatched already. failed: could not be written;
    the same again may help. cursor: of the next page; null at the end."""

    tzdata: str = Field(description="The IANA release that this deployment plans with.")
    dry_run: bool
    looked_at: int
    moved: list[MovedJob]
    standing: int
    failed: list[JobId]
    cursor: str | None


class PutCalendar(StoredCalendar):
    """replanned: the jobs of a calendar that was changed, their first page."""

    replanned: Replanned | None


class Replan(Shape):
    dry_run: bool = Field(False, description="Say what would be done, and do nothing.")
    calendar: CalendarName | None = Field(None, description="Only jobs that name it.")
    limit: int = Field(PAGE, ge=1, le=PAGE)
    cursor: str | None = None
