"""Strict reading of request bodies."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cronce import limits
from cronce.domain.errors import Fault, Invalid, NotJson, TooLarge
from cronce.domain.jsontree import Number, Verbatim, compact, merge, plain, pointer

__all__ = ["Number", "Verbatim", "compact", "merge", "parse", "plain", "pointer"]

NUMBER_CHARS = 400
SHOWN_CHARS = 40


class _Constant(str):
    """NaN, Infinity, -Infinity: JavaScript, not JSON."""


class _Repeated(dict[str, Any]):
    """An object in which a name occurs twice."""

    names: tuple[str, ...] = ()


# Both always match to the end of a string that is never closed: the scan stays linear.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_BRACKETS = re.compile(_STRING + r"|[\[{]|[\]}]", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(raw: bytes, *, most: int = limits.BODY_BYTES, depth: int = limits.BODY_DEPTH) -> Any:
    """The document: dict, list, str, Number, bool or None.

    most: bytes. depth: of nested arrays and objects. Raises TooLarge; NotJson for syntax,
    encoding, depth and numbers out of range; Invalid for names that occur twice and for halves of
    surrogate pairs, with the pointer of each.
    """
    if len(raw) > most:
        raise TooLarge("the body", len(raw), most)
    text = _decode(raw)
    _check_depth(text, depth)
    try:
        tree = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_Constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as e:
        raise NotJson(f"{e.msg.removesuffix(' at')} at line {e.lineno}, column {e.colno}") from None
    found = list(_walk(tree, ""))
    if numbers := [fault for fault in found if fault.code == "bad_number"]:
        raise NotJson("a number is not one that is accepted", numbers)
    if found:
        raise Invalid(found)
    return tree


def _decode(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as e:
        raise NotJson(f"not UTF-8: byte {e.start} does not belong there") from None
    if text.startswith("\ufeff"):
        raise NotJson("it starts with a byte order mark")
    if not text.strip(" \t\r\n"):
        raise NotJson("it is empty")
    return text


def _check_depth(text: str, most: int) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        if (bracket := match[0]) in "[{":
            depth += 1
            if depth > most:
                raise NotJson(f"nested deeper than {most} levels")
        elif bracket in "]}":
            depth -= 1


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    plain_object = dict(pairs)
    if len(plain_object) == len(pairs):
        return plain_object
    repeated = _Repeated(plain_object)
    counts = Counter(name for name, _ in pairs)
    repeated.names = tuple(name for name, count in counts.items() if count > 1)
    return repeated


def _walk(node: Any, at: str) -> Iterator[Fault]:
    if isinstance(node, dict):
        if isinstance(node, _Repeated):
            for name in node.names:
                yield Fault(at + pointer(name), "duplicate_key", "given twice", "each name once")
        for name, value in node.items():
            yield from _surrogates(name, at + pointer(name))
            yield from _walk(value, at + pointer(name))
    elif isinstance(node, list):
        for n, value in enumerate(node):
            yield from _walk(value, f"{at}/{n}")
    elif isinstance(node, _Constant):
        yield Fault(at, "bad_number", f"{node} is not JSON", "a finite number")
    elif isinstance(node, Number):
        yield from _range(node, at)
    elif isinstance(node, str):
        yield from _surrogates(node, at)


def _surrogates(text: str, at: str) -> Iterator[Fault]:
    if _SURROGATE.search(text):
        detail = "it holds half of a surrogate pair, which is no character"
        yield Fault(_SURROGATE.sub("\ufffd", at), "lone_surrogate", detail, "Unicode text")


def _range(number: Number, at: str) -> Iterator[Fault]:
    accepted = f"a number of at most {NUMBER_CHARS} characters in the range of a double"
    text = number.text
    if len(text) > NUMBER_CHARS:
        yield Fault(at, "bad_number", f"a number of {len(text)} characters", accepted)
    elif math.isinf(float(text)):
        yield Fault(at, "bad_number", f"{text[:SHOWN_CHARS]} is out of range", accepted)
