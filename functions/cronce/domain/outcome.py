"""What others are told about: the end of a run, and what the dispatcher found out about a job.

An outcome names the job, the run and a code. What a target said stays in the run row: who may hear
that a job failed may not read its answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from cronce.domain.instants import to_wire
from cronce.domain.job import Job
from cronce.domain.plan import Missed
from cronce.domain.run import Run, RunStatus

SOURCE: Final = "cronce"
VERSION: Final = 1

Kind = Literal[
    "Cronce Run Failed",
    "Cronce Run Recovered",
    "Cronce Run Succeeded",
    "Cronce Run Skipped",
    "Cronce Run Missed",
    "Cronce Occurrences Missed",
    "Cronce Job In Error",
    "Cronce Job Overdue",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

OF_STATUS: Final[Mapping[RunStatus, Kind]] = {
    "failed": "Cronce Run Failed",
    "succeeded": "Cronce Run Succeeded",
    "skipped": "Cronce Run Skipped",
    "missed": "Cronce Run Missed",
}


@dataclass(frozen=True)
class Outcome:
    """kind: the detail-type. detail: plain values, safe for JSON; under 1 KB."""

    kind: Kind
    detail: Mapping[str, object]


def of_run(kind: Kind, run: Run, job: Job | None) -> Outcome:
    """job: the one that the run is of; None when it is gone. Times that are not known are absent,
    and so is the attempt of a run that was never claimed."""
    key = run.key
    detail = {
        "v": VERSION,
        "job": key.job_id,
        "group": job.group if job else None,
        "run": key.run_id,
        "scheduled_for": to_wire(key.scheduled_for),
        "trigger": key.trigger or None,
        "status": run.status,
        "code": run.code,
        "attempt": run.attempt or None,
        "due": to_wire(run.due),
        "started_at": _wire(run.started_at),
        "finished_at": _wire(run.finished_at),
    }
    return Outcome(kind, _known(detail))


def of_missed(job_id: str, group: str, missed: Missed) -> Outcome:
    """Occurrences that nobody dispatched in time, and what the policy made of them."""
    detail: dict[str, object] = {
        "v": VERSION,
        "job": job_id,
        "group": group,
        "first": to_wire(missed.first),
        "last": to_wire(missed.last),
        "count": missed.count,
        "policy": missed.policy,
        "reason": missed.reason,
    }
    return Outcome("Cronce Occurrences Missed", detail)


def of_error(job_id: str, group: str | None, reason: str) -> Outcome:
    """group None: the row could not be read."""
    detail = {"v": VERSION, "job": job_id, "group": group, "reason": reason}
    return Outcome("Cronce Job In Error", _known(detail))


def of_overdue(job_id: str, group: str, due: datetime, now: datetime) -> Outcome:
    """overdue_seconds: between its due time and the tick that dispatched it."""
    detail: dict[str, object] = {
        "v": VERSION,
        "job": job_id,
        "group": group,
        "due": to_wire(due),
        "overdue_seconds": int((now - due).total_seconds()),
    }
    return Outcome("Cronce Job Overdue", detail)


def _wire(at: datetime | None) -> str | None:
    return to_wire(at) if at else None


def _known(detail: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in detail.items() if value is not None}
