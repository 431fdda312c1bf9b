"""Rows of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from cronce import limits
from cronce.adapters.items import (
    VERSION,
    instant,
    instant_or_none,
    job_pk,
    number,
    present,
    readable,
    reading,
    run_key_of,
    run_sk,
    text,
    trigger_sk,
    wire,
)
from cronce.adapters.wire import Item
from cronce.domain.identity import RunKey
from cronce.domain.instants import epoch_seconds, to_wire
from cronce.domain.run import ATTENTION, ENDED, OPEN, Entry, LogPointer, Run


def log_text(log: LogPointer) -> str | None:
    """One attribute; neither a group nor a request id can hold a bar."""
    text = f"{log.group}|{log.request_id}|{log.stream}"
    return None if text == "||" else text


def entry_to_item(entry: Entry) -> Item:
    return present(
        {
            "attempt": entry.attempt,
            "outcome": entry.outcome,
            "code": entry.code,
            "detail": entry.detail or None,
            "started_at": wire(entry.started_at),
            "finished_at": to_wire(entry.finished_at),
        }
    )


def run_to_item(run: Run) -> Item:
    return present(
        {
            "pk": job_pk(run.key.job_id),
            "sk": run_sk(run.key),
            "v": VERSION,
            "status": run.status,
            "due": to_wire(run.due),
            "attempt": run.attempt or None,
            "base": run.base or None,
            "owner": run.owner or None,
            "message_id": run.message_id or None,
            "lease_expires_at": wire(run.lease_expires_at),
            "retry_at": wire(run.retry_at),
            "started_at": wire(run.started_at),
            "finished_at": wire(run.finished_at),
            "held_until": wire(run.held_until),
            "dispatched_at": wire(run.dispatched_at),
            "day": attention_day(run.status, run.finished_at),
            "code": run.code or None,
            "detail": run.detail or None,
            "entries": [entry_to_item(e) for e in run.entries] or None,
            "log": log_text(run.log),
            "triggered_by": run.triggered_by or None,
            "redriven_at": wire(run.redriven_at),
            "next_run": wire(run.indexed_at),
            "shard": run.shard,
            "expires_at": run.expires_at,
        }
    )


def attention_day(status: str, finished_at: datetime | None) -> str | None:
    return to_wire(finished_at)[:10] if finished_at and status in ATTENTION else None


@reading
def run_from_item(item: Mapping[str, object]) -> Run:
    status = item["status"]
    if status not in OPEN | ENDED:
        raise ValueError("unknown status")
    group, request_id, stream = text(item, "log", "||").split("|", 2)
    return Run(
        key=run_key_of(item["pk"], item["sk"]),
        status=cast(Any, status),
        due=instant(item, "due"),
        attempt=number(item, "attempt", 0),
        base=number(item, "base", 0),
        owner=text(item, "owner", ""),
        message_id=text(item, "message_id", ""),
        lease_expires_at=instant_or_none(item, "lease_expires_at"),
        retry_at=instant_or_none(item, "retry_at"),
        started_at=instant_or_none(item, "started_at"),
        finished_at=instant_or_none(item, "finished_at"),
        held_until=instant_or_none(item, "held_until"),
        dispatched_at=instant_or_none(item, "dispatched_at"),
        code=text(item, "code", ""),
        detail=text(item, "detail", ""),
        entries=tuple(map(_entry, cast(Sequence[Item], item.get("entries", ())))),
        log=LogPointer(group, stream, request_id),
        triggered_by=text(item, "triggered_by", ""),
        redriven_at=instant_or_none(item, "redriven_at"),
        indexed_at=instant_or_none(item, "next_run"),
        shard=number(item, "shard") if "shard" in item else None,
        expires_at=number(item, "expires_at") if "expires_at" in item else None,
    )


readable_run = readable(run_from_item)


def marker_to_item(key: RunKey, now: datetime) -> Item:
    """That a client's id was used, whatever the instant. The run's row outlives it: it stays as
    long at least, and from its end on."""
    return {
        "pk": job_pk(key.job_id),
        "sk": trigger_sk(key),
        "v": VERSION,
        "scheduled_for": to_wire(key.scheduled_for),
        "expires_at": epoch_seconds(now + timedelta(seconds=limits.HISTORY[0])),
    }


def _entry(item: Mapping[str, object]) -> Entry:
    return Entry(
        attempt=number(item, "attempt"),
        outcome=cast(Any, text(item, "outcome")),
        code=text(item, "code", ""),
        detail=text(item, "detail", ""),
        started_at=instant_or_none(item, "started_at"),
        finished_at=instant(item, "finished_at"),
    )
