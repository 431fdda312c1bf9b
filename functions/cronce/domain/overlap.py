"""Who may run while an earlier run of the job is open: the lock, and every decision about it.

The lock has no lease of its own. It is free when the run that it names has ended, is of another
uid, or there is none; so it cannot outlive its holder, and nobody has to give it back. It names
nobody but the run that took it by itself: whoever finds it free while others wait wakes the oldest
of them. Decisions are values: the shell writes the lock that follows if it still is the one
decided upon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.record import Sent

Overlap = Literal["allow", "skip", "queue_one", "queue_all", "replace"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)

MAX_WAITING = limits.WAITING_RUNS
# A holder without a row is still to be claimed, as long as a message of it may be accepted; after
# that its row has expired, or there will be none.
NAMED_FOR = timedelta(seconds=limits.QUEUE_RETENTION + 3600)


@dataclass(frozen=True)
class Lock:
    """The lock row. holder: the run that it names, since named_at. waiting: oldest first, at most
    100. version: counts its writes; 0 before the first."""

    uid: str
    holder: RunKey | None = None
    waiting: tuple[Sent, ...] = ()
    version: int = 0
    named_at: datetime | None = None

    def has(self, key: RunKey) -> bool:
        """It holds the lock or waits for it: its turn does not depend on the time any more."""
        return self.holder == key or self.waits(key)

    def waits(self, key: RunKey) -> bool:
        return any(s.key == key for s in self.waiting)

    def may_be_claimed(self, now: datetime) -> bool:
        """Of a holder without a row."""
        return self.named_at is None or now - self.named_at <= NAMED_FOR


@dataclass(frozen=True)
class Enter:
    """The run may be claimed, once `lock` is written (None: it holds the lock already)."""

    lock: Lock | None


@dataclass(frozen=True)
class Wait:
    """The run waits, once `lock` is written (None: it does so already). wake: the older one whose
    turn it is, if the lock is free."""

    lock: Lock | None
    wake: Sent | None = None


@dataclass(frozen=True)
class Refuse:
    """Skipped. ran_into: the run that holds the lock, or comes first. wake: as in Wait."""

    ran_into: RunKey | None
    detail: str
    wake: Sent | None = None


@dataclass(frozen=True)
class Replace:
    """The holder is cancelled first; then ask again."""

    holder: RunKey


Decision = Enter | Wait | Refuse | Replace


def lock_of(uid: str, lock: Lock | None) -> Lock:
    """The lock as far as this uid goes: what an earlier job of the same name left is nothing."""
    if lock is None:
        return Lock(uid)
    return lock if lock.uid == uid else Lock(uid, version=lock.version)


def decide(policy: Overlap, lock: Lock, me: Sent, *, holder_ended: bool, now: datetime) -> Decision:
    """lock: of this uid (`lock_of`). holder_ended: the run that it names is known to have ended."""
    if lock.holder == me.key:
        return Enter(None)
    if lock.holder is None or holder_ended:
        return _enter_free(policy, lock, me, now)
    if lock.waits(me.key):
        return Wait(None)
    if policy == "replace":
        if _came_before(me.key, lock.holder):
            return Refuse(lock.holder, "a later run has begun")
        return Replace(lock.holder)
    if policy == "queue_one" and not lock.waiting:
        return Wait(_joined(lock, me))
    if policy == "queue_all" and len(lock.waiting) < MAX_WAITING:
        return Wait(_joined(lock, me))
    detail = {
        "queue_one": "an earlier run is open and another one waits",
        "queue_all": f"an earlier run is open and {MAX_WAITING} wait",
    }.get(policy, "an earlier run is open")
    return Refuse(lock.holder, detail)


def without(lock: Lock, key: RunKey) -> Lock | None:
    """The lock that follows when a run ended while it waited; None: it does not wait."""
    if not lock.waits(key):
        return None
    rest = tuple(s for s in lock.waiting if s.key != key)
    return replace(lock, waiting=rest, version=lock.version + 1)


def vacated(lock: Lock, key: RunKey) -> Lock | None:
    """The lock that follows when its holder, ended, is about to be given new attempts: it must take
    the lock again like any other. None: it does not hold it."""
    if lock.holder != key:
        return None
    return replace(lock, holder=None, named_at=None, version=lock.version + 1)


def _enter_free(policy: Overlap, lock: Lock, me: Sent, now: datetime) -> Decision:
    waits = lock.waits(me.key)
    line = lock.waiting if waits else _in_line(lock, me)
    if line[0].key == me.key:
        return Enter(Lock(lock.uid, me.key, line[1:], lock.version + 1, now))
    if waits:
        return Wait(None, line[0])
    room = {"queue_one": 1, "queue_all": MAX_WAITING - 1}.get(policy, -1)
    if len(lock.waiting) <= room:
        return Wait(_joined(lock, me), line[0])
    return Refuse(line[0].key, "older runs wait", line[0])


def _came_before(me: RunKey, holder: RunKey) -> bool:
    """Two of the schedule's own; a request means what it says whatever its instant."""
    return not me.trigger and not holder.trigger and me.scheduled_for < holder.scheduled_for


def _joined(lock: Lock, me: Sent) -> Lock:
    return replace(lock, waiting=_in_line(lock, me), version=lock.version + 1)


def _in_line(lock: Lock, me: Sent) -> tuple[Sent, ...]:
    return tuple(sorted((*lock.waiting, me), key=_order))


def _order(sent: Sent) -> tuple[object, ...]:
    return (sent.due, sent.key.scheduled_for, sent.key.trigger)
