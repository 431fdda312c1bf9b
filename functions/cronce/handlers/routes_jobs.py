"""Operations on jobs."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import cast, get_args

from cronce.control import Parse
from cronce.control.jobs import EDIT_TRIES
from cronce.domain.errors import AlreadyExists, Invalid, VersionMismatch
from cronce.domain.job import JobStatus, StoredJob
from cronce.domain.labels import GROUP_FORM, is_group
from cronce.handlers import models
from cronce.handlers.documents import job_document, jobs_document, written_tree
from cronce.handlers.operations import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IF_NONE_MATCH,
    PAGED,
    Answered,
    Operation,
    Parameter,
    Parts,
    word_parameter,
)
from cronce.handlers.problems import KeyReused
from cronce.handlers.request import Request
from cronce.jsontext import merge

NOTE_CHARS = 200
STATES: tuple[str, ...] = get_args(JobStatus)
REPLACED_WHOLE = frozenset({"schedule", "target"})


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


def create_job(parts: Parts, request: Request) -> Answered:
    key = request.idempotency_key()
    doc = request.document()
    job_id = made_up_id(key or parts.control.ports.random.token())
    parse = parts.parse(doc)
    try:
        put = parts.control.put(job_id, parse, by=request.caller, if_none_match=True)
    except AlreadyExists:
        stored = parts.control.get(job_id)
        if key is None or not says_the_same(stored, parse):
            raise KeyReused("this Idempotency-Key created a job that says something else") from None
        return job_answer(stored, 201)
    return job_answer(put.stored, 201)


def says_the_same(stored: StoredJob, parse: Parse) -> bool:
    """Whether the request describes the job as it is now. Raises Invalid."""
    created = stored.definition.created_at or stored.job.changed_at
    asked = parse(created, created).definition
    kept = stored.definition
    return (asked.document, asked.payload, asked.payload_is_json) == (
        kept.document,
        kept.payload,
        kept.payload_is_json,
    )


def made_up_id(seed: str) -> str:
    """
    >>> made_up_id("x")
    'j-82eb5f36d44e01d4c0a8'
    """
    return f"j-{blake2b(seed.encode(), digest_size=10).hexdigest()}"


def patch_job(parts: Parts, request: Request) -> Answered:
    """RFC 7396 over the document as it is stored. A schedule or a target is replaced whole: half
    of one kind and half of another means nothing."""
    job_id = request.job_id()
    patch = request.document()
    if not isinstance(patch, dict):
        raise Invalid.one("", "wrong_type", "a patch is not an object", "an object")
    wanted = version_wanted(parts, request, job_id)
    for _ in range(EDIT_TRIES):
        stored = parts.control.get(job_id)
        merged = merge(written_tree(stored), patch, whole=REPLACED_WHOLE)
        seen = stored.job.version if wanted is None else wanted
        try:
            put = parts.control.put(job_id, parts.parse(merged), by=request.caller, if_match=seen)
        except VersionMismatch:
            if wanted is not None:
                raise
            continue
        return job_answer(put.stored)
    raise VersionMismatch(job_id, parts.control.get(job_id).job.version)


def read_note(value: object, at: str) -> str:
    """Raises Invalid."""
    if isinstance(value, str) and len(value) <= NOTE_CHARS:
        return value
    accepted = f"a string of at most {NOTE_CHARS} characters"
    raise Invalid.one(at, "bad_note", f"{value!r:.40} is not accepted", accepted)


def pause_job(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    fields = request.optional_fields(("note",))
    note = fields.read("note", read_note, "")
    fields.check()
    wanted = version_wanted(parts, request, job_id)
    return job_answer(parts.control.pause(job_id, by=request.caller, note=note, if_match=wanted))


def resume_job(parts: Parts, request: Request) -> Answered:
    job_id = request.job_id()
    request.check_empty()
    wanted = version_wanted(parts, request, job_id)
    return job_answer(parts.control.resume(job_id, by=request.caller, if_match=wanted))


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
    """Raises VersionMismatch for `*` when there is no job."""

    def current() -> int:
        if stored := parts.control.ports.store.read_job(job_id):
            return stored.job.version
        raise VersionMismatch(job_id, None)

    return request.if_match(current)


def list_jobs(parts: Parts, request: Request) -> Answered:
    group = request.query("group")
    if group is not None and not is_group(group):
        raise Invalid.one(
            "query:group", "bad_group", f"{group!r:.80} is not the name of a group", GROUP_FORM
        )
    status = cast(JobStatus | None, request.word("status", STATES))
    page = request.listed(partial(parts.control.list_jobs, group=group, status=status))
    return Answered(200, jobs_document(page.items, page.cursor))


OPERATIONS = (
    Operation(
        "listJobs",
        "GET",
        "/jobs",
        "Jobs of a group, in a state, or all of them. Eventually consistent.",
        list_jobs,
        {200: models.Jobs},
        query=(
            Parameter("group", "Only of this group.", {"type": "string"}),
            word_parameter("status", "Only in this state.", STATES),
            *PAGED,
        ),
    ),
    Operation(
        "createJob",
        "POST",
        "/jobs",
        "Create a job under an id that is made up; otherwise as PUT. With an Idempotency-Key the id"
        " is made of the key: the same request again finds the same job, as long as it exists.",
        create_job,
        {201: models.StoredJob},
        body=models.Job,
        headers=(IDEMPOTENCY_KEY,),
        conflicts=(409,),
    ),
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
        conflicts=(409, 412),
    ),
    Operation(
        "getJob",
        "GET",
        "/jobs/{job_id}",
        "The job: what was written, and its status.",
        get_job,
        {200: models.StoredJob},
        conflicts=(409,),
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
        conflicts=(409, 412),
    ),
    Operation(
        "patchJob",
        "PATCH",
        "/jobs/{job_id}",
        "Change some fields by a merge patch (RFC 7396): null removes a field; `schedule` and"
        " `target` are replaced whole.",
        patch_job,
        {200: models.StoredJob},
        body=models.JobPatch,
        headers=(IF_MATCH,),
        conflicts=(409, 412),
    ),
    Operation(
        "pauseJob",
        "POST",
        "/jobs/{job_id}/pause",
        "Stop its schedule. Runs that go on now go on; it can still be run by request.",
        pause_job,
        {200: models.StoredJob},
        body=models.Pause,
        body_required=False,
        headers=(IF_MATCH,),
        conflicts=(409, 412),
    ),
    Operation(
        "resumeJob",
        "POST",
        "/jobs/{job_id}/resume",
        "Go on from now. What fell into the pause is recorded as paused and does not run.",
        resume_job,
        {200: models.StoredJob},
        headers=(IF_MATCH,),
        conflicts=(409, 412),
    ),
)
