"""docs/jobs.md says what a job's document may hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from cronce import limits
from cronce.domain.allowed import parse_allowed
from cronce.domain.definition import FIELDS, JobSpec, parse_job
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Invalid
from cronce.domain.job import DEFAULT_GROUP
from cronce.domain.misfire import Misfire
from cronce.domain.retry import RetryPolicy
from cronce.jsontext import parse
from cronce.targets.contract import Call, expand, run_document
from cronce.targets.registry import payload_faults, target_faults
from support.pages import code, read, rows, section, words

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PAGE = read("jobs")
TABLE = {words(row[0])[0]: row[1:] for row in rows(section(PAGE, "Fields"))}
NESTED = {"retry": RetryPolicy(), "misfire": Misfire()}
JSON = code(PAGE, "json")
BOUNDED = re.compile(r"(?:(the grace)|(\d+\w?)) to (\d+\w?)")
ENDING = {"schedule": {"cron": "* * * * *", "max_runs": 1}, "target": {}}


def job(**fields: Any) -> JobSpec:
    return parse_job(ENDING | fields, now=NOW, anchor=NOW, check_target=lambda target: [])


def test_every_field_is_on_the_page_and_none_else() -> None:
    nested = {f"{name}.{field}" for name, each in NESTED.items() for field in vars(each)}
    assert set(TABLE) == {name for name in FIELDS if name not in NESTED} | nested


def number(text: str) -> int:
    return int(text) if text.isdigit() else parse_duration(text, pointer="", low=0, high=10**9)


def bounded() -> Iterator[tuple[str, int, int]]:
    for name, (accepted, *_) in TABLE.items():
        if found := BOUNDED.fullmatch(accepted):
            yield name, number(found[2] or "90s"), number(found[3])


def with_field(name: str, value: int) -> JobSpec:
    outer, _, inner = name.partition(".")
    if not inner:
        return job(**{outer: value})
    policy = {"policy": "run_all"} if outer == "misfire" else {}
    return job(**{outer: policy | {inner: value}})


@pytest.mark.parametrize(("name", "low", "high"), [*bounded()])
def test_bounds_are_as_written(name: str, low: int, high: int) -> None:
    for value in (low, high):
        with_field(name, value)
    for value in (low - 1, high + 1):
        with pytest.raises(Invalid):
            with_field(name, value)


def test_all_numbers_of_the_table_are_tried() -> None:
    assert len(list(bounded())) == 13


def default_of(name: str) -> object:
    outer, _, inner = name.partition(".")
    return getattr(NESTED[outer], inner)


DEFAULTS: dict[str, Callable[[JobSpec], object]] = {
    "timeout": lambda spec: spec.definition.timeout,
    "history": lambda spec: spec.definition.history,
    "overlap": lambda spec: spec.definition.overlap,
    "group": lambda spec: spec.group,
    "start_deadline": lambda spec: spec.definition.start_deadline,
    "pause_on_failure": lambda spec: spec.definition.pause_on_failure,
    "delete_after": lambda spec: spec.definition.delete_after,
}


@pytest.mark.parametrize("name", [n for n in TABLE if "." in n or n in DEFAULTS])
def test_defaults_are_as_written(name: str) -> None:
    written = TABLE[name][1].strip("`")
    found = DEFAULTS[name](job()) if name in DEFAULTS else default_of(name)
    if name == "misfire.window":
        found = Misfire().window_seconds
    if found is None:
        assert written in ("none", "never")
    else:
        assert (number(written) if isinstance(found, int) else written) == found
    assert job().group == DEFAULT_GROUP


def test_policies_are_as_written() -> None:
    for name in ("misfire.policy", "overlap"):
        for word in words(TABLE[name][0]):
            value = {"policy": word} if name == "misfire.policy" else word
            job(**{name.split(".")[0]: value})
    assert f"up to {limits.PAYLOAD_BYTES // 1024} KiB" in TABLE["payload"][0]


JOBS = [text for text in JSON if '"schedule"' in text]


@pytest.mark.parametrize("text", JOBS)
def test_an_example_is_a_job(text: str) -> None:
    allowed = parse_allowed(["https://*.example.com"])
    check = partial(target_faults, profile="aws", allowed=allowed)
    parse_job(
        parse(text.encode()), now=NOW, anchor=NOW, check_target=check, check_payload=payload_faults
    )


def test_the_run_document_and_the_placeholders_are_as_written() -> None:
    at = datetime(2026, 11, 30, 1, 30, tzinfo=UTC)
    call = Call("invoices", "20261130T013000Z-k3f9a2qd", at, 1, at.replace(minute=35), 300.0, {})
    (document,) = (text for text in JSON if '"run_id"' in text)
    assert document.strip() == run_document(call)
    names = [words(row[0])[0] for row in rows(section(PAGE, "Payload"))]
    filled = expand(" ".join(names), replace(call, payload_is_json=False))
    assert "<" not in filled
    assert len(names) == len(set(filled.split())) == 5
    assert len(JOBS) == len(JSON) - 1
