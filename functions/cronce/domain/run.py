"""A run, and the table of the moves it may make."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cronce import limits
from cronce.domain.identity import RunKey

RunStatus = Literal[
    "pending", "running", "retrying", "succeeded", "failed", "skipped", "cancelled", "missed"
]
Outcome = Literal["succeeded", "failed", "timed_out", "lost"]

OPEN: frozenset[str] = frozenset({"pending", "running", "retrying"})
ENDED: frozenset[str] = frozenset({"succeeded", "failed", "skipped", "cancelled", "missed"})
# What an operator wants to hear of; a success pays nothing for the index of these.
ATTENTION: frozenset[str] = frozenset({"failed", "skipped", "missed"})

# name of the transition -> (statuses it may leave, status it enters). "none" is: no row yet.
# `claim` leaves `running` only when the lease has expired, `retrying` only when it is due;
# `lose` is a claim that finds the lease expired and no attempt left; `cancel` leaves `running`
# when the lease has expired, or by request (the owner is removed, so the old one is refused).
MOVES: dict[str, tuple[frozenset[str], str]] = {
    "trigger": (frozenset({"none"}), "pending"),
    "claim": (frozenset({"none", "pending", "retrying", "running"}), "running"),
    "renew": (frozenset({"running"}), "running"),
    "succeed": (frozenset({"running"}), "succeeded"),
    "fail": (frozenset({"running"}), "failed"),
    "lose": (frozenset({"running"}), "failed"),
    "retry": (frozenset({"running"}), "retrying"),
    "skip": (frozenset({"none", "pending"}), "skipped"),
    "miss": (frozenset({"none", "pending", "running"}), "missed"),
    "cancel": (frozenset({"none", "pending", "retrying", "running"}), "cancelled"),
    "redrive": (frozenset({"failed"}), "retrying"),
}

MAX_ENTRIES = limits.ATTEMPT_ENTRIES


@dataclass(frozen=True)
class Entry:
    """One failed attempt, kept on the run. detail: at most 512 bytes."""

    attempt: int
    outcome: Outcome
    code: str
    detail: str
    started_at: datetime | None
    finished_at: datetime


@dataclass(frozen=True)
class LogPointer:
    """Where the attempt's own log lines lie."""

    group: str = ""
    stream: str = ""
    request_id: str = ""


NO_LOG = LogPointer()


@dataclass(frozen=True)
class Run:
    """The run row.

    attempt: 0 before the first claim; never reset. base: the attempts used up before the last
    redrive, so that attempts up to base + max_attempts may be made. owner: random token of the
    latest attempt's claim; it stays on the row when the attempt ends, so that a completion whose
    answer was lost is recognised. message_id: the queue message under which it was claimed.
    code, detail: how it ended, or why it was skipped or cancelled (detail at most 512 bytes).
    held_until: when its group or backfill let it start, where that was later than due.
    dispatched_at: when the message of its first claim was first sent: its dispatch record's time.
    triggered_by: the caller of a run now, or of the last redrive, which was at redriven_at.
    indexed_at: the row's place in the `next_run` index while it waits there (triggered, or a retry
    further than 15 minutes away).
    """

    key: RunKey
    status: RunStatus
    due: datetime
    attempt: int = 0
    base: int = 0
    owner: str = ""
    message_id: str = ""
    lease_expires_at: datetime | None = None
    retry_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    held_until: datetime | None = None
    dispatched_at: datetime | None = None
    code: str = ""
    detail: str = ""
    entries: tuple[Entry, ...] = ()
    log: LogPointer = NO_LOG
    triggered_by: str = ""
    redriven_at: datetime | None = None
    indexed_at: datetime | None = None
    shard: int | None = None
    expires_at: int | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def lease_expired(self, now: datetime) -> bool:
        """At the very instant it ends, a lease has expired."""
        return self.lease_expires_at is None or self.lease_expires_at <= now
