"""OpenAPI 3.1, made of the table of operations and the models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from cronce import __version__
from cronce.domain.calendar import NAME
from cronce.domain.identity import CLIENT_ID, JOB_ID
from cronce.domain.labels import GROUP
from cronce.handlers import models, models_calendars, models_many, problems
from cronce.handlers.operations import Operation, Parameter

TITLE = "cronce"
ABOUT = (
    "Jobs and their runs. Every request is signed (AWS Signature Version 4, service"
    " `execute-api`). Errors are problem details (RFC 9457); a document that is not valid is told"
    " all its faults at once. No CORS headers are sent: signed calls come from servers and command"
    " lines, and no browser origin is allowed to make them."
)
ETAG = {"description": "The version.", "schema": {"type": "string"}}
NULL_IS_ABSENT: tuple[type[BaseModel], ...] = (
    models.Dst,
    models.Schedule,
    models.Retry,
    models.Misfire,
    models.Job,
    models.StoredJob,
    models.RunNow,
    models.Pause,
    models.Preview,
    models.FaultShown,
    models.Problem,
    models_calendars.Excluded,
    models_calendars.Holidays,
    models_calendars.Replan,
    models_many.AskBackfill,
    models_many.MoveGroup,
    models_many.ResumeGroup,
)
VERSIONED = (models.StoredJob, models_calendars.StoredCalendar, models_calendars.PutCalendar)
# Parts of paths, with their forms. A run id that is not one names nothing: 404, as any other.
IN_PATH: Mapping[str, re.Pattern[str] | None] = {
    "job_id": JOB_ID,
    "run_id": None,
    "calendar": NAME,
    "backfill_id": CLIENT_ID,
    "group": GROUP,
}


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    """The whole document; the same for the same code."""
    table = tuple(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": _schemas(table),
            "parameters": {name: _in_path(name, form) for name, form in IN_PATH.items()},
            "responses": {str(s): _problem(s) for s in sorted(_statuses(table))},
            "securitySchemes": {
                "sigv4": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "AWS Signature Version 4",
                }
            },
        },
        "security": [{"sigv4": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary.split(". ")[0].rstrip("."),
        "description": operation.summary,
        "parameters": [
            *(
                {"$ref": f"#/components/parameters/{name}"}
                for name in re.findall(r"{(\w+)}", operation.path)
            ),
            *(_parameter(p, "query") for p in operation.query),
            *(_parameter(p, "header") for p in operation.headers),
        ],
        "responses": {
            **{str(s): _answer(s, model) for s, model in operation.answers.items()},
            **{str(s): {"$ref": f"#/components/responses/{s}"} for s in sorted(operation.problems)},
        },
    }
    if operation.body is not None:
        shown["requestBody"] = {
            "required": operation.body_required,
            "content": {_content_type(operation): {"schema": _ref(operation.body)}},
        }
    return shown


def _content_type(operation: Operation) -> str:
    return "application/merge-patch+json" if operation.method == "PATCH" else "application/json"


def _answer(status: int, model: type[BaseModel] | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if model is not None:
        answer["content"] = {"application/json": {"schema": _ref(model)}}
    if model in VERSIONED:
        answer["headers"] = {"ETag": ETAG}
    return answer


def _problem(status: int) -> dict[str, Any]:
    kinds = [p for _, p in problems.TABLE if p.status == status]
    slugs = ", ".join(f"`{p.type}`" for p in kinds)
    return {
        "description": HTTPStatus(status).phrase + (f": {slugs}" if slugs else ""),
        "content": {problems.CONTENT_TYPE: {"schema": _ref(models.Problem)}},
    }


def _statuses(table: Iterable[Operation]) -> set[int]:
    return {status for o in table for status in o.problems}


def _schemas(table: Iterable[Operation]) -> dict[str, Any]:
    used: set[type[BaseModel]] = {models.Problem}
    for operation in table:
        used.update(m for m in (operation.body, *operation.answers.values()) if m is not None)
    _, document = models_json_schema(
        [(m, "validation") for m in sorted(used, key=_name)],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, Any] = document["$defs"]
    for model in NULL_IS_ABSENT:
        if model.__name__ in schemas:
            _take_nulls_out(schemas[model.__name__])
    return schemas


def _take_nulls_out(schema: dict[str, Any]) -> None:
    """pydantic's None stands for a field that is left out; null itself is refused."""
    for field in schema["properties"].values():
        if "default" in field and field["default"] is None:
            del field["default"]
        options = [o for o in field.get("anyOf", ()) if o != {"type": "null"}]
        if len(options) == 1:
            del field["anyOf"]
            field.update({**options[0], **field})
        elif options:
            field["anyOf"] = options


def _name(model: type[BaseModel]) -> str:
    return model.__name__


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _parameter(parameter: Parameter, where: str) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": where,
        "required": False,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _in_path(name: str, form: re.Pattern[str] | None) -> dict[str, Any]:
    schema = {"type": "string"} | ({"pattern": f"^{form.pattern}$"} if form else {})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def main() -> None:
    """Prints the document, as it is kept in docs/openapi.json."""
    import json

    from cronce.handlers.api import OPERATIONS

    print(json.dumps(openapi(OPERATIONS), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
