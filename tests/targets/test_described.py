"""What the API's description says of a target is what validation goes by."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cronce.handlers.target_schemas import target_schema
from cronce.targets.fields import check_fields
from cronce.targets.registry import KINDS

from .test_validation import VALID

WRONG: list[Any] = [None, 7, True, "", "x", "ü", "a" * 2000, [], ["x"], [7], {}, {"x": 7}]
KNOWN = {
    *("type", "properties", "required", "additionalProperties", "pattern", "maxLength", "enum"),
    *("items", "minItems", "maxItems", "oneOf", "title", "description", "default", "examples"),
}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """JSON Schema, as far as the description uses it."""
    assert schema.keys() <= KNOWN
    if "oneOf" in schema:
        return sum(accepts(each, value) for each in schema["oneOf"]) == 1
    if not isinstance(value, TYPES[schema["type"]]):
        return False
    if isinstance(value, dict):
        return _accepts_object(schema, value)
    if isinstance(value, list):
        sized = schema["minItems"] <= len(value) <= schema["maxItems"]
        return sized and all(accepts(schema["items"], each) for each in value)
    if isinstance(value, str):
        fits = re.search(schema.get("pattern", ""), value, re.ASCII) is not None
        short = len(value) <= schema.get("maxLength", len(value))
        return fits and short and value in schema.get("enum", [value])
    return True


def _accepts_object(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    fields, others = schema.get("properties", {}), schema["additionalProperties"]
    return all(name in value for name in schema.get("required", ())) and all(
        accepts(fields[name], each)
        if name in fields
        else others is not False and accepts(others, each)
        for name, each in value.items()
    )


def places(node: dict[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in node.items():
        yield (*way, name)
        if isinstance(value, dict):
            yield from places(value, (*way, name))


def changed(target: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The target with each of its fields taken away, made wrong, and beside an unknown one."""
    for *way, name in places(target):
        if not way:
            continue
        made = copy.deepcopy(target)
        parent: Any = made
        for step in way:
            parent = parent[step]
        for wrong in WRONG:
            parent[name] = wrong
            yield copy.deepcopy(made)
        del parent[name]
        yield copy.deepcopy(made)
        yield target | {way[0]: target[way[0]] | {"unheard": "of"}}


@pytest.mark.parametrize("target", VALID, ids=str)
def test_the_schema_takes_what_is_valid_and_refuses_what_a_field_does_not_accept(
    target: dict[str, Any],
) -> None:
    schema = target_schema()
    assert accepts(schema, target)
    ((name, _),) = target.items()
    refused = 0
    for made in changed(target):
        kind, config = KINDS[name], made[name]
        by_a_field = check_fields(config, kind.fields)
        if by_a_field:
            refused += 1
            assert not accepts(schema, made), (made, by_a_field)
        elif not kind.validate(config, "aws"):
            assert accepts(schema, made), made
    assert refused > 5


def test_a_target_has_one_kind() -> None:
    schema = target_schema()
    assert [each["title"] for each in schema["oneOf"]] == list(KINDS)
    assert not accepts(schema, {})
    assert not accepts(schema, {"smtp": {}})
    assert not accepts(schema, VALID[0] | VALID[5])


def test_every_default_is_accepted_and_every_kind_says_what_it_does() -> None:
    for each in target_schema()["oneOf"]:
        assert each["description"].endswith(".")
        (fields,) = each["properties"].values()
        for field in fields["properties"].values():
            assert "default" not in field or accepts(field, field["default"])
