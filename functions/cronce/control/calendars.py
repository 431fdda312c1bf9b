"""Creating, changing and deleting named calendars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from cronce.control.replan import PAGE, ReplanControl, Replanned
from cronce.domain.calendar import Calendar
from cronce.domain.errors import CalendarInUse, CalendarMismatch, CalendarNotFound, CronceError
from cronce.domain.named import NamedCalendar, first_version
from cronce.ports import Page

TRIES = 4
MOST_NAMED = 10


@dataclass(frozen=True)
class PutCalendar:
    """replanned: what its jobs came to, as far as one call goes; None when nothing was changed."""

    named: NamedCalendar
    created: bool
    replanned: Replanned | None = None


class CalendarControl(ReplanControl):
    """by: the caller's identity, kept as who created or changed."""

    def find_calendar(self, name: str) -> Calendar | None:
        """As jobs use it."""
        found = self.ports.store.read_calendar(name)
        return found.calendar if found else None

    def get_calendar(self, name: str) -> NamedCalendar:
        """Raises CalendarNotFound."""
        found = self.ports.store.read_calendar(name)
        if found is None:
            raise CalendarNotFound(name)
        return found

    def list_calendars(self, *, limit: int, cursor: str | None = None) -> Page:
        """By name, eventually consistent."""
        return self.ports.store.list_calendars(limit=limit, cursor=cursor)

    def list_users(self, name: str, *, limit: int) -> Page:
        """Ids of jobs that name it."""
        return self.ports.store.list_users(name, limit=limit)

    def put_calendar(
        self,
        name: str,
        parse: Callable[[datetime], Calendar],
        *,
        by: str,
        if_match: int | None = None,
        if_none_match: bool = False,
    ) -> PutCalendar:
        """The same again changes nothing, unless the holidays of its country come out otherwise.

        Its jobs are re-planned from now on, the first `PAGE` of them at once; the others by
        `replan`, or at the latest when the tick meets them.
        Raises Invalid, CalendarMismatch, Unavailable.
        """
        for _ in range(TRIES):
            now = self.ports.clock.now()
            content = parse(now)
            found = self.ports.store.read_calendar(name)
            _check(name, found, if_match, if_none_match)
            if found is None:
                named = first_version(name, content, now, by)
            else:
                named = found.followed_by(content, now, by)
            if named is found:
                return PutCalendar(named, created=False)
            if self.ports.store.put_calendar(found, named):
                self.ports.observer.event(
                    "calendar_changed", calendar=name, by=by, version=named.version
                )
                return PutCalendar(named, found is None, self._replan_users(name))
        raise self._lost(name)

    def delete_calendar(self, name: str, *, if_match: int | None = None) -> None:
        """Raises CalendarNotFound, CalendarInUse, CalendarMismatch, Unavailable."""
        for _ in range(TRIES):
            found = self.get_calendar(name)
            _check(name, found, if_match, False)
            jobs = [str(job) for job in self.list_users(name, limit=MOST_NAMED).items]
            if jobs or found.users > 0:
                raise CalendarInUse(name, jobs)
            if self.ports.store.delete_calendar(found):
                self.ports.observer.event("calendar_deleted", calendar=name)
                return
        raise self._lost(name)

    def _replan_users(self, name: str) -> Replanned | None:
        try:
            return self.replan(calendar=name, limit=PAGE)
        except CronceError as e:
            self.ports.observer.event("replan_left_to_tick", calendar=name, reason=str(e))
            return None

    def _lost(self, name: str) -> CalendarMismatch:
        found = self.ports.store.read_calendar(name)
        return CalendarMismatch(name, found.version if found else None)


def _check(
    name: str, found: NamedCalendar | None, if_match: int | None, if_none_match: bool
) -> None:
    version = found.version if found else None
    if (if_none_match and found is not None) or if_match not in (None, version):
        raise CalendarMismatch(name, version)
