"""The life of a message: wait, read, judge, enter, claim, execute, complete, leave.

Nothing is decided before the due time; nothing is executed without a claim; nothing is recorded
without the claim's owner token. A message is acknowledged only when the table no longer needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cronce import backfill, limits
from cronce.aftermath import follow, keep
from cronce.announce import announce_end
from cronce.calendars import Calendars
from cronce.delivery import Back, BatchReport, Delivery, Done, Step, TakeOver, Worker
from cronce.domain.calendar import Calendar
from cronce.domain.errors import CronceError, Unplannable
from cronce.domain.instants import seconds
from cronce.domain.job import StoredJob
from cronce.domain.judge import (
    Cancel,
    Miss,
    Proceed,
    Skip,
    judge,
    needs_calendar,
    needs_missed,
)
from cronce.domain.message import Message, UnknownVersion, Unreadable
from cronce.domain.overlap import Enter, Wait
from cronce.domain.plan import Missed
from cronce.domain.run import Run
from cronce.domain.transitions import Claim, Ending
from cronce.execute import Attempt, execute
from cronce.overlap import enter
from cronce.ports import Changed, Result

__all__ = ["BatchReport", "Delivery", "Done", "Step", "Worker", "work_batch"]

# Longer waits go back to the queue: the batch is hidden for one lease, and half of it must be left
# when the claim is made.
LONGEST_SLEEP = 10
UNKNOWN_VERSION_HIDDEN = 900
MARGIN = 15
LOCK_BUSY = 30
LOOK_AGAIN = 60
MAX_AGE = seconds(limits.QUEUE_RETENTION)


def work_batch(w: Worker, deliveries: Sequence[Delivery]) -> BatchReport:
    """All messages at once. Of those whose lease has expired one is taken over afterwards, alone;
    the others become visible then, for workers of their own."""
    report = BatchReport()
    _hide(w, deliveries, w.settings.lease)
    steps = w.ports.threads.each(lambda d: _guarded(w, d, report), deliveries)
    expired = [(n, step) for n, step in enumerate(steps) if isinstance(step, TakeOver)]
    if others := [deliveries[n] for n, _ in expired[1:]]:
        _hide(w, others, 0)
    for n, first in expired[:1]:
        steps[n] = _guarded(w, deliveries[n], report, first)
    for delivery, step in zip(deliveries, steps, strict=True):
        if not isinstance(step, Done):
            report.returned.append(delivery.message_id)
    return report


def _guarded(
    w: Worker, delivery: Delivery, report: BatchReport, take_over: TakeOver | None = None
) -> Step:
    """Trouble of the table or the queue, or a fault of ours, is this message's alone."""
    try:
        step = _taken_over(w, take_over, report) if take_over else _handle(w, delivery, report)
    except Exception as e:
        known = isinstance(e, CronceError)
        w.ports.observer.event(
            "message_returned" if known else "message_failed",
            message_id=delivery.message_id,
            reason=f"{type(e).__name__}: {e}"[:300],
        )
        low, high = limits.QUEUE_RETRY_VISIBILITY
        step = Back(low + (high - low) * w.ports.random.fraction())
    if isinstance(step, Back) and step.hidden is not None:
        _hide(w, [delivery], step.hidden)
    return step


def _hide(w: Worker, deliveries: Sequence[Delivery], hidden: float) -> None:
    """Where it fails, the messages stay hidden for as long as the queue hides any."""
    receipts = [d.receipt for d in deliveries]
    try:
        w.ports.queue.hide(receipts, int(max(0, min(hidden, limits.QUEUE_MAX_HIDDEN))))
    except CronceError as e:
        w.ports.observer.event("hide_failed", reason=str(e))


def _handle(w: Worker, delivery: Delivery, report: BatchReport) -> Step:
    """One message as named steps."""
    message = _read(w, delivery)
    if not isinstance(message, Message):
        return message
    early = _wait(w, message)
    if early is not None:
        return early
    read_at = w.ports.clock.now()
    stored = w.ports.store.read_job(message.key.job_id)
    settled = _settle_unrun(w, message, stored, delivery)
    if settled is not None or stored is None:
        return settled or Done()
    own = backfill.with_its_policy(w.ports, message.key, stored)
    if own is None:
        return _withdraw(w, message, stored, delivery)
    attempt = Attempt(message, delivery.message_id, delivery.receipt, own, read_at)
    return _enter(w, attempt) or _claim(w, attempt, report)


