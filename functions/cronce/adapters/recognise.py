"""Whose write is this? For a refused write whose first try may have succeeded unheard.

The SDK repeats a write that was not answered; the repeated one meets the row that the first one
wrote, and its condition fails. Each function says whether the row found is what our own write left.
"""

from __future__ import annotations

from datetime import datetime

from cronce.adapters.items import in_table
from cronce.domain.job import Job
from cronce.domain.plan import Due
from cronce.domain.run import Run, RunStatus
from cronce.domain.transitions import Claim, Ending
from cronce.ports import DueJob


def claimed(found: Run, c: Claim) -> bool:
    return found.status == "running" and found.owner == c.owner


def completed(found: Run, owner: str, status: RunStatus) -> bool:
    """The owner token is of one attempt, and stays on the row when the attempt has ended."""
    return bool(owner) and found.owner == owner and found.status == status


def to_be_retried(found: Run, owner: str, retry_at: datetime) -> bool:
    return completed(found, owner, "retrying") and found.retry_at == in_table(retry_at)


def ended(found: Run, status: RunStatus, e: Ending, now: datetime) -> bool:
    """No owner to go by; the same ending at the same millisecond is the same in effect."""
    same = (found.status, found.code, found.detail) == (status, e.code, e.detail)
    return same and found.finished_at == in_table(now)


def redriven(found: Run, triggered_by: str, now: datetime) -> bool:
    at = in_table(now)
    same = found.status == "retrying" and found.triggered_by == triggered_by
    return same and found.retry_at == at and found.indexed_at == at


def out_of_index(found: Run) -> bool:
    """What was wanted is so, whoever did it."""
    return found.indexed_at is None


def advanced(found: Job, due: DueJob, then: Due | None) -> bool:
    """To the same occurrence, of the same schedule: whichever dispatcher did it."""
    if (found.uid, found.generation) != (due.uid, due.generation):
        return False
    if then is None:
        return found.status == "ended" and found.next is None
    return found.next == then


def in_error(found: Job, row: DueJob, reason: str) -> bool:
    same = (found.uid, found.generation) == (row.uid, row.generation)
    return same and (found.status, found.reason, found.next) == ("error", reason, None)
