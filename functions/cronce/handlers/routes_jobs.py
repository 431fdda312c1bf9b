"""Operations on jobs."""

from __future__ import annotations

from cronce.domain.errors import VersionMismatch
from cronce.domain.job import StoredJob
from cronce.handlers import models
from cronce.handlers.documents import job_document
from cronce.handlers.operations import IF_MATCH, IF_NONE_MATCH, Answered, Operation, Parts
from cronce.handlers.request import ANY, Request


def put_job(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    if_match = version_wanted(parts, request, job_id)
    if_none_match = request.if_none_match()
    put = parts.control.put(
        job_id,
        parts.parse(request.document()),
        by=request.caller,
        if_match=if_match,
        if_none_match=if_none_match,
    )
    return job_answer(put.stored, 201 if put.created else 200)


def get_job(parts: Parts, request: Request) -> Answered:
    return job_answer(parts.control.get(request.job_id()))


def delete_job(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    parts.control.delete(job_id, if_match=version_wanted(parts, request, job_id))
    return Answered(204)


def job_answer(stored: StoredJob, status: int = 200) -> Answered:
    headers = {"ETag": f'"{stored.job.version}"'}
    if status == 201:
        headers["Location"] = f"/jobs/{stored.job.job_id}"
    return Answered(status, job_document(stored), headers)


def version_wanted(parts: Parts, request: Request, job_id: str) -> int | None:
    """The version that If-Match asks for; for `*` the one that is there. Raises VersionMismatch
    when there is none."""
    wanted = request.if_match()
    if not isinstance(wanted, str):
        return wanted
    assert wanted == ANY
    stored = parts.control.ports.store.read_job(job_id)
    if stored is None:
        raise VersionMismatch(job_id, None)
    return stored.job.version


OPERATIONS = (
    Operation(
        "putJob",
        "PUT",
        "/jobs/{job_id}",
        "Create the job, or replace its definition. The same again changes nothing; whether it is"
        " paused stays as it is.",
        put_job,
        {201: models.StoredJob, 200: models.StoredJob},
        body=models.Job,
        headers=(IF_MATCH, IF_NONE_MATCH),
        problems=(400, 409, 412, 413, 422),
    ),
    Operation(
        "getJob",
        "GET",
        "/jobs/{job_id}",
        "The job: what was written, and its status.",
        get_job,
        {200: models.StoredJob},
        problems=(404, 409, 422),
    ),
    Operation(
        "deleteJob",
        "DELETE",
        "/jobs/{job_id}",
        "Delete the job. What was due up to now is still dispatched; its runs stay for their"
        " history.",
        delete_job,
        {204: None},
        headers=(IF_MATCH,),
        problems=(404, 409, 412, 422),
    ),
)
