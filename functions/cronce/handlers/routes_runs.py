"""Operations on runs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import cast, get_args

from cronce import limits
from cronce.domain.errors import Invalid
from cronce.domain.run import ATTENTION, RunStatus
from cronce.handlers import models
from cronce.handlers.documents import run_document, runs_document
from cronce.handlers.operations import (
    IDEMPOTENCY_KEY,
    PAGED,
    Answered,
    Operation,
    Parts,
    instant_parameter,
    word_parameter,
)
from cronce.handlers.request import Request, check_client_id

STATUSES: tuple[str, ...] = get_args(RunStatus)
ENDED_BADLY = tuple(sorted(ATTENTION))
DAY = timedelta(days=1)
DEFAULT_RANGE = timedelta(days=7)


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
    status = cast(RunStatus | None, request.word("status", STATUSES))
    page = request.listed(partial(parts.control.list_runs, job_id, status=status))
    return Answered(200, runs_document(page.items, page.cursor))


def redrive_run(parts: Parts, request: Request) -> Answered:
    request.check_empty()
    run = parts.control.redrive_run(request.job_id(), request.run_id(), by=request.caller)
    return Answered(202, run_document(run))


def cancel_run(parts: Parts, request: Request) -> Answered:
    request.check_empty()
    run = parts.control.cancel_run(request.job_id(), request.run_id(), by=request.caller)
    return Answered(200, run_document(run))


def list_attention(parts: Parts, request: Request) -> Answered:
    now = parts.control.ports.clock.now()
    to = request.instant("to")
    latest = min(to or now + DAY, now + DAY)
    earliest = request.instant("from") or (to or now) - DEFAULT_RANGE
    if earliest > latest:
        detail = "from is after to"
        raise Invalid.one("query:from", "bad_range", detail, "an earlier instant")
    earliest = max(earliest, now - timedelta(seconds=limits.HISTORY[1]) - DAY)
    status = cast(RunStatus | None, request.word("status", ENDED_BADLY))
    listing = partial(parts.control.list_attention, earliest=earliest, latest=latest, status=status)
    page = request.listed(listing)
    return Answered(200, runs_document(page.items, page.cursor))


def _client_id(request: Request) -> str | None:
    """Of the body or of the header; both, if they agree."""
    header = request.idempotency_key()
    fields = request.optional_fields(("id",))
    client_id = fields.read("id", check_client_id, header)
    fields.check()
    if header not in (None, client_id):
        detail = "the header Idempotency-Key says something else"
        raise Invalid.one("/id", "exclusive", detail, "one of the two, or the same in both")
    return client_id


OPERATIONS = (
    Operation(
        "runNow",
        "POST",
        "/jobs/{job_id}/run",
        "Run the job now, beside its schedule. 200 if this id has run before; it is remembered for"
        " 15 days.",
        run_now,
        {202: models.Run, 200: models.Run},
        body=models.RunNow,
        body_required=False,
        headers=(IDEMPOTENCY_KEY,),
        conflicts=(409,),
    ),
    Operation(
        "listRuns",
        "GET",
        "/jobs/{job_id}/runs",
        "The runs of a job, the latest occurrence first; also of a job that was deleted.",
        list_runs,
        {200: models.Runs},
        query=(word_parameter("status", "Only those in this status.", STATUSES), *PAGED),
    ),
    Operation(
        "getRun",
        "GET",
        "/jobs/{job_id}/runs/{run_id}",
        "One run. A run that is dispatched and not yet claimed may have no record yet.",
        get_run,
        {200: models.Run},
    ),
    Operation(
        "redriveRun",
        "POST",
        "/jobs/{job_id}/runs/{run_id}/redrive",
        "Give a failed run new attempts; the attempts go on counting.",
        redrive_run,
        {202: models.Run},
        conflicts=(409,),
    ),
    Operation(
        "cancelRun",
        "POST",
        "/jobs/{job_id}/runs/{run_id}/cancel",
        "End an open run. What a live attempt still does is refused; a cancelled run stays so.",
        cancel_run,
        {200: models.Run},
        conflicts=(409,),
    ),
    Operation(
        "listAttention",
        "GET",
        "/runs",
        "Runs of all jobs that ended failed, skipped or missed, the last one first. Eventually"
        " consistent.",
        list_attention,
        {200: models.Runs},
        query=(
            word_parameter("status", "Only those that ended so.", ENDED_BADLY),
            instant_parameter("from", "Ended at or after; a week before `to` by default."),
            instant_parameter("to", "Ended at or before; now by default."),
            *PAGED,
        ),
    ),
)
