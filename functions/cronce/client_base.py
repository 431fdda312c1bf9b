"""What every part of the client stands on: ids in URLs, and a signed call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

Document = dict[str, Any]


class BadId(ValueError):
    """An id that cannot stand in a URL."""


class Unreachable(Exception):
    """No answer: nothing listens there, the name is unknown, or it took too long."""


class NotUnderstood(Unreachable):
    """An answer that is not of this API: something else listens there, or stands in between."""


def segment(text: str) -> str:
    """One segment of a path. BadId for what every URL parser would take away."""
    if text in ("", ".", ".."):
        raise BadId(f"{text!r} cannot stand in a URL")
    return quote(text, safe="")


def conditions(if_match: int | None, if_none_match: bool = False) -> dict[str, str]:
    """As headers."""
    match = {"If-Match": f'"{if_match}"'} if if_match is not None else {}
    return match | ({"If-None-Match": "*"} if if_none_match else {})


def following(ask: Callable[[str | None], Document]) -> Iterator[Document]:
    """Page after page. ask: takes the cursor of the page before. Raises NotUnderstood."""
    cursor = None
    while True:
        page = ask(cursor)
        yield page
        before, cursor = cursor, page.get("cursor")
        if not cursor:
            return
        if cursor == before:
            raise NotUnderstood("the pages of this listing do not come to an end")


class Calls:
    """The two calls that `Client` makes real."""

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
        gone_is_done: bool = False,
    ) -> Document:
        raise NotImplementedError

    def _pages(
        self, path: str, key: str, query: Mapping[str, Any], limit: int | None
    ) -> Iterator[Document]:
        raise NotImplementedError
