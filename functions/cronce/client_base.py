"""What every part of the client stands on: ids in URLs, and a signed call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

Document = dict[str, Any]


class BadId(ValueError):
    """An id that cannot stand in a URL."""


def segment(text: str) -> str:
    """One segment of a path. BadId for what every URL parser would take away."""
    if text in ("", ".", ".."):
        raise BadId(f"{text!r} cannot stand in a URL")
    return quote(text, safe="")


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
