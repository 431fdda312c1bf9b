"""Rows of named calendars in memory. Who names them is written with the jobs (`memory_jobs.py`)."""

from __future__ import annotations

from cronce.adapters.calendar_items import (
    CALENDAR_SK,
    LISTED,
    USER_PREFIX,
    calendar_changes,
    calendar_from_item,
    calendar_pk,
    calendar_to_item,
    says_the_same,
    user_sk,
)
from cronce.adapters.dynamodb_calendars import readable_calendar
from cronce.adapters.items import LAST, is_known, present
from cronce.adapters.list_cursors import after_name, read_after_name
from cronce.adapters.wire import Item
from cronce.domain.named import NamedCalendar
from cronce.ports import Page
from cronce.testing.memory_rows import MemoryRows


class MemoryCalendars:
    rows: MemoryRows

    def read_calendar(self, name: str) -> NamedCalendar | None:
        item = self.rows.get(calendar_pk(name), CALENDAR_SK)
        return calendar_from_item(item) if item else None

    def put_calendar(self, believed: NamedCalendar | None, calendar: NamedCalendar) -> bool:
        with self.rows.lock:
            found = self.rows.get(calendar_pk(calendar.name), CALENDAR_SK)
            if believed is None and found is None:
                self.rows.put(calendar_to_item(calendar))
                return True
            if found is None:
                return False
            if believed is None or not _is_as_read(found, believed):
                return says_the_same(found, calendar)
            self.rows.put(present({**found, **calendar_changes(calendar)}))
            return True

    def delete_calendar(self, believed: NamedCalendar) -> bool:
        with self.rows.lock:
            found = self.rows.get(calendar_pk(believed.name), CALENDAR_SK)
            if found is None:
                return True
            users = found["users"]
            assert isinstance(users, int)
            if not _is_as_read(found, believed) or users > 0:
                return False
            self.rows.delete(calendar_pk(believed.name), CALENDAR_SK)
            return True

    def list_calendars(self, *, limit: int, cursor: str | None = None) -> Page:
        after = read_after_name(cursor, "calendars", "") if cursor is not None else ""
        rows = [r for r in self.rows.all() if r.get("group") == LISTED]
        rows = sorted((r for r in rows if str(r["job_id"]) > after), key=lambda r: str(r["job_id"]))
        page = rows[:limit]
        more = after_name("calendars", "", str(page[-1]["job_id"])) if len(page) == limit else None
        return Page(tuple(filter(None, map(readable_calendar, page))), more)

    def list_users(self, name: str, *, limit: int, cursor: str | None = None) -> Page:
        after = read_after_name(cursor, "users", name) if cursor is not None else ""
        rows = self.rows.between(calendar_pk(name), user_sk(after), USER_PREFIX + LAST)
        jobs = [str(row["sk"]).removeprefix(USER_PREFIX) for row in rows]
        page = [job for job in jobs if job > after][:limit]
        return Page(
            tuple(page), after_name("users", name, page[-1]) if len(page) == limit else None
        )


def _is_as_read(found: Item, believed: NamedCalendar) -> bool:
    return is_known(found) and found.get("version") == believed.version
