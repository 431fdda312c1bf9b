"""Named calendars: the port to their rows, and how a planner reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from cronce.domain.errors import CronceError, Unplannable
from cronce.domain.job import schedule_of
from cronce.domain.named import NamedCalendar
from cronce.domain.schedule import Schedule
from cronce.domain.stamps import calendar_of

if TYPE_CHECKING:
    from cronce.ports import Page


class CalendarStore(Protocol):
    """Named calendars, and which jobs name them.

    A job's row, the row that says which calendar it names and the calendar's count of users are
    written by one transaction, which holds only if the calendar is there; a calendar is deleted by
    one write that holds only if its count is zero. The two meet in one row, so a job that names
    a calendar that is not there cannot come about, in whatever order they arrive.
    """

    def read_calendar(self, name: str) -> NamedCalendar | None:
        """Consistent. Raises Unplannable for an unreadable row."""

    def put_calendar(self, believed: NamedCalendar | None, calendar: NamedCalendar) -> bool:
        """If it is still at the believed version, or absent. The users are not touched."""

    def delete_calendar(self, believed: NamedCalendar) -> bool:
        """If it is still at the believed version and nobody uses it."""

    def list_calendars(self, *, limit: int, cursor: str | None = None) -> Page:
        """By name, eventually consistent. Raises Invalid for a cursor of another listing."""

    def list_users(self, name: str, *, limit: int, cursor: str | None = None) -> Page:
        """Ids of the jobs that name it, in order, consistent. Raises Invalid as above."""


class Calendars:
    """Each is read at most once, whatever came of it: for one tick, or one call of the API."""

    def __init__(self, store: CalendarStore) -> None:
        self._store = store
        self._found: dict[str, NamedCalendar | CronceError | None] = {}

    def find(self, name: str) -> NamedCalendar | None:
        """Raises Unavailable; Unplannable for a row that cannot be read."""
        if name not in self._found:
            self._found[name] = self._read(name)
        found = self._found[name]
        if isinstance(found, CronceError):
            raise found
        return found

    def of(self, plan: Mapping[str, object]) -> NamedCalendar | None:
        """The one that a job's plan names. Raises Unplannable where that is not there."""
        name = calendar_of(plan)
        if name is None:
            return None
        found = self.find(name)
        if found is None:
            raise Unplannable(f"there is no calendar {name[:64]!r}")
        return found

    def schedule(self, plan: Mapping[str, object]) -> Schedule:
        """Raises Unplannable, Unavailable."""
        named = self.of(plan)
        return schedule_of(plan, named.calendar if named else None)

    def _read(self, name: str) -> NamedCalendar | CronceError | None:
        try:
            return self._store.read_calendar(name)
        except CronceError as e:
            return e
