"""The overlap lock at work: before a claim it is taken, after a run's end who waits is woken.

Jobs that allow overlap never come here. Whoever joins the waiting looks once more at the holder
after the join is written, and whoever ends a run looks at the lock after the end is written: one of
the two always sees the other, so nobody waits for a run that has ended. A message that wakes does
nothing but that: the run takes the lock by itself, so it may come twice, or be sent again.
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
    lock_of,
    vacated,
    without,
)
from cronce.domain.record import Sent
from cronce.domain.run import Run
from cronce.domain.transitions import Ending
from cronce.ports import Outgoing, Ports

TRIES = 8


def enter(ports: Ports, message: Message, stored: StoredJob) -> Enter | Wait | Refuse | None:
    """The lock for a run that is due. Enter: it may be claimed. Wait: it is in line and its message
    is not needed. Refuse: to be skipped. None: too much contention, or the job has been deleted or
    made anew since it was read; the message tells when it comes again."""
    me = Sent(message.key, message.generation, message.due)
    found = stored.lock
    for _ in range(TRIES):
        lock = lock_of(me.key.uid, found)
        ended = lock.holder not in (None, me.key) and _has_ended(ports, lock)
        now = ports.clock.now()
        decision = decide(stored.definition.overlap, lock, me, holder_ended=ended, now=now)
        if isinstance(decision, Refuse):
            _wake(ports, decision.wake)
            return decision
        if not isinstance(decision, Enter) and _is_over(ports.store.read_run(me.key)):
            # An old copy of a message; the claim will tell, and nobody is to give way to it.
            return Enter(None)
        if isinstance(decision, Replace):
            _cancel(ports, decision.holder, me.key, stored)
        elif decision.lock is None:
            if isinstance(decision, Wait):
                _wake(ports, decision.wake)
            return decision
        elif ports.store.write_lock(me.key.job_id, found, decision.lock):
            if found is None and _read_again(ports, me.key) is None:
                # Its lock had gone with it, and with the lock who holds it.
                return None
            if isinstance(decision, Wait):
                _after_joining(ports, decision, decision.lock)
            return decision
        again = _read_again(ports, me.key)
        if again is None:
            return None
        found = again.lock
    return None


def leave(ports: Ports, ended: RunKey) -> None:
    """After the end of a run is written: who comes next is woken, if the lock is free. A crash in
    between is healed by the next copy of either message, or by reconciling."""
    for _ in range(TRIES):
        found = ports.store.read_lock(ended.job_id)
        if found is None or found.uid != ended.uid:
            return
        shorter = without(found, ended)
        if shorter is None or ports.store.write_lock(ended.job_id, found, shorter):
            lock = shorter or found
            if lock.waiting and (lock.holder in (None, ended) or _has_ended(ports, lock)):
                _wake(ports, lock.waiting[0])
            return


def vacate(ports: Ports, ended: RunKey) -> None:
    """Before an ended run is given new attempts, so that nobody who saw it ended enters with it."""
    for _ in range(TRIES):
        found = ports.store.read_lock(ended.job_id)
        free = vacated(found, ended) if found is not None else None
        if free is None or ports.store.write_lock(ended.job_id, found, free):
            return


def _read_again(ports: Ports, key: RunKey) -> StoredJob | None:
    """The job, unless it is another one by now. A deletion takes the lock along."""
    stored = ports.store.read_job(key.job_id)
    return stored if stored is not None and stored.job.uid == key.uid else None


def _has_ended(ports: Ports, lock: Lock) -> bool:
    """Whether the run that the lock names has ended. No row yet is a run still to be claimed."""
    if lock.holder is None:
        return True
    run = ports.store.read_run(lock.holder)
    return not lock.may_be_claimed(ports.clock.now()) if run is None else run.ended


def _is_over(run: Run | None) -> bool:
    return run is not None and run.ended


def _cancel(ports: Ports, holder: RunKey, by: RunKey, stored: StoredJob) -> None:
    now = ports.clock.now()
    e = Ending("replaced", f"replaced by {by.run_id}", stored.definition.history)
    ports.store.cancel(holder, holder.scheduled_for, e, by_request=True, now=now)
    ports.observer.event("replaced", job=holder.job_id, run=holder.run_id, by=by.run_id)


def _after_joining(ports: Ports, decision: Wait, lock: Lock) -> None:
    if decision.wake is not None:
        _wake(ports, decision.wake)
    elif _has_ended(ports, lock):
        _wake(ports, lock.waiting[0])


def _wake(ports: Ports, first: Sent | None) -> None:
    if first is None:
        return
    now = ports.clock.now()
    ports.queue.send([Outgoing(Message(first.key, first.generation, first.due, now), 0)])
    ports.observer.event("woken", job=first.key.job_id, run=first.key.run_id)
