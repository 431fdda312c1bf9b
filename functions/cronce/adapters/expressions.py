"""Writes and queries as DynamoDB is told them.

Every attribute goes through a placeholder: in an expression, `#name` is the attribute `name`, and
`:value` is a value given by that name or written by the same call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cronce.adapters.wire import Item, encode, encode_item

ABSENT: Final = "attribute_not_exists(#pk)"
# A row of a newer release is left alone. A missing row fails this too.
KNOWN: Final = "#v <= :v"

_NAME = re.compile(r"#([a-z_]+)")
_VALUE = re.compile(r":([a-z_]+)")


@dataclass(frozen=True)
class Refusal:
    """The condition did not hold. found: the row as it was, None where there was none."""

    found: Item | None


@dataclass(frozen=True)
class Update:
    """One row, changed if `when` holds.

    set: attribute to value; None takes it off. compute: attribute to an expression of old ones.
    values: what `when` and `compute` refer to.
    """

    pk: str
    sk: str
    set: Mapping[str, object]
    when: str
    values: Mapping[str, object] = field(default_factory=dict)
    compute: Mapping[str, str] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        written = {n: v for n, v in self.set.items() if v is not None}
        clauses = {**{n: f":new_{n}" for n in written}, **self.compute}
        sets = [f"#{n} = {clause}" for n, clause in clauses.items()]
        removes = [f"#{n}" for n, v in self.set.items() if v is None]
        update = f"SET {', '.join(sets)}" if sets else ""
        if removes:
            update += f" REMOVE {', '.join(removes)}"
        values = {**self.values, **{f"new_{n}": v for n, v in written.items()}}
        return {
            "Key": key_of(self.pk, self.sk),
            "UpdateExpression": update.strip(),
            **_conditional(self.when, values, update),
        }


@dataclass(frozen=True)
class Put:
    """One whole row, if `when` holds (always, when it is empty)."""

    item: Item
    when: str = ""
    values: Mapping[str, object] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        return {"Item": encode_item(self.item), **_conditional(self.when, self.values)}


@dataclass(frozen=True)
class Delete:
    pk: str
    sk: str
    when: str = ""
    values: Mapping[str, object] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        return {"Key": key_of(self.pk, self.sk), **_conditional(self.when, self.values)}


def key_of(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _conditional(when: str, values: Mapping[str, object], *others: str) -> dict[str, Any]:
    used = placeholders((when, *others), values)
    if not when:
        return used
    return {
        "ConditionExpression": when,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **used,
    }


def placeholders(expressions: Sequence[str], values: Mapping[str, object]) -> dict[str, Any]:
    """DynamoDB refuses a placeholder that no expression uses."""
    text = " ".join(expressions)
    names = {f"#{n}": n for n in _NAME.findall(text)}
    used = {f":{n}": encode(values[n]) for n in _VALUE.findall(text)}
    return {
        **({"ExpressionAttributeNames": names} if names else {}),
        **({"ExpressionAttributeValues": used} if used else {}),
    }
