"""Dispatch records, the dispatcher's lease, and what a row of the `next_run` index says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, cast

from cronce import limits
from cronce.adapters.items import (
    BACKFILL_PREFIX,
    JOB_SK,
    RUN_PREFIX,
    VERSION,
    UnknownVersion,
    check_version,
    dispatch_pk,
    instant,
    instant_or_none,
    job_id_of,
    mapping,
    number,
    present,
    reading,
    run_key_of,
    text,
    wire,
)
from cronce.adapters.job_items import due_of
from cronce.adapters.wire import Item
from cronce.domain.instants import EPOCH, epoch_seconds, from_wire, to_wire
from cronce.domain.job import DEFAULT_GROUP
from cronce.domain.record import DispatchRecord, Sent
from cronce.ports import BrokenRow, DueBackfill, DueItem, DueJob, DueRecord, DueRun, Lease

# One page of the index is a read of a few units; a herd takes more pages, not larger ones.
PAGE: Final = 100
# A dispatcher's lease that ends later than this was written by a clock far ahead, and holds nobody.
LONGEST_LEASE: Final = timedelta(seconds=limits.DISPATCHER_TIMEOUT + limits.CLOCK_DIFFERENCE)


def record_to_item(record: DispatchRecord, *, ended_at: datetime | None = None) -> Item:
    """ended_at: about when its last run was seen ended; from then on its expiry counts."""
    expires_at = None
    if record.next_run is None:
        end = max(ended_at or record.dispatched_at, record.dispatched_at)
        expires_at = epoch_seconds(end + timedelta(seconds=limits.HISTORY_DEFAULT))
    return present(
        {
            "pk": dispatch_pk(record.slice),
            "sk": record.record_id,
            "v": VERSION,
            "shard": record.shard,
            "dispatched_at": to_wire(record.dispatched_at),
            "runs": [s.to_text() for s in record.runs] or None,
            "total": record.total,
            "by": record.by or None,
            "next_run": wire(record.next_run),
            "looks": record.looks or None,
            "resent": record.resent or None,
            "counts": dict(record.counts) or None,
            "lateness": dict(record.lateness) or None,
            "expires_at": expires_at,
        }
    )


@reading
def record_from_item(item: Mapping[str, object]) -> DispatchRecord:
    counts = mapping(item, "counts") if "counts" in item else {}
    lateness = mapping(item, "lateness") if "lateness" in item else {}
    return DispatchRecord(
        slice=int(text(item, "pk").removeprefix("DISPATCH#")),
        record_id=text(item, "sk"),
        shard=number(item, "shard"),
        dispatched_at=instant(item, "dispatched_at"),
        runs=tuple(map(Sent.from_text, cast(Sequence[str], item.get("runs", ())))),
        total=number(item, "total"),
        by=text(item, "by", ""),
        next_run=instant_or_none(item, "next_run"),
        looks=number(item, "looks", 0),
        resent=number(item, "resent", 0),
        counts={name: number(counts, name) for name in counts},
        lateness={bound: number(lateness, bound) for bound in lateness},
    )


@reading
def lease_from_item(item: Mapping[str, object]) -> Lease:
    return Lease(
        slice=int(text(item, "pk").removeprefix("DISPATCHER#")),
        owner=text(item, "owner"),
        shards=number(item, "shards"),
        claimed_up_to=instant_or_none(item, "claimed_up_to"),
    )


def due_item(row: Mapping[str, object]) -> DueItem | None:
    """What a row of the index asks for; None for one that a newer release wrote."""
    try:
        return _due_item(row)
    except UnknownVersion:
        return None
    except KeyError as e:
        reason = f"has no {e}"
    except (ValueError, TypeError) as e:
        reason = str(e)
    next_run = str(row.get("next_run"))
    return BrokenRow(str(row["pk"]), str(row["sk"]), next_run, reason[:200], _roughly(next_run))


def _due_item(row: Mapping[str, object]) -> DueItem:
    check_version(row)
    pk, sk = text(row, "pk"), text(row, "sk")
    if sk == JOB_SK:
        return DueJob(
            job_id=job_id_of(pk),
            uid=text(row, "uid"),
            generation=number(row, "generation"),
            plan=mapping(row, "plan"),
            next=due_of(row),
            runs_planned=number(row, "runs_planned", 0),
            group=text(row, "group", DEFAULT_GROUP),
        )
    if sk.startswith(RUN_PREFIX):
        return DueRun(run_key_of(pk, sk), instant(row, "next_run"))
    if sk.startswith(BACKFILL_PREFIX):
        backfill_id = sk.removeprefix(BACKFILL_PREFIX)
        return DueBackfill(job_id_of(pk), backfill_id, instant(row, "next_run"))
    if pk.startswith("DISPATCH#"):
        return DueRecord(int(pk.removeprefix("DISPATCH#")), sk, instant(row, "next_run"))
    raise ValueError("a row of an unknown kind")


def _roughly(next_run: str) -> datetime:
    """Of an unreadable time: long ago, so that the row has its turn."""
    try:
        return from_wire(next_run)
    except ValueError:
        return EPOCH
