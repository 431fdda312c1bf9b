"""The API's function: routes by the table of operations; every error becomes a problem detail."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response

from cronce.control import Control
from cronce.domain.named import check_calendar_name
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
from cronce.handlers.request import Request, check_job_id
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
    app = APIGatewayRestResolver()
    observer = parts.control.ports.observer
    table = tuple(operations)

    @app.exception_handler(Exception)  # type: ignore[untyped-decorator]
    def on_error(error: Exception) -> Response[str]:
        return _problem(error, app.current_event.raw_event, observer)

    @app.not_found
    def on_unknown(error: Exception) -> Response[str]:
        event = app.current_event.raw_event
        return _problem(_why_not_found(event, table), event, observer)

    for operation in table:
        rule = operation.path.replace("{", "<").replace("}", ">")
        app.route(rule, operation.method)(_route(app, parts, operation))

    def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        try:
            return app.resolve(_without_base_path(event), context)
        except Exception as error:
            answer = _problem(error, event, observer)
            headers = {"Content-Type": problems.CONTENT_TYPE}
            return {"statusCode": answer.status_code, "headers": headers, "body": answer.body}

    return handle


def _without_base_path(event: Mapping[str, Any]) -> dict[str, Any]:
    """Behind a custom domain the path begins with the base path of its mapping."""
    below = "/" + str((event.get("pathParameters") or {}).get("proxy") or "")
    path = str(event.get("path") or "/")
    if below != "/" and path.endswith(below) and _BASE_PATH.fullmatch(path[: -len(below)]):
        path = below
    return {**event, "path": path}


def _route(
    app: APIGatewayRestResolver, parts: Parts, operation: Operation
) -> Callable[..., Response[str]]:
    known = tuple(parameter.name for parameter in operation.query)

    def call(**path: str) -> Response[str]:
        request = Request(app.current_event.raw_event, path)
        request.check_query(known)
        return _response(operation.run(parts, request))

    return call


def _response(answered: Answered) -> Response[str]:
    headers = dict(answered.headers)
    if answered.document is None:
        return Response(answered.status, headers=headers, body="")
    return Response(answered.status, JSON, compact(answered.document), headers=headers)


def _problem(error: Exception, event: Mapping[str, Any], observer: Observer) -> Response[str]:
    request_id = str((event.get("requestContext") or {}).get("requestId") or "")
    answer = problems.answer(error, request_id=request_id)
    if answer.status_code >= 500:
        kind = type(error).__name__
        trace = "".join(traceback.format_exception(error))[-TRACE_CHARS:]
        observer.event("api_failed", error=kind, request=request_id, trace=trace)
    return answer


def _why_not_found(event: Mapping[str, Any], table: tuple[Operation, ...]) -> Exception:
    """Another method, an id that no route can hold, or nothing there."""
    path, method = str(event.get("path") or "/"), str(event.get("httpMethod") or "")
    if allowed := [o.method for o in table if _pattern(o.path).fullmatch(path)]:
        steps = path.split("/")
        try:
            if method in allowed and steps[1] == "calendars":
                check_calendar_name(steps[2], "path:calendar")
            elif method in allowed:
                check_job_id(steps[2])
        except Exception as invalid:
            return invalid
        return problems.MethodNotAllowed(method[:20], allowed)
    return problems.NoRoute(f"nothing is at {path[:200]}")


@lru_cache
def _pattern(path: str) -> re.Pattern[str]:
    """Wider than the resolver's: a parameter is anything but a slash."""
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "/?", re.DOTALL)


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
