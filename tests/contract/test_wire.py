"""B55: what the table keeps is what was given, or it is refused."""

from decimal import Decimal

import pytest

from cronce.adapters.wire import decode_item, encode_item
from support.stores import Engine

VALUES = {
    "text": "líne\n\x01 ✓ 𝄞",
    "empty": "",
    "number": 10**37 + 1,
    "negative": -5,
    "zero": 0,
    "yes": True,
    "no": False,
    "nothing": None,
    "list": [1, "two", [3, {"four": [5]}], []],
    "map": {"a": {"b": {"c": [True, None]}}, "empty": {}},
}


def test_values_come_back_as_they_were(engine: Engine) -> None:
    item = {"pk": "JOB#x", "sk": "JOB", **VALUES}
    engine.rows.put(item)
    found = engine.rows.get("JOB#x", "JOB")
    assert found == item
    assert found is not None
    assert found["yes"] is True
    assert type(found["zero"]) is int


def test_other_numbers_come_back_as_they_are() -> None:
    item = {"a": {"N": "1.5"}, "b": {"N": "3.0"}, "c": {"N": "1E+2"}}
    assert decode_item(item) == {"a": Decimal("1.5"), "b": 3, "c": 100}


@pytest.mark.parametrize("value", [1.5, float("nan"), 10**38, -(10**38), {1, 2}, b"x", object()])
def test_what_has_no_exact_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no exact form"):
        encode_item({"plan": {"inner": [value]}})
