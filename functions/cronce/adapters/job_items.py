"""Rows of jobs, their definitions, and what was missed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from cronce.adapters.items import (
    JOB_SK,
    MISSED_PREFIX,
    SPEC_SK,
    VERSION,
    instant,
    instant_or_none,
    job_id_of,
    job_pk,
    json_text,
    mapping,
    missed_sk,
    number,
    number_or_none,
    present,
    reading,
    text,
    wire,
)
from cronce.adapters.wire import Item
from cronce.domain.instants import epoch_seconds, to_wire
from cronce.domain.job import DEFAULT_GROUP, Definition, Job
from cronce.domain.plan import Due, Missed
from cronce.domain.retry import RetryPolicy


def index_entry(next_: Due | None) -> dict[str, object | None]:
    """Where a job stands in the index; None takes the attribute off, and the row out of it.

    next_occurrence only where jitter moved the due time.
    """
    if next_ is None:
        return {"next_run": None, "next_occurrence": None}
    moved = next_.due != next_.scheduled_for
    occurrence = to_wire(next_.scheduled_for) if moved else None
    return {"next_run": to_wire(next_.due), "next_occurrence": occurrence}


def due_of(item: Mapping[str, object]) -> Due:
    """Raises ValueError, KeyError."""
    due = instant(item, "next_run")
    return Due(instant(item, "next_occurrence") if "next_occurrence" in item else due, due)


def job_changes(job: Job, *, replan: bool) -> dict[str, object | None]:
    """What an edit writes on the job row. Without `replan`, no run-time field."""
    changes: dict[str, object | None] = {
        "v": VERSION,
        "version": job.version,
        "plan": job.plan,
        "group": job.group,
        "reason": job.reason or None,
    }
    if replan:
        changes |= {
            "generation": job.generation,
            "status": job.status,
            "shard": job.shard,
            "changed_at": to_wire(job.changed_at),
            "runs_planned": job.runs_planned or None,
            **index_entry(job.next),
        }
    if replan or job.status == "ended":
        changes["expires_at"] = job.expires_at
    return changes


def job_to_item(job: Job) -> Item:
    keys = {"pk": job_pk(job.job_id), "sk": JOB_SK, "job_id": job.job_id, "uid": job.uid}
    return present({**keys, **job_changes(job, replan=True)})


@reading
def job_from_item(item: Mapping[str, object]) -> Job:
    status = item["status"]
    if status not in ("active", "paused", "error", "ended"):
        raise ValueError("unknown status")
    return Job(
        job_id=job_id_of(item["pk"]),
        uid=text(item, "uid"),
        generation=number(item, "generation"),
        version=number(item, "version"),
        status=status,
        plan=mapping(item, "plan"),
        shard=number(item, "shard"),
        changed_at=instant(item, "changed_at"),
        next=due_of(item) if "next_run" in item else None,
        runs_planned=number(item, "runs_planned", 0),
        group=text(item, "group", DEFAULT_GROUP),
        reason=text(item, "reason", ""),
        expires_at=number_or_none(item, "expires_at"),
        failing=item.get("failing") is True,
    )


def definition_to_item(job: Job, d: Definition) -> Item:
    """It expires with the job's own row."""
    apart = d.target != d.document.get("target")
    return present(
        {
            "pk": job_pk(job.job_id),
            "sk": SPEC_SK,
            "v": VERSION,
            "document": json_text(d.document),
            "target": json_text(d.target) if apart else None,
            "payload": d.payload,
            "payload_is_text": True if d.payload is not None and not d.payload_is_json else None,
            "retry": d.retry.to_document(),
            "timeout": d.timeout,
            "overlap": d.overlap,
            "start_deadline": d.start_deadline,
            "history": d.history,
            "pause_on_failure": d.pause_on_failure,
            "delete_after": d.delete_after,
            "created_at": wire(d.created_at),
            "created_by": d.created_by or None,
            "updated_at": wire(d.updated_at),
            "updated_by": d.updated_by or None,
            "expires_at": job.expires_at,
        }
    )


@reading
def definition_from_item(item: Mapping[str, object]) -> Definition:
    document = json.loads(text(item, "document"))
    target = json.loads(text(item, "target")) if "target" in item else document["target"]
    retry = mapping(item, "retry")
    overlap = item["overlap"]
    if overlap not in ("allow", "skip", "queue_one", "queue_all", "replace"):
        raise ValueError("unknown overlap policy")
    payload = text(item, "payload") if "payload" in item else None
    return Definition(
        document=document,
        target=target,
        payload=payload,
        payload_is_json=not item.get("payload_is_text", False),
        retry=RetryPolicy(**{name: number(retry, name) for name in retry}),
        timeout=number(item, "timeout"),
        overlap=overlap,
        start_deadline=number_or_none(item, "start_deadline"),
        history=number(item, "history"),
        pause_on_failure=number_or_none(item, "pause_on_failure"),
        delete_after=number_or_none(item, "delete_after"),
        created_at=instant_or_none(item, "created_at"),
        created_by=text(item, "created_by", ""),
        updated_at=instant_or_none(item, "updated_at"),
        updated_by=text(item, "updated_by", ""),
    )


# --- missed occurrences


def missed_day(at: datetime) -> str:
    """Their partition of the index `attention`, apart from the runs of that day.

    >>> from cronce.domain.instants import EPOCH
    >>> missed_day(EPOCH)
    'MISSED#1970-01-01'
    """
    return f"{MISSED_PREFIX}{to_wire(at)[:10]}"


def missed_to_item(job_id: str, uid: str, m: Missed, *, now: datetime, history: int) -> Item:
    return {
        "pk": job_pk(job_id),
        "sk": missed_sk(m.first, uid),
        "v": VERSION,
        "uid": uid,
        "first": to_wire(m.first),
        "last": to_wire(m.last),
        "count": m.count,
        "policy": m.policy,
        "reason": m.reason,
        "day": missed_day(now),
        "finished_at": to_wire(now),
        "expires_at": epoch_seconds(now + timedelta(seconds=history)),
    }


@reading
def missed_from_item(item: Mapping[str, object]) -> Missed:
    return Missed(
        first=instant(item, "first"),
        last=instant(item, "last"),
        count=number(item, "count"),
        policy=text(item, "policy"),
        reason=text(item, "reason"),
    )
