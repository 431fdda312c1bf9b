"""Operations on runs."""

from __future__ import annotations

from typing import cast

from cronce.domain.errors import Invalid
from cronce.domain.run import Run
from cronce.handlers import models
from cronce.handlers.documents import run_document, runs_document
from cronce.handlers.operations import (
    CURSOR,
    IDEMPOTENCY_KEY,
    RUNS_PAGE,
    Answered,
    Operation,
    Parts,
    limit_of,
)
from cronce.handlers.request import Request, check_client_id, pointing_at


def run_now(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    client_id = _client_id(request)
    run, new = parts.control.run_now(job_id, by=request.caller, client_id=client_id)
    where = {"Location": f"/jobs/{job_id}/runs/{run.key.run_id}"}
    return Answered(202 if new else 200, run_document(run), where)


def get_run(parts: Parts, request: Request) -> Answered:
    return Answered(200, run_document(parts.control.get_run(request.job_id(), request.run_id())))


def list_runs(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    limit = request.number("limit", 1, RUNS_PAGE, RUNS_PAGE)
    page = pointing_at(
        "query:cursor",
        lambda: parts.control.list_runs(job_id, limit=limit, cursor=request.query("cursor")),
    )
    runs = cast(tuple[Run, ...], page.items)
    return Answered(200, runs_document(runs, page.cursor))


def _client_id(request: Request) -> str | None:
    """Of the body or of the header; both, if they agree."""
    header = request.idempotency_key()
    body = request.optional_object(("id",))
    if "id" not in body:
        return header
    client_id = check_client_id(body["id"], "/id")
    if header not in (None, client_id):
        detail = "the header Idempotency-Key says something else"
        raise Invalid.one("/id", "exclusive", detail, "one of the two, or the same in both")
    return client_id


OPERATIONS = (
    Operation(
        "runNow",
        "POST",
        "/jobs/{job_id}/run",
        "Run the job now, beside its schedule. 200 if this id has run before.",
        run_now,
        {202: models.Run, 200: models.Run},
        body=models.RunNow,
        body_required=False,
        headers=(IDEMPOTENCY_KEY,),
        problems=(400, 404, 409, 413, 422),
    ),
    Operation(
        "listRuns",
        "GET",
        "/jobs/{job_id}/runs",
        "The runs of a job, the latest occurrence first; also of a job that was deleted.",
        list_runs,
        {200: models.Runs},
        query=(limit_of(RUNS_PAGE, RUNS_PAGE), CURSOR),
        problems=(404, 422),
    ),
    Operation(
        "getRun",
        "GET",
        "/jobs/{job_id}/runs/{run_id}",
        "One run. A run that is dispatched and not yet claimed may have no record yet.",
        get_run,
        {200: models.Run},
        problems=(404, 422),
    ),
)
