"""docs/targets.md says what the kinds take, are told, and answer."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cronce.domain.allowed import parse_allowed
from cronce.targets.contract import Call, context, environment, is_retried
from cronce.targets.fields import Fields
from cronce.targets.registry import KINDS, target_faults
from support.pages import code, read, rows, section, words

PAGE = read("targets")
AT = datetime(2026, 11, 30, 1, 30, tzinfo=UTC)
CALL = Call("invoices", "20261130T013000Z-k3f9a2qd", AT, 1, AT, 60.0, {})


def tables(kind: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Its fields, and its facts."""
    found = rows(section(PAGE, kind))
    fields = {words(row[0])[0]: row[1:] for row in found if len(row) == 4}
    return fields, {row[0].strip("`"): row[1] for row in found if len(row) == 2}


def flat(fields: Fields, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in fields.items():
        if field.fields is None:
            yield before + name, field
        else:
            yield from flat(field.fields, f"{before}{name}.")


def test_every_kind_has_its_section() -> None:
    sections = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)
    assert sections == list(KINDS) == words(PAGE.split("\n\n")[1].split(". ")[0])[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_on_the_page_with_its_default(kind: str) -> None:
    shown, _ = tables(kind)
    known = dict(flat(KINDS[kind].fields))
    assert shown.keys() == known.keys()
    for name, field in known.items():
        accepted, default, _ = shown[name]
        assert (default == "required") == (field.required and "." not in name)
        if field.default is not None:
            text = field.default if isinstance(field.default, str) else json.dumps(field.default)
            assert default == f"`{text}`"
        if field.words:
            assert words(accepted) == list(field.words)
        if field.most:
            assert accepted == f"1 to {field.most} ids"


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_is_valid_where_its_entry_is_allowed(kind: str) -> None:
    _, facts = tables(kind)
    entries = words(facts["allowed_targets"])
    secrets = ["arn:aws:secretsmanager:eu-central-1:123456789012:secret:billing-AbCdEf"]
    allowed = parse_allowed(entries + secrets)
    examples = code(section(PAGE, kind), "json")
    assert examples
    for example in examples:
        target = json.loads(example)
        assert list(target) == [kind]
        assert target_faults(target, profile="aws", allowed=allowed) == []
        assert target_faults(target, profile="aws", allowed=()) != []


def test_what_a_target_is_told_is_as_written() -> None:
    told = {words(row[0])[0] for row in rows(section(PAGE, "What a target is told"))}
    assert told == set(context(CALL))
    _, facts = tables("ecs")
    assert set(words(facts["told by"])) <= set(environment(CALL))


def test_the_statuses_that_are_retried_are_as_written() -> None:
    (row,) = (r for r in rows(section(PAGE, "How answers are told apart")) if "HTTP" in r[0])
    *single, first, last = [int(word) for word in words(row[0])]
    written = {*single, *range(first, last + 1)}
    assert written == {status for status in range(300, 700) if is_retried(status)}


def test_the_receiver_refuses_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (receiver,) = code(PAGE, "python")
    names: dict[str, Any] = {}
    exec(receiver, names)
    booked: list[str] = []

    def book(db: sqlite3.Connection, body: str) -> None:
        booked.append(body)
        if body == "worse":
            raise RuntimeError("it went wrong")

    try:
        key = {"Idempotency-Key": "invoices/1"}
        with pytest.raises(RuntimeError):
            names["receive"](key, "worse", book)
        assert [names["receive"](key, body, book) for body in ("one", "again")] == [200, 200]
        assert booked == ["worse", "one"]
    finally:
        names["db"].close()
