"""The API's function: routes by the table of operations; every error becomes a problem detail."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from cronce.control import Control
from cronce.handlers import (
    problems,
    routes_backfills,
    routes_calendars,
    routes_groups,
    routes_jobs,
    routes_meta,
    routes_operate,
    routes_runs,
    routes_schedules,
)
from cronce.handlers.operations import Answered, Operation, Parts
from cronce.handlers.request import Request
from cronce.jsontext import compact
from cronce.ports import Observer

OPERATIONS: tuple[Operation, ...] = (
    *routes_jobs.OPERATIONS,
    *routes_runs.OPERATIONS,
    *routes_backfills.OPERATIONS,
    *routes_groups.OPERATIONS,
    *routes_schedules.OPERATIONS,
    *routes_calendars.OPERATIONS,
    *routes_operate.OPERATIONS,
    *routes_meta.OPERATIONS,
)
JSON = "application/json"
TRACE_CHARS = 3000
_BASE_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+", re.ASCII)
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def build_app(parts: Parts, operations: Iterable[Operation] = OPERATIONS) -> Handler:
    """A Lambda handler for a REST API's proxy events; it never raises."""
    observer = parts.control.ports.observer
    table = tuple(operations)

    def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        try:
            operation, path = _route(event, table)
            request = Request(event, path)
            request.check_query(tuple(parameter.name for parameter in operation.query))
            return _response(operation.run(parts, request))
        except Exception as error:
            return _refusal(error, event, observer)

    return handle


def _route(
    event: Mapping[str, Any], table: tuple[Operation, ...]
) -> tuple[Operation, dict[str, str]]:
    """The operation, and the parts of the path that it names: anything but a slash, for the
    operation to judge. Raises NoRoute, MethodNotAllowed."""
    path, method = _without_base_path(event), str(event.get("httpMethod") or "")
    found: dict[str, tuple[Operation, re.Match[str]]] = {
        operation.method: (operation, match)
        for operation in table
        if (match := _pattern(operation.path).fullmatch(path))
    }
    if not found:
        raise problems.NoRoute(f"nothing is at {path[:200]}")
    if method not in found:
        raise problems.MethodNotAllowed(method[:20], list(found))
    operation, match = found[method]
    return operation, match.groupdict()


@lru_cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "/?")


def _without_base_path(event: Mapping[str, Any]) -> str:
    """Behind a custom domain the path begins with the base path of its mapping."""
    below = "/" + str((event.get("pathParameters") or {}).get("proxy") or "")
    path = str(event.get("path") or "/")
    if below != "/" and path.endswith(below) and _BASE_PATH.fullmatch(path[: -len(below)]):
        return below
    return path


def _response(answered: Answered) -> dict[str, Any]:
    headers = dict(answered.headers)
    if answered.document is None:
        return _proxied(answered.status, headers, "")
    return _proxied(answered.status, {"Content-Type": JSON, **headers}, compact(answered.document))


def _refusal(error: Exception, event: Mapping[str, Any], observer: Observer) -> dict[str, Any]:
    request_id = str((event.get("requestContext") or {}).get("requestId") or "")
    status, headers, document = problems.answer(error, request_id=request_id)
    if status >= 500:
        kind = type(error).__name__
        trace = "".join(traceback.format_exception(error))[-TRACE_CHARS:]
        observer.event("api_failed", error=kind, request=request_id, trace=trace)
    return _proxied(status, headers, compact(document))


def _proxied(status: int, headers: Mapping[str, str], body: str) -> dict[str, Any]:
    """As a REST API takes it from a proxy integration."""
    return {
        "statusCode": status,
        "headers": dict(headers),
        "body": body,
        "isBase64Encoded": False,
    }


@cache
def _deployed() -> Handler:
    from cronce.handlers import wiring

    app = wiring.app()
    answer = build_app(Parts.of(Control(app.ports, app.settings)))

    def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        try:
            return answer(event, context)
        finally:
            app.observer.flush()

    return handle


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point. event: API Gateway, REST API, proxy integration."""
    return _deployed()(event, context)
