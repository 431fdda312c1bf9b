"""JSON as its author wrote it: numbers keep their text, objects their order."""

from __future__ import annotations

import json
from typing import Any


class Number(str):
    """The text of a number."""


def loads(text: str) -> Any:
    """As json.loads, numbers as Number. Raises ValueError."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=_refused)


def dumps(value: Any, indent: str = "") -> str:
    """Indented by two.

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
        inner = (f"{deeper}{json.dumps(k)}: {dumps(v, deeper)}" for k, v in value.items())
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        inner = (deeper + dumps(each, deeper) for each in value)
        return "[\n" + ",\n".join(inner) + f"\n{indent}]"
    return json.dumps(value)


def line(value: Any) -> str:
    """On one line.

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


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
