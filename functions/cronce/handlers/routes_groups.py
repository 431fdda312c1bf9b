"""Operations on groups of jobs."""

from __future__ import annotations

from cronce.control.groups import MOST_JOBS, Moved
from cronce.domain.errors import Invalid
from cronce.domain.groups import ACCEPTED, Group, parse_rate
from cronce.domain.job import DEFAULT_GROUP
from cronce.domain.labels import GROUP_FORM, is_group
from cronce.handlers import models_many as models
from cronce.handlers.documents import instant
from cronce.handlers.fields import Fields
from cronce.handlers.fields import cursor as read_cursor
from cronce.handlers.operations import PAGED, Answered, Operation, Parts
from cronce.handlers.request import Request
from cronce.handlers.routes_jobs import read_note
from cronce.jsontext import Number, Verbatim

LIMIT = "max_starts_per_second"


def put_group(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    if name == DEFAULT_GROUP:
        detail = f"jobs of the group {DEFAULT_GROUP} are the ones without a group"
        raise Invalid.one("path:group", "no_limit", detail, "another group")
    group = parts.control.put_group(name, read_limit(request), by=request.caller)
    return Answered(200, document(name, group))


def get_group(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    return Answered(200, document(name, parts.control.get_group(name)))


def delete_group(parts: Parts, request: Request) -> Answered:
    parts.control.delete_group(_name(request))
    return Answered(204)


def list_groups(parts: Parts, request: Request) -> Answered:
    page = request.listed(parts.control.list_groups)
    shown = [document(group.name, group) for group in page.items]
    return Answered(200, {"groups": shown, "cursor": page.cursor})


def pause_group(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    fields = request.optional_fields(("note", "cursor"))
    note = fields.read("note", read_note, "")
    cursor = fields.read("cursor", read_cursor, None)
    fields.check()
    moved = parts.control.pause_group(
        name, by=request.caller, note=note, limit=MOST_JOBS, cursor=cursor
    )
    return Answered(200, _moved(moved))


def resume_group(parts: Parts, request: Request) -> Answered:
    name = _name(request)
    fields = request.optional_fields(("cursor",))
    cursor = fields.read("cursor", read_cursor, None)
    fields.check()
    moved = parts.control.resume_group(name, by=request.caller, limit=MOST_JOBS, cursor=cursor)
    return Answered(200, _moved(moved))


def read_limit(request: Request) -> int:
    """The number as it was written: no rounding comes between. Raises Invalid."""
    fields = Fields(request.document(), (LIMIT,))
    limit = fields.need(LIMIT, _rate, ACCEPTED)
    fields.check()
    assert limit is not None
    return limit


def _rate(value: object, at: str) -> int:
    if isinstance(value, Number):
        return parse_rate(value.text, at)
    raise Invalid.one(at, "wrong_type", "not a number", ACCEPTED)


def _name(request: Request) -> str:
    name = request.path["group"]
    if is_group(name):
        return name
    raise Invalid.one(
        "path:group", "bad_group", f"{name!r:.80} is not the name of a group", GROUP_FORM
    )


def document(name: str, group: Group | None) -> dict[str, object]:
    limit = None if group is None else Verbatim(group.max_starts_per_second)
    return {
        "group": name,
        "max_starts_per_second": limit,
        "changed_at": instant(group.changed_at if group else None),
        "changed_by": group.changed_by if group else "",
    }


def _moved(moved: Moved) -> dict[str, object]:
    return models.MovedGroup(
        changed=list(moved.changed),
        failed=[models.NotMoved(job_id=job, reason=reason) for job, reason in moved.failed],
        cursor=moved.cursor,
    ).model_dump()


OPERATIONS = (
    Operation(
        "listGroups",
        "GET",
        "/groups",
        "Groups that have a limit, by name. Jobs of a group: `GET /jobs?group=`.",
        list_groups,
        {200: models.Groups},
        query=PAGED,
    ),
    Operation(
        "getGroup",
        "GET",
        "/groups/{group}",
        "The limit of a group.",
        get_group,
        {200: models.Group},
    ),
    Operation(
        "putGroup",
        "PUT",
        "/groups/{group}",
        "Limit how many runs of the group's jobs start in a second. Runs that are due together wait"
        " for their turn, in order of due time. Holds for what the schedule starts.",
        put_group,
        {200: models.Group},
        body=models.PutGroup,
    ),
    Operation(
        "deleteGroup",
        "DELETE",
        "/groups/{group}",
        "Take the limit off; the jobs stay.",
        delete_group,
        {204: None},
    ),
    Operation(
        "pauseGroup",
        "POST",
        "/groups/{group}/pause",
        "Pause the active jobs of a group, a page at a time: as long as there is a cursor, call"
        " again with it.",
        pause_group,
        {200: models.MovedGroup},
        body=models.MoveGroup,
        body_required=False,
    ),
    Operation(
        "resumeGroup",
        "POST",
        "/groups/{group}/resume",
        "Resume the paused jobs of a group from now on, a page at a time, as for pause.",
        resume_group,
        {200: models.MovedGroup},
        body=models.ResumeGroup,
        body_required=False,
    ),
)
