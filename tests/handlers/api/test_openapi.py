"""The document of the API: sound in itself, equal to the committed copy, and to what is served."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cronce.domain.definition import FIELDS
from cronce.domain.zones import tzdata_version
from cronce.handlers.api import OPERATIONS
from cronce.handlers.openapi import openapi
from cronce.jsontext import plain

from .conftest import Api

COPY = Path(__file__).parents[3] / "docs" / "openapi.json"
METHODS = {"get", "put", "post", "patch", "delete"}


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(json.dumps(openapi(OPERATIONS)))


def walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def operations(document: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def test_the_committed_copy_is_current(document: Any) -> None:
    assert COPY.is_file(), "python -m cronce.handlers.openapi > docs/openapi.json"
    assert json.loads(COPY.read_text()) == document


def test_it_is_served(over_memory: Api, document: Any) -> None:
    answer = over_memory.call("GET", "/openapi.json")
    assert answer.status == 200
    assert answer.json == document


def test_health(over_memory: Api) -> None:
    assert over_memory.call("GET", "/health").json == {
        "status": "ok",
        "deployment": "cronce",
        "version": "0.1.0",
        "tzdata": tzdata_version(),
    }


def test_every_reference_leads_somewhere(document: Any) -> None:
    references = [node["$ref"] for node in walk(document) if isinstance(node.get("$ref"), str)]
    assert len(references) > 50
    for reference in references:
        found = document
        assert reference.startswith("#/")
        for step in reference[2:].split("/"):
            found = found[step.replace("~1", "/").replace("~0", "~")]


def test_every_component_is_used(document: Any) -> None:
    text = json.dumps(document)
    for kind in ("schemas", "parameters", "responses"):
        for name in document["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, name


def test_each_operation_is_whole(document: Any) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names) == len(OPERATIONS)
    for path, method, operation in operations(document):
        assert method in METHODS
        assert operation["summary"]
        assert all(isinstance(status, str) for status in operation["responses"])
        declared = [p.get("$ref", "").rsplit("/", 1)[-1] for p in operation["parameters"]]
        for name in ("job_id", "run_id"):
            assert (name in declared) == (f"{{{name}}}" in path)
        for parameter in operation["parameters"]:
            assert "$ref" in parameter or {"name", "in", "schema"} <= parameter.keys()
        assert method != "get" or "requestBody" not in operation
        answered = [s for s in operation["responses"] if s.startswith("2")]
        assert answered
    for answer in document["components"]["responses"].values():
        assert answer["description"]
        assert list(answer["content"]) == ["application/problem+json"]


def test_the_schema_of_a_job_names_what_is_read(document: Any) -> None:
    schema = document["components"]["schemas"]["Job"]
    assert sorted(schema["properties"]) == sorted(FIELDS)
    assert schema["required"] == ["schedule", "target"]
    assert schema["additionalProperties"] is False
    assert '"null"' not in json.dumps(schema)


def test_no_name_may_be_what_no_url_can_say(document: Any) -> None:
    forms = {node["pattern"] for node in walk(document) if isinstance(node.get("pattern"), str)}
    names = [form for form in forms if "._-" in form]
    assert len(names) == 3
    for form in names:
        said = [name for name in ("a", "a..", "...", ".", "..") if re.search(form, name)]
        # The name of a calendar begins with a letter or digit.
        assert said in (["a", "a..", "..."], ["a", "a.."])


def test_every_operation_tells_of_parameters_that_it_does_not_have(over_memory: Api) -> None:
    for operation in OPERATIONS:
        path = re.sub(r"{\w+}", "a", operation.path)
        # `call` holds the answer to what is documented.
        answer = over_memory.call(operation.method, path, query={"verbose": "1"})
        assert answer.status == 422
        assert answer.faults == [("query:verbose", "unknown_parameter")]


def test_it_is_openapi_3_1(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert {"title", "version"} <= document["info"].keys()
    assert document["security"] == [{"sigv4": []}]
    assert plain(document) == document
