"""Rows of groups: how fast their jobs may start, and the places that are given away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from cronce.adapters.expressions import ABSENT, KNOWN, Delete, Put
from cronce.adapters.items import (
    VERSION,
    instant_or_none,
    number,
    present,
    readable,
    reading,
    text,
    wire,
    wire_key,
)
from cronce.adapters.layout import BY_GROUP
from cronce.adapters.list_cursors import after_name, read_after_name
from cronce.adapters.wire import Item
from cronce.domain.errors import Invalid
from cronce.domain.groups import Group, Stretch, parse_rate
from cronce.ports import Page

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

GROUP_SK: Final = "GROUP"
# Groups are listed by the index `by_group`; no job can be in a group of this name.
LISTED: Final = "#groups"
# Nobody has given places away, or changed the limit, since it was read.
AS_READ: Final = f"{KNOWN} AND #version = :believed_version"


def group_pk(name: str) -> str:
    return f"GROUP#{name}"


def group_to_item(group: Group) -> Item:
    return present(
        {
            "pk": group_pk(group.name),
            "sk": GROUP_SK,
            "group": LISTED,
            "job_id": group.name,
            "v": VERSION,
            "max_starts_per_second": group.max_starts_per_second,
            "busy": _busy_text(group.busy) or None,
            "version": group.version,
            "changed_at": wire(group.changed_at),
            "updated_by": group.changed_by or None,
            "owner": group.writer or None,
        }
    )


@reading
def group_from_item(item: Mapping[str, object]) -> Group:
    try:
        rate = parse_rate(text(item, "max_starts_per_second"))
    except Invalid as e:
        raise ValueError(str(e)) from None
    return Group(
        name=text(item, "pk").removeprefix(group_pk("")),
        per_thousand_seconds=rate,
        busy=_busy(text(item, "busy", "")),
        version=number(item, "version"),
        changed_at=instant_or_none(item, "changed_at"),
        changed_by=text(item, "updated_by", ""),
        writer=text(item, "owner", ""),
    )


def _busy_text(busy: tuple[Stretch, ...]) -> str:
    """`from+length from+length …`, in microseconds; each `from` but the first counts from the one
    before, which keeps the row short."""
    before, parts = 0, []
    for first, last in busy:
        parts.append(f"{first - before}+{last - first}")
        before = first
    return " ".join(parts)


def _busy(written: str) -> tuple[Stretch, ...]:
    before, busy = 0, []
    for part in written.split():
        step, length = part.split("+")
        before += int(step)
        busy.append((before, before + int(length)))
    return tuple(busy)


readable_group = readable(group_from_item)


def after_group(name: str) -> str:
    return after_name("groups", "", name)


def read_after_group(cursor: str) -> str:
    """Raises Invalid."""
    return read_after_name(cursor, "groups", "")


class GroupRows:
    table: Table

    def read_group(self, name: str) -> Group | None:
        item = self.table.get(group_pk(name), GROUP_SK)
        return group_from_item(item) if item else None

    def write_group(self, believed: Group | None, group: Group) -> bool:
        item = group_to_item(group)
        if believed is None:
            return self.table.put_own(Put(item, ABSENT))
        values = {"v": VERSION, "believed_version": believed.version}
        return self.table.put_own(Put(item, AS_READ, values))

    def delete_group(self, believed: Group) -> bool:
        values = {"v": VERSION, "believed_version": believed.version}
        refused = self.table.transact([Delete(group_pk(believed.name), GROUP_SK, AS_READ, values)])
        return refused is None or refused[0] is None or refused[0].found is None

    def list_groups(self, *, limit: int, cursor: str | None = None) -> Page:
        after: Item | None = None
        if cursor is not None:
            name = read_after_group(cursor)
            keys = {"pk": group_pk(name), "sk": GROUP_SK}
            after = {**keys, "group": LISTED, "job_id": name}
        pages = self.table.index_pages(
            BY_GROUP, "#group = :group", {"group": LISTED}, after=after, limit=limit
        )
        keys_found = next(pages, [])
        rows = self.table.get_many([wire_key(k) for k in keys_found]) if keys_found else []
        groups = sorted(filter(None, map(readable_group, rows)), key=lambda g: g.name)
        more = after_group(str(keys_found[-1]["job_id"])) if len(keys_found) == limit else None
        return Page(tuple(groups), more)
