"""JSON as its author wrote it: numbers keep their text, objects their order."""

from __future__ import annotations

import json
from typing import Any


class Number(str):
    """The text of a number."""


def loads(text: str) -> Any:
    """As json.loads, numbers as Number. Raises ValueError, also for names that come twice."""
    try:
        return json.loads(
            text,
            parse_float=Number,
            parse_int=Number,
            parse_constant=_refused,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def dumps(value: Any, indent: str = "") -> str:
    """Indented by two, for people to read.

    >>> print(dumps(loads('{"b": 1.50, "a": [1e3, true]}')))
    {
      "b": 1.50,
      "a": [
        1e3,
        true
      ]
    }
    """
    if isinstance(value, Number):
        return str(value)
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        inner = (f"{deeper}{_word(k)}: {dumps(v, deeper)}" for k, v in value.items())
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        inner = (deeper + dumps(each, deeper) for each in value)
        return "[\n" + ",\n".join(inner) + f"\n{indent}]"
    return _word(value)


def line(value: Any) -> str:
    """On one line, in ASCII, for files and pipes.

    >>> line(loads('{"b": 1.50, "a": ["x"]}'))
    '{"b":1.50,"a":["x"]}'
    """
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(line, value)) + "]"
    return json.dumps(value)


def _word(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name is given twice in one object")
    return made


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
