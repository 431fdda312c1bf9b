"""The overlap lock at work: before a claim it is taken, after a run's end it is handed on.

Jobs that allow overlap never come here. Whoever joins the waiting looks once more at the holder
after the join is written, and whoever ends a run looks at the lock after the end is written: one of
the two always sees the other, so nobody waits for a run that has ended.
"""

from __future__ import annotations

from cronce.domain.identity import RunKey
from cronce.domain.job import StoredJob
from cronce.domain.message import Message
from cronce.domain.overlap import (
    Enter,
    Lock,
    Refuse,
    Replace,
    Wait,
    decide,
    hand_over,
    lock_of,
)
from cronce.domain.record import Sent
from cronce.domain.transitions import Ending
from cronce.ports import Outgoing, Ports

TRIES = 8


def enter(ports: Ports, message: Message, stored: StoredJob) -> Enter | Wait | Refuse | None:
    """The lock for a run that is due. Enter: it may be claimed. Wait: it is in line and its message
    is not needed. Refuse: to be skipped. None: too much contention; try the message again later."""
    me = Sent(message.key, message.generation, message.due)
    uid = message.key.uid
    found = stored.lock
    for _ in range(TRIES):
        lock = lock_of(uid, found)
        decision = decide(stored.definition.overlap, lock, me, holder_ended=_ended(ports, lock, me))
        if isinstance(decision, Refuse):
            return decision
        if isinstance(decision, Replace):
            _cancel(ports, decision.holder, me.key, stored)
        elif decision.lock is None:
            return decision
        elif ports.store.write_lock(message.key.job_id, found, decision.lock):
            if isinstance(decision, Wait):
                _after_joining(ports, decision, decision.lock, me)
            return decision
        found = ports.store.read_lock(message.key.job_id)
    return None


def leave(ports: Ports, ended: RunKey) -> None:
    """After the end of a run is written: the oldest waiting one is named and its message sent. A
    crash in between is healed by the next copy of either message, or by reconciling."""
    for _ in range(TRIES):
        found = ports.store.read_lock(ended.job_id)
        if found is None or found.uid != ended.uid:
            return
        handed = hand_over(found, ended)
        if handed is None:
            return
        lock, first = handed
        if ports.store.write_lock(ended.job_id, found, lock):
            _send(ports, first)
            return


def _ended(ports: Ports, lock: Lock, me: Sent) -> bool:
    """Whether the run that the lock names has ended. No row yet is a run still to be claimed."""
    if lock.holder is None or lock.holder == me.key:
        return False
    run = ports.store.read_run(lock.holder)
    return run is not None and run.ended


def _cancel(ports: Ports, holder: RunKey, by: RunKey, stored: StoredJob) -> None:
    now = ports.clock.now()
    e = Ending("replaced", f"replaced by {by.run_id}", stored.definition.history)
    ports.store.cancel(holder, holder.scheduled_for, e, by_request=True, now=now)
    ports.observer.event("replaced", job=holder.job_id, run=holder.run_id, by=by.run_id)


def _after_joining(ports: Ports, decision: Wait, lock: Lock, me: Sent) -> None:
    if decision.handed is not None:
        _send(ports, decision.handed)
    elif lock.holder is not None and _ended(ports, lock, me):
        leave(ports, lock.holder)


def _send(ports: Ports, first: Sent) -> None:
    now = ports.clock.now()
    ports.queue.send([Outgoing(Message(first.key, first.generation, first.due, now), 0)])
    ports.observer.event("handed_over", job=first.key.job_id, run=first.key.run_id)