def _read(w: Worker, delivery: Delivery) -> Message | Step:
    try:
        message = Message.from_body(delivery.body)
    except UnknownVersion as e:
        w.ports.observer.event("unknown_version", message_id=delivery.message_id, reason=str(e))
        return Back(UNKNOWN_VERSION_HIDDEN)
    except Unreadable as e:
        w.ports.queue.dead_letter(delivery.body, str(e))
        w.ports.observer.event("unreadable", message_id=delivery.message_id, reason=str(e))
        return Done()
    if w.ports.clock.now() - message.first_sent > MAX_AGE:
        w.ports.observer.event("too_old", job=message.key.job_id, run=message.key.run_id)
        return Done()
    return message


def _wait(w: Worker, message: Message) -> Step | None:
    """Never early, by this machine's clock."""
    left = (message.start - w.ports.clock.now()).total_seconds()
    if left > LONGEST_SLEEP:
        return Back(left)
    while left > 0:
        w.ports.clock.sleep(left)
        left = (message.start - w.ports.clock.now()).total_seconds()
    return None


def _settle_unrun(
    w: Worker, message: Message, stored: StoredJob | None, delivery: Delivery
) -> Step | None:
    """Records a run that must not start as cancelled, skipped or missed. None: it may start, or it
    has started before and the claim will tell."""
    now = w.ports.clock.now()
    store = w.ports.store
    missed = store.find_missed(message.key) if needs_missed(message, stored, now) else None
    calendar = _calendar(w, stored) if needs_calendar(message, stored, now) else None
    verdict = judge(message, stored, missed, now, calendar)
    if isinstance(verdict, Proceed):
        return None
    history = stored.definition.history if stored else limits.HISTORY_DEFAULT
    e = Ending(verdict.code, verdict.detail, history)
    result: Result
    if isinstance(verdict, Cancel):
        result = store.cancel(message.key, message.due, e, by_request=False, now=now)
    elif isinstance(verdict, Skip):
        result = store.skip(message.key, message.due, e, now=now)
    else:
        assert isinstance(verdict, Miss)
        result = store.miss(message.key, message.due, e, now=now)
    if isinstance(result, Changed) or isinstance(verdict, Cancel):
        return _concluded(w, result, e, delivery.message_id, stored)
    return None


def _withdraw(w: Worker, message: Message, stored: StoredJob, delivery: Delivery) -> Step:
    """Its backfill was cancelled; whoever runs it already goes on."""
    now = w.ports.clock.now()
    e = Ending("backfill_cancelled", "its backfill was cancelled", stored.definition.history)
    result = w.ports.store.cancel(message.key, message.due, e, by_request=False, now=now)
    return _concluded(w, result, e, delivery.message_id, stored)


def _concluded(
    w: Worker, result: Result, e: Ending, message_id: str, stored: StoredJob | None
) -> Step:
    """The run was ended as it is, without the target; or somebody else was first."""
    if isinstance(result, Changed):
        _observe(w, f"run_{result.run.status}", result.run, code=e.code)
        return _end(w, result.run, stored)
    return _left_to_others(w, result, message_id, stored)


def _calendar(w: Worker, stored: StoredJob | None) -> Calendar | None:
    """None where it is gone, too: what cannot be planned is judged as it stands."""
    try:
        named = Calendars(w.ports.store).of(stored.job.plan) if stored else None
    except Unplannable:
        return None
    return named.calendar if named else None


def _enter(w: Worker, attempt: Attempt) -> Step | None:
    """The overlap lock, for jobs that limit overlap. None: the run may be claimed."""
    stored, key = attempt.stored, attempt.key
    if stored.definition.overlap == "allow":
        return None
    decision = enter(w.ports, attempt.message, stored)
    if isinstance(decision, Enter):
        return None
    if isinstance(decision, Wait):
        w.ports.observer.event("waiting", job=key.job_id, run=key.run_id)
        return Done()
    if decision is None:
        return Back(1)
    into = f": {decision.ran_into.run_id}" if decision.ran_into else ""
    e = Ending("overlap", decision.detail + into, stored.definition.history)
    now = w.ports.clock.now()
    result = w.ports.store.skip(key, attempt.message.due, e, now=now)
    if isinstance(result, Changed):
        _observe(w, "run_skipped", result.run, code=e.code)
        announce_end(w.ports, w.settings, result.run, attempt.stored)
        return Done()
    # Claimed before, so too late to skip: a retry or redrive comes back when the other one is over.
    busy = result.run is not None and not result.run.ended
    return Back(LOCK_BUSY) if busy else Done()


def _end(w: Worker, run: Run, stored: StoredJob | None) -> Step:
    """This process has ended the run. Who waits for it goes first, who is told of it after."""
    try:
        return _follow(w, run, stored)
    finally:
        announce_end(w.ports, w.settings, run, stored)


def _follow(w: Worker, run: Run, stored: StoredJob | None) -> Step:
    """The end of a run is written: what follows from it."""
    return Done() if follow(w.ports, w.settings, run, stored) else Back(LOOK_AGAIN)


