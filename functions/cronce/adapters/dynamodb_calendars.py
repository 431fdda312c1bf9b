"""Rows of named calendars; and what a job's own transaction writes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

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
    user_to_item,
)
from cronce.adapters.expressions import ABSENT, KNOWN, Delete, Put, Refusal, Update
from cronce.adapters.items import VERSION, readable, wire_key
from cronce.adapters.layout import BY_GROUP
from cronce.adapters.list_cursors import after_name, read_after_name
from cronce.adapters.wire import Item
from cronce.domain.errors import CalendarNotFound
from cronce.domain.named import NamedCalendar
from cronce.ports import Page

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

KEYS: Final = 100
Write = Update | Put | Delete

# Nobody has put it again since it was read.
AS_READ: Final = f"{KNOWN} AND #version = :believed_version"
# And no job names it: those that begin to, and those that cease to, count in this row.
UNUSED: Final = f"{AS_READ} AND #users <= :none"


class CalendarRows:
    table: Table

    def read_calendar(self, name: str) -> NamedCalendar | None:
        item = self.table.get(calendar_pk(name), CALENDAR_SK)
        return calendar_from_item(item) if item else None

    def put_calendar(self, believed: NamedCalendar | None, calendar: NamedCalendar) -> bool:
        if believed is None:
            refused = self.table.put(Put(calendar_to_item(calendar), ABSENT))
        else:
            answer = self.table.update(
                Update(
                    calendar_pk(calendar.name),
                    CALENDAR_SK,
                    calendar_changes(calendar),
                    AS_READ,
                    _as_read(believed),
                )
            )
            refused = answer if isinstance(answer, Refusal) else None
        if refused is None:
            return True
        return refused.found is not None and says_the_same(refused.found, calendar)

    def delete_calendar(self, believed: NamedCalendar) -> bool:
        refused = self.table.transact(
            [
                Delete(
                    calendar_pk(believed.name),
                    CALENDAR_SK,
                    UNUSED,
                    {**_as_read(believed), "none": 0},
                )
            ]
        )
        return refused is None or refused[0] is None or refused[0].found is None

    def list_calendars(self, *, limit: int, cursor: str | None = None) -> Page:
        after: Item | None = None
        if cursor is not None:
            name = read_after_name(cursor, "calendars", "")
            after = {
                "pk": calendar_pk(name),
                "sk": CALENDAR_SK,
                "group": LISTED,
                "job_id": name,
            }
        pages = self.table.index_pages(
            BY_GROUP, "#group = :group", {"group": LISTED}, after=after, limit=limit
        )
        keys = next(pages, [])
        found = self._calendars([wire_key(key) for key in keys])
        last = str(keys[-1]["job_id"]) if len(keys) == limit else None
        return Page(tuple(found), last and after_name("calendars", "", last))

    def _calendars(self, keys: Sequence[tuple[str, str]]) -> list[NamedCalendar]:
        rows = self.table.get_many(keys) if keys else []
        return sorted(filter(None, map(readable_calendar, rows)), key=lambda n: n.name)

    def list_users(self, name: str, *, limit: int, cursor: str | None = None) -> Page:
        after = read_after_name(cursor, "users", name) if cursor is not None else None
        pages = self.table.pages(
            "#pk = :pk AND begins_with(#sk, :prefix)",
            {"pk": calendar_pk(name), "prefix": USER_PREFIX},
            consistent=True,
            after=None if after is None else (calendar_pk(name), user_sk(after)),
            limit=limit,
        )
        jobs = [str(row["sk"]).removeprefix(USER_PREFIX) for row in next(pages, [])]
        more = after_name("users", name, jobs[-1]) if len(jobs) == limit else None
        return Page(tuple(jobs), more)


def job_writes(
    job_id: str, uid: str, before: str | None, now: str | None, *, counted: bool = True
) -> list[Write]:
    """For the transaction that writes a job, which named one calendar and now names another.

    counted: whether the calendar that it named is still there to count its users.
    """
    writes: list[Write] = []
    if before == now:
        return writes
    if before is not None:
        writes.append(Delete(calendar_pk(before), user_sk(job_id)))
        if counted:
            writes.append(_counting(before, "#users - :one"))
    if now is not None:
        writes.append(Put(user_to_item(now, job_id, uid)))
        writes.append(_counting(now, "#users + :one"))
    return writes


def _counting(name: str, users: str) -> Update:
    values = {"v": VERSION, "one": 1}
    return Update(calendar_pk(name), CALENDAR_SK, {}, KNOWN, values, {"users": users})


def is_gone(writes: Sequence[Write], refused: Sequence[Refusal | None], name: str | None) -> bool:
    """Whether a transaction was refused for want of this calendar. Raises UnknownVersion for one
    that a newer release has written, Unplannable for one that cannot be read."""
    for write, refusal in zip(writes, refused, strict=False):
        if refusal is None or not isinstance(write, Update) or name is None:
            continue
        if (write.pk, write.sk) == (calendar_pk(name), CALENDAR_SK):
            if refusal.found is not None:
                calendar_from_item(refusal.found)
            return refusal.found is None
    return False


def check_calendar_is_there(
    writes: Sequence[Write], refused: Sequence[Refusal | None], name: str | None
) -> None:
    if name is not None and is_gone(writes, refused, name):
        raise CalendarNotFound(name)


readable_calendar = readable(calendar_from_item)


def _as_read(believed: NamedCalendar) -> dict[str, object]:
    return {"v": VERSION, "believed_version": believed.version}
