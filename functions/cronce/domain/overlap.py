"""Who may run while an earlier run of the job is open: the lock, and every decision about it.

The lock has no lease of its own. It is free when the run that it names has ended, is of another
uid, or there is none; so it cannot outlive its holder, and nobody has to give it back. Decisions
are values: the shell writes the lock that follows if it still is the one decided upon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from cronce.domain.identity import RunKey
from cronce.domain.record import Sent

Overlap = Literal["allow", "skip", "queue_one", "queue_all", "replace"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)

MAX_WAITING = 100


@dataclass(frozen=True)
class Lock:
    """The lock row. holder: the run that it names. waiting: oldest first, at most 100.
    version: counts its writes; 0 before the first."""

    uid: str
    holder: RunKey | None = None
    waiting: tuple[Sent, ...] = ()
    version: int = 0

    def has(self, key: RunKey) -> bool:
        """It holds the lock or waits for it: its turn does not depend on the time any more."""
        return self.holder == key or any(s.key == key for s in self.waiting)


@dataclass(frozen=True)
class Enter:
    """The run may be claimed, once `lock` is written (None: it holds the lock already)."""

    lock: Lock | None


@dataclass(frozen=True)
class Wait:
    """The run waits (None: it does so already). handed: the older one that goes first, whose
    message must be sent, if the lock was free."""

    lock: Lock | None
    handed: Sent | None = None


@dataclass(frozen=True)
class Refuse:
    """Skipped. ran_into: the run that holds the lock."""

    ran_into: RunKey | None
    detail: str


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


def decide(policy: Overlap, lock: Lock, me: Sent, *, holder_ended: bool) -> Decision:
    """lock: of this uid (`lock_of`). holder_ended: the run that it names is known to have ended."""
    if lock.holder == me.key:
        return Enter(None)
    if lock.holder is None or holder_ended:
        return _enter_free(policy, lock, me)
    if lock.has(me.key):
        return Wait(None)
    if policy == "replace":
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


def hand_over(lock: Lock, ended: RunKey) -> tuple[Lock, Sent] | None:
    """After a run ended: the lock that names the oldest waiting one, and that one. None when there
    is nothing to hand over."""
    if lock.holder != ended or not lock.waiting:
        return None
    first, *rest = lock.waiting
    return _next(lock, first.key, tuple(rest)), first


def _enter_free(policy: Overlap, lock: Lock, me: Sent) -> Decision:
    line = tuple(sorted({*lock.waiting, me}, key=_order))
    first, rest = line[0], line[1:]
    if first.key == me.key:
        return Enter(_next(lock, me.key, rest))
    if lock.has(me.key) or policy == "queue_all" or (policy == "queue_one" and len(line) == 2):
        return Wait(_next(lock, first.key, rest), first)
    return Refuse(first.key, "older runs wait")


def _joined(lock: Lock, me: Sent) -> Lock:
    return _next(lock, lock.holder, tuple(sorted((*lock.waiting, me), key=_order)))


def _next(lock: Lock, holder: RunKey | None, waiting: tuple[Sent, ...]) -> Lock:
    return replace(lock, holder=holder, waiting=waiting, version=lock.version + 1)


def _order(sent: Sent) -> tuple[object, ...]:
    return (sent.due, sent.key.scheduled_for, sent.key.trigger)
