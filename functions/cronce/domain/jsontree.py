"""A JSON document as it was written: numbers are text, names keep their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verbatim:
    """JSON text that `compact` writes as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Number(Verbatim):
    """A number of a document, as written. No str and no number: nobody takes it for either."""


_quote = json.JSONEncoder(ensure_ascii=False).encode


def pointer(name: str) -> str:
    """One step of a JSON pointer (RFC 6901).

    >>> pointer("a/b~c")
    '/a~1b~0c'
    """
    return "/" + name.replace("~", "~0").replace("/", "~1")


def plain(tree: Any) -> Any:
    """The same document with int and float in place of Number."""
    if isinstance(tree, Number):
        text = tree.text
        return int(text) if text.lstrip("-").isdigit() else float(text)
    if isinstance(tree, dict):
        return {name: plain(value) for name, value in tree.items()}
    return [plain(value) for value in tree] if isinstance(tree, list) else tree


def compact(tree: object) -> str:
    """JSON text without blanks; names in their order, numbers and Verbatim as written."""
    return "".join(_write(tree))


def _write(node: object) -> Iterator[str]:
    if isinstance(node, Verbatim):
        yield node.text
    elif isinstance(node, str):
        yield _quote(node)
    elif isinstance(node, Mapping):
        yield from _enclosed("{", node.items(), "}")
    elif isinstance(node, list | tuple):
        yield from _enclosed("[", node, "]")
    else:
        yield json.dumps(node, allow_nan=False)


def _enclosed(head: str, parts: Iterable[Any], tail: str) -> Iterator[str]:
    yield head
    for n, part in enumerate(parts):
        if n:
            yield ","
        if head == "{":
            yield _quote(part[0]) + ":"
            part = part[1]
        yield from _write(part)
    yield tail


def merge(tree: Any, patch: Any, *, whole: frozenset[str] = frozenset()) -> Any:
    """RFC 7396: `patch` over `tree`, null removes. whole: names of the top that are replaced
    and not merged."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(tree) if isinstance(tree, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            below = None if name in whole else merged.get(name)
            merged[name] = value if name in whole else merge(below, value)
    return merged
