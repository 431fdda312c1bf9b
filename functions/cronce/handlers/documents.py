"""What is answered about jobs and runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from cronce.domain import definition as d
from cronce.domain.calendar import Calendar
from cronce.domain.errors import Unplannable
from cronce.domain.instants import EPOCH, to_api
from cronce.domain.job import Job, StoredJob
from cronce.domain.run import Entry, Run
from cronce.domain.stamps import calendar_of
from cronce.handlers import models
from cronce.jsontext import Verbatim, parse


def job_document(stored: StoredJob) -> dict[str, object]:
    """The id, what the user wrote (fields in their documented order, the payload verbatim), and
    the status."""
    job = stored.job
    return {"id": job.job_id, **written(stored), "status": status(stored).model_dump()}


def written(stored: StoredJob) -> dict[str, object]:
    """The document that may be PUT again."""
    fields: dict[str, object] = dict(stored.definition.document)
    if (payload := stored.definition.payload) is not None:
        if stored.definition.payload_is_json:
            fields["payload"] = Verbatim(payload)
        else:
            fields["payload_text"] = payload
    return {name: fields[name] for name in d.FIELDS if name in fields}


def written_tree(stored: StoredJob) -> dict[str, object]:
    """As `written`, with a JSON payload as a document that can be merged with a patch."""
    fields = written(stored)
    if isinstance(payload := fields.get("payload"), Verbatim):
        fields["payload"] = parse(payload.text.encode())
    return fields


def status(stored: StoredJob) -> models.Status:
    definition = stored.definition
    return models.Status(
        **_short_status(stored.job).model_dump(),
        created_at=instant(definition.created_at),
        created_by=definition.created_by,
        updated_at=instant(definition.updated_at),
        updated_by=definition.updated_by,
        expires_at=instant(_of_epoch(stored.job.expires_at)),
    )


def _short_status(job: Job) -> models.JobStatusShort:
    return models.JobStatusShort(
        state=job.status,
        version=job.version,
        generation=job.generation,
        uid=job.uid,
        next_run=instant(job.next.due if job.next else None),
        next_occurrence=instant(job.next.scheduled_for if job.next else None),
        reason=job.reason,
    )


def jobs_document(jobs: Iterable[Job], cursor: str | None) -> dict[str, object]:
    return {"jobs": [_short(job) for job in jobs], "cursor": cursor}


def _short(job: Job) -> dict[str, object]:
    return {
        "id": job.job_id,
        "group": job.group,
        "schedule": _schedule(job),
        "status": _short_status(job).model_dump(),
    }


def _schedule(job: Job) -> dict[str, object] | None:
    try:
        name = calendar_of(job.plan)
        # It is shown by its name, whatever it excludes.
        return job.schedule(Calendar().named(name, 0) if name else None).to_document()
    except Unplannable:
        return None


def run_document(run: Run) -> dict[str, object]:
    return models.Run(
        job_id=run.key.job_id,
        run_id=run.key.run_id,
        status=run.status,
        scheduled_for=to_api(run.key.scheduled_for),
        due=to_api(run.due),
        trigger=run.key.trigger,
        triggered_by=run.triggered_by,
        attempt=run.attempt,
        started_at=instant(run.started_at),
        finished_at=instant(run.finished_at),
        held_until=instant(run.held_until),
        lease_expires_at=instant(run.lease_expires_at),
        retry_at=instant(run.retry_at),
        code=run.code,
        detail=run.detail,
        attempts=[_attempt(entry) for entry in run.entries],
        log=models.Log(group=run.log.group, stream=run.log.stream, request_id=run.log.request_id),
    ).model_dump()


def runs_document(runs: Iterable[Run], cursor: str | None) -> dict[str, object]:
    return {"runs": [run_document(run) for run in runs], "cursor": cursor}


def _attempt(entry: Entry) -> models.Attempt:
    return models.Attempt(
        attempt=entry.attempt,
        outcome=entry.outcome,
        code=entry.code,
        detail=entry.detail,
        started_at=instant(entry.started_at),
        finished_at=to_api(entry.finished_at),
    )


def _of_epoch(seconds: int | None) -> datetime | None:
    return None if seconds is None else EPOCH + timedelta(seconds=seconds)


def instant(at: datetime | None) -> str | None:
    return None if at is None else to_api(at)