def _claim(w: Worker, attempt: Attempt, report: BatchReport) -> Step:
    now = w.ports.clock.now()
    if now + seconds(attempt.definition.timeout + MARGIN) > w.deadline:
        return Back(0)
    result = w.ports.store.claim(attempt.key, _claim_of(w, attempt, now), now=now)
    if isinstance(result, Changed):
        # A retry is not asked: its first attempt was.
        missed = _counted(w, attempt) if result.run.attempt == 1 else None
        return _go(w, attempt, result.run, missed, report)
    found = result.run
    if found is not None and found.status == "running" and found.lease_expired(now):
        return TakeOver(attempt, found)
    return _left_to_others(w, result, attempt.message_id, attempt.stored)


def _taken_over(w: Worker, step: TakeOver, report: BatchReport) -> Step:
    """The next attempt of a run whose worker died; or its end, when no attempt is left."""
    attempt, seen = step.attempt, step.seen
    now = w.ports.clock.now()
    if now + seconds(attempt.definition.timeout + MARGIN) > w.deadline:
        return Back(0)
    w.ports.queue.hide([attempt.receipt], w.settings.lease)
    missed = _counted(w, attempt)
    if missed is None and seen.attempt >= seen.base + attempt.definition.retry.max_attempts:
        e = Ending("lost", "its workers died", attempt.definition.history)
        result = w.ports.store.lose(attempt.key, e, seen=seen, now=now)
        return _concluded(w, result, e, attempt.message_id, attempt.stored)
    claim = _claim_of(w, attempt, now)
    result = w.ports.store.take_over(attempt.key, claim, seen=seen, now=now)
    if isinstance(result, Changed):
        _observe(w, "reclaimed", result.run)
        return _go(w, attempt, result.run, missed or _counted(w, attempt), report)
    return _left_to_others(w, result, attempt.message_id, attempt.stored)


def _counted(w: Worker, attempt: Attempt) -> Missed | None:
    """An occurrence is missed or run, never both: whoever counts it as missed looks for its run
    after, and here the run looks for the count after its claim.

    Looked for when the claim is late, or when the job may have been paused, edited and resumed
    between its reading and the claim."""
    now = w.ports.clock.now()
    moment = now - attempt.read_at < seconds(1)
    if attempt.key.trigger or (moment and not needs_missed(attempt.message, attempt.stored, now)):
        return None
    return w.ports.store.find_missed(attempt.key)


def _go(w: Worker, attempt: Attempt, run: Run, missed: Missed | None, report: BatchReport) -> Step:
    """The claim is ours: run, or concede that the run was counted as missed."""
    if missed is None:
        return _run(w, attempt, run, report)
    e = Ending(missed.reason, f"recorded as {missed.reason} already", attempt.definition.history)
    now = w.ports.clock.now()
    result = w.ports.store.concede(attempt.key, run.owner, e, now=now)
    return _concluded(w, result, e, attempt.message_id, attempt.stored)


def _claim_of(w: Worker, attempt: Attempt, now: datetime) -> Claim:
    return Claim(
        owner=w.ports.random.token(),
        message_id=attempt.message_id,
        due=attempt.message.due,
        lease_expires_at=now + seconds(w.settings.lease),
        log=w.log,
        held_until=attempt.message.held_until,
        dispatched_at=attempt.message.first_sent,
    )


def _left_to_others(w: Worker, refused: Result, message_id: str, stored: StoredJob | None) -> Step:
    """The claim was lost. Acknowledge only what this message is not needed for any more."""
    run = refused.run
    if run is None:
        return Back(limits.QUEUE_RETRY_VISIBILITY[0])
    now = w.ports.clock.now()
    if run.ended:
        return _follow(w, run, stored)
    if run.status == "retrying":
        if run.indexed_at is not None:
            return Done()
        at = run.retry_at or now
        return Back((at - now).total_seconds() + 1)
    if run.status == "running" and not run.lease_expired(now):
        if run.message_id != message_id:
            w.ports.observer.event("copy_refused", job=run.key.job_id, run=run.key.run_id)
            return Done()
        until = run.lease_expires_at or now
        return Back((until - now).total_seconds() + 1)
    return Back(1)


def _run(w: Worker, attempt: Attempt, run: Run, report: BatchReport) -> Step:
    _observe(w, "claimed", run, due=run.due, started_at=run.started_at)
    keep(w.ports, attempt.stored)
    ended = execute(w.ports, w.settings, w.target, attempt, run)
    report.abandoned += ended.abandoned
    if ended.over is not None:
        return _end(w, ended.over, attempt.stored)
    return Done() if ended.recorded else Back()


def _observe(w: Worker, action: str, run: Run, **more: object) -> None:
    w.ports.observer.event(
        action, job=run.key.job_id, run=run.key.run_id, attempt=run.attempt, **more
    )
