"""Operations on backfills."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from cronce.control.backfills import Ask, DryRun
from cronce.domain.backfill import PACE, PACE_DEFAULT, Backfill
from cronce.domain.errors import Fault
from cronce.domain.instants import EPOCH, to_api
from cronce.domain.overlap import OVERLAPS
from cronce.handlers import models_many as models
from cronce.handlers.documents import instant
from cronce.handlers.fields import Fields, flag, one_of, whole
from cronce.handlers.operations import PAGED, Answered, Operation, Parts
from cronce.handlers.request import Request, check_client_id, read_instant

FIELDS = ("id", "from", "to", "dry_run", "pace", "overlap")


def create_backfill(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    ask, dry_run = read_ask(request.optional_fields(FIELDS), parts.control.ports.clock.now())
    if dry_run:
        return Answered(200, _dry(parts.control.try_backfill(job_id, ask)))
    backfill, new = parts.control.backfill(job_id, ask, by=request.caller)
    where = {"Location": f"/jobs/{job_id}/backfills/{backfill.id}"}
    return Answered(201 if new else 200, document(backfill), where)


def get_backfill(parts: Parts, request: Request) -> Answered:
    found = parts.control.get_backfill(request.job_id(), _id(request))
    return Answered(200, document(found))


def list_backfills(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    page = request.listed(partial(parts.control.list_backfills, job_id))
    shown = [document(backfill) for backfill in page.items]
    return Answered(200, {"backfills": shown, "cursor": page.cursor})


def cancel_backfill(parts: Parts, request: Request) -> Answered:
    request.check_empty()
    found = parts.control.cancel_backfill(request.job_id(), _id(request), by=request.caller)
    return Answered(200, document(found))


def read_ask(fields: Fields, now: datetime) -> tuple[Ask, bool]:
    """What is asked for, and whether only to try. Raises Invalid with every fault."""
    client_id = fields.read("id", check_client_id, None)
    first = fields.need("from", read_instant, "an instant")
    before = fields.read("to", read_instant, now)
    pace = fields.read("pace", whole(*PACE, "a whole number of runs a minute,"), PACE_DEFAULT)
    overlap = fields.read("overlap", one_of(OVERLAPS), None)
    dry_run = fields.read("dry_run", flag, False)
    if first is not None and first < EPOCH:
        fields.refuse(Fault("/from", "out_of_range", "before 1970", "an instant since 1970"))
    elif first is not None and before <= first:
        fields.refuse(Fault("/to", "bad_range", "to is not after from", "a later instant"))
    if before > now:
        accepted = "an instant up to now, or leave it out"
        fields.refuse(Fault("/to", "in_future", "to has not come yet", accepted))
    fields.check()
    assert first is not None
    return Ask(first, before, pace, overlap, client_id), dry_run


def _id(request: Request) -> str:
    return check_client_id(request.path["backfill_id"], "path:backfill_id")


def document(b: Backfill) -> dict[str, object]:
    return models.Backfill(
        id=b.id,
        job_id=b.job_id,
        status=b.status,
        **{"from": to_api(b.first)},
        to=to_api(b.before),
        pace=b.pace,
        overlap=b.overlap,
        total=b.total,
        started=b.started,
        existing=b.existing,
        done_up_to=instant(b.done_up_to),
        reason=b.reason,
        created_at=to_api(b.created_at),
        created_by=b.created_by,
        finished_at=instant(b.finished_at),
    ).model_dump(by_alias=True)


def _dry(found: DryRun) -> dict[str, object]:
    return models.DryRun(
        dry_run=True,
        total=found.total,
        first=instant(found.first),
        last=instant(found.last),
        existing=found.existing,
    ).model_dump()


OPERATIONS = (
    Operation(
        "createBackfill",
        "POST",
        "/jobs/{job_id}/backfill",
        "Run occurrences of the past that the schedule has not run itself. Never doubles a run that"
        " exists, and does not move the next one. The same id again finds the same backfill.",
        create_backfill,
        {201: models.Backfill, 200: models.AskedBackfill},
        body=models.AskBackfill,
        conflicts=(409,),
    ),
    Operation(
        "listBackfills",
        "GET",
        "/jobs/{job_id}/backfills",
        "Backfills of a job, by id.",
        list_backfills,
        {200: models.Backfills},
        query=PAGED,
    ),
    Operation(
        "getBackfill",
        "GET",
        "/jobs/{job_id}/backfills/{backfill_id}",
        "How far a backfill is.",
        get_backfill,
        {200: models.Backfill},
    ),
    Operation(
        "cancelBackfill",
        "POST",
        "/jobs/{job_id}/backfills/{backfill_id}/cancel",
        "Start no more runs of it. Those that have not begun are cancelled when their turn comes;"
        " what runs goes on.",
        cancel_backfill,
        {200: models.Backfill},
        conflicts=(409,),
    ),
)
