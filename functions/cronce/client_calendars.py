"""The part of the client that manages named calendars and plans jobs again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cronce.client_base import Calls, Document, conditions, following, segment


class Calendars(Calls):
    """What `Client` inherits."""

    def put_calendar(
        self,
        name: str,
        document: Mapping[str, Any] | str | bytes,
        *,
        if_match: int | None = None,
        if_none_match: bool = False,
    ) -> Document:
        """Creates it or replaces what it excludes. ``replanned`` has a cursor where the calendar
        has more jobs than one call plans again: go on with ``replan``."""
        headers = conditions(if_match, if_none_match)
        return self._call(
            "PUT", _calendar(name), body=document, headers=headers, repeatable=not headers
        )

    def get_calendar(self, name: str) -> Document:
        return self._call("GET", _calendar(name))

    def list_calendars(self, *, limit: int | None = None) -> Iterator[Document]:
        """By name. limit: calendars in all."""
        return self._pages("/calendars", "calendars", {}, limit)

    def delete_calendar(self, name: str, *, if_match: int | None = None) -> None:
        """Refused while jobs name it. A repeated call that finds it gone is a success."""
        self._call("DELETE", _calendar(name), headers=conditions(if_match), gone_is_done=True)

    def replan(
        self,
        *,
        dry_run: bool = False,
        calendar: str | None = None,
        cursor: str | None = None,
    ) -> Iterator[Document]:
        """Pages until the end of the active jobs, or of those that name the calendar."""

        def ask(after: str | None) -> Document:
            asked = {"dry_run": dry_run, "calendar": calendar, "cursor": after or cursor}
            body = {name: value for name, value in asked.items() if value}
            return self._call("POST", "/replan", body=body)

        return following(ask)


def _calendar(name: str) -> str:
    return f"/calendars/{segment(name)}"
