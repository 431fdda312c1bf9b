"""Operations on backfills."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from cronce.control.backfills import Ask, DryRun
from cronce.domain.backfill import PACE, PACE_DEFAULT, Backfill
from cronce.domain.errors import Fault, Invalid
from cronce.domain.instants import EPOCH, to_api
from cronce.domain.overlap import OVERLAPS, Overlap
from cronce.handlers import models_many as models
from cronce.handlers.operations import PAGED, Answered, Operation, Parts
from cronce.handlers.request import Request, check_client_id, read_instant

T = TypeVar("T")
FIELDS = ("id", "from", "to", "dry_run", "pace", "overlap")


def create_backfill(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    ask, dry_run = read_ask(request.optional_object(FIELDS), parts.control.ports.clock.now())
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
    request.optional_object(())
    found = parts.control.cancel_backfill(request.job_id(), _id(request), by=request.caller)
    return Answered(200, document(found))


def read_ask(doc: dict[str, Any], now: datetime) -> tuple[Ask, bool]:
    """What is asked for, and whether only to try. Raises Invalid with every fault."""
    faults: list[Fault] = []

    def read(name: str, parse: Callable[[object], T], absent: T) -> T:
        try:
            return parse(doc[name]) if name in doc else absent
        except Invalid as e:
            faults.extend(e.faults)
            return absent

    client_id = read("id", lambda value: check_client_id(value, "/id"), None)
    first = read("from", lambda value: read_instant(value, "/from"), None)
    before = read("to", lambda value: read_instant(value, "/to"), now)
    pace = read("pace", _pace, PACE_DEFAULT)
    overlap = read("overlap", _overlap, None)
    dry_run = read("dry_run", _flag, False)
    if "from" not in doc:
        faults.append(Fault("/from", "missing_field", "from is required", "an instant"))
    elif first is not None and first < EPOCH:
        faults.append(Fault("/from", "out_of_range", "before 1970", "an instant since 1970"))
    elif first is not None and before <= first:
        faults.append(Fault("/to", "bad_range", "to is not after from", "a later instant"))
    if before > now:
        accepted = "an instant up to now, or leave it out"
        faults.append(Fault("/to", "in_future", "to has not come yet", accepted))
    if faults or first is None:
        raise Invalid(faults)
    return Ask(first, before, pace, overlap, client_id), dry_run


def _pace(value: object) -> int:
    if type(value) is int and PACE[0] <= value <= PACE[1]:
        return value
    accepted = f"a whole number of runs a minute, {PACE[0]} to {PACE[1]}"
    raise Invalid.one("/pace", "out_of_range", f"{value!r:.40} is not", accepted)


def _overlap(value: object) -> Overlap | None:
    if value in OVERLAPS:
        return value
    accepted = ", ".join(OVERLAPS)
    raise Invalid.one("/overlap", "unknown_value", f"{value!r:.40} is no policy", accepted)


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise Invalid.one("/dry_run", "wrong_type", "not a boolean", "true or false")


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
        done_up_to=_instant(b.done_up_to),
        reason=b.reason,
        created_at=to_api(b.created_at),
        created_by=b.created_by,
        finished_at=_instant(b.finished_at),
    ).model_dump(by_alias=True)


def _dry(found: DryRun) -> dict[str, object]:
    return models.DryRun(
        dry_run=True,
        total=found.total,
        first=_instant(found.first),
        last=_instant(found.last),
        existing=found.existing,
    ).model_dump()


def _instant(at: datetime | None) -> str | None:
    return None if at is None else to_api(at)


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
