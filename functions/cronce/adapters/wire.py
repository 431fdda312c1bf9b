"""Plain values to DynamoDB's typed ones and back.

Whole numbers, strings, booleans, lists and maps: what the items are made of. Floats are refused,
because a number that DynamoDB rounds is not the number that was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

Item = dict[str, object]

# DynamoDB keeps 38 digits; some emulators take more.
_LIMIT: Final = 10**38


def encode(value: object) -> dict[str, Any]:
    """Raises TypeError for what has no exact form in the table."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int) and abs(value) < _LIMIT:
        return {"N": str(value)}
    if isinstance(value, Decimal):
        return {"N": format(value, "f")}
    if isinstance(value, str):
        return {"S": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, Mapping):
        return {"M": {str(name): encode(inner) for name, inner in value.items()}}
    if isinstance(value, list | tuple):
        return {"L": [encode(inner) for inner in value]}
    raise TypeError(f"{type(value).__name__} has no exact form in the table")


def decode(typed: Mapping[str, Any]) -> object:
    """Whole numbers as int, others as Decimal; what the items never hold comes back as it is."""
    [(kind, value)] = typed.items()
    match kind:
        case "N":
            number = Decimal(value)
            return int(number) if number == number.to_integral_value() else number
        case "M":
            return {name: decode(inner) for name, inner in value.items()}
        case "L":
            return [decode(inner) for inner in value]
        case "NULL":
            return None
    result: object = value
    return result


def encode_item(item: Mapping[str, object]) -> dict[str, Any]:
    return {name: encode(value) for name, value in item.items()}


def decode_item(typed: Mapping[str, Any]) -> Item:
    return {name: decode(value) for name, value in typed.items()}
