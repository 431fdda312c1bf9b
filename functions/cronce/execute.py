"""One attempt under its lease: call the target once, renew while it runs, record how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from cronce import limits
from cronce.domain.errors import Unavailable
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds
from cronce.domain.job import Definition, StoredJob
from cronce.domain.message import Message
from cronce.domain.retry import GiveUp, RetryAt, decide
from cronce.domain.run import Entry, Run
from cronce.domain.transitions import Ending
from cronce.ports import Changed, Outgoing, Ports, Result, Task
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call, Target, excerpt, timed_out

# A target keeps its own timeout; this much later it is taken to hang and is abandoned.
PATIENCE = 2
COMPLETE_TRIES = 4


@dataclass(frozen=True)
class Attempt:
    """A message, where it came from, and the job it is for, as it was read at read_at."""

    message: Message
    message_id: str
    receipt: str
    stored: StoredJob
    read_at: datetime

    @property
    def key(self) -> RunKey:
        return self.message.key

    @property
    def definition(self) -> Definition:
        return self.stored.definition


@dataclass(frozen=True)
class Ended:
    """recorded: the table knows how the attempt ended, and what follows is on its way. over: the
    run, where it has ended with it. abandoned: the target still runs in this process."""

    recorded: bool
    over: Run | None = None
    abandoned: bool = False


class _LeaseLost(Exception):
    """Refused, or not known to be renewed when it ran out."""


def execute(ports: Ports, settings: Settings, target: Target, attempt: Attempt, run: Run) -> Ended:
    """run: the row as the claim left it."""
    now = ports.clock.now()
    if run.lease_expires_at is not None and run.lease_expires_at <= now:
        _observe(ports, "lease_lost", run, reason="it ran out before the target was called")
        return Ended(recorded=False)
    started = run.started_at or now
    task = ports.threads.start(lambda: target.execute(_call(attempt, run, started)))
    try:
        answer = _answer(ports, settings, task, attempt, run, started)
    except _LeaseLost as e:
        _observe(ports, "lease_lost", run, reason=str(e))
        return Ended(recorded=False, abandoned=not task.wait(0))
    ended = _complete(ports, attempt, run, answer)
    return replace(ended, abandoned=not task.wait(0))


def _call(attempt: Attempt, run: Run, started: datetime) -> Call:
    d = attempt.definition
    return Call(
        job_id=run.key.job_id,
        run_id=run.key.run_id,
        scheduled_for=run.key.scheduled_for,
        attempt=run.attempt,
        deadline=started + seconds(d.timeout),
        timeout=float(d.timeout),
        target=d.target,
        payload=d.payload,
        payload_is_json=d.payload_is_json,
        trigger=run.key.trigger,
    )


def _answer(
    ports: Ports, settings: Settings, task: Task, attempt: Attempt, run: Run, started: datetime
) -> Answer:
    """Waits for the target, renewing the lease. Raises _LeaseLost."""
    give_up_at = started + seconds(attempt.definition.timeout + PATIENCE)
    lease_until = run.lease_expires_at or started
    renew_at = ports.clock.now() + seconds(settings.renew_every)
    while True:
        now = ports.clock.now()
        if now >= give_up_at:
            return timed_out("the target did not come back and was abandoned")
        if task.wait(max(0.0, (min(renew_at, give_up_at) - now).total_seconds())):
            return _result(task)
        now = ports.clock.now()
        if now >= renew_at:
            lease_until = _renew(ports, settings, attempt, run, lease_until)
            renew_at = now + seconds(settings.renew_every)


def _result(task: Task) -> Answer:
    try:
        answer = task.result()
    except Exception as e:
        return Answer(False, "failed", False, "target_error", excerpt(f"{type(e).__name__}: {e}"))
    assert isinstance(answer, Answer)
    return answer


def _renew(
    ports: Ports, settings: Settings, attempt: Attempt, run: Run, lease_until: datetime
) -> datetime:
    """Row and message together. A renewal of unknown result counts as lost at its deadline."""
    now = ports.clock.now()
    until = now + seconds(settings.lease)
    try:
        result = ports.store.renew(run.key, run.owner, until)
        if not isinstance(result, Changed):
            raise _LeaseLost("refused: taken over, or cancelled")
        ports.queue.hide([attempt.receipt], settings.lease)
    except Unavailable as e:
        if now + seconds(settings.renew_every) >= lease_until:
            raise _LeaseLost(f"not renewed in time: {e}"[:200]) from e
        return lease_until
    return until


def _complete(ports: Ports, attempt: Attempt, run: Run, answer: Answer) -> Ended:
    """One conditional write, after a failure that is to be retried also the next message."""
    now = ports.clock.now()
    d = attempt.definition
    ending = Ending(answer.code, answer.result or answer.detail, d.history)
    if answer.ok:
        result = _insist(ports, lambda: ports.store.succeed(run.key, run.owner, ending, now=now))
        return _ended(_reported(ports, result, "succeeded", answer), result)
    entry = Entry(run.attempt, answer.outcome, answer.code, answer.detail, run.started_at, now)
    decision = decide(
        d.retry,
        attempt=run.attempt,
        allowed=run.base + d.retry.max_attempts,
        permanent=answer.permanent,
        retry_after=answer.retry_after,
        now=now,
        fraction=ports.random.fraction(),
    )
    if isinstance(decision, GiveUp):
        result = _insist(
            ports, lambda: ports.store.fail(run.key, run.owner, entry, ending, now=now)
        )
        return _ended(_reported(ports, result, "failed", answer), result)
    return Ended(_retry(ports, attempt, run, entry, decision, answer))


def _ended(recorded: bool, result: Result) -> Ended:
    return Ended(recorded, over=result.run if recorded else None)


def _retry(
    ports: Ports, attempt: Attempt, run: Run, entry: Entry, decision: RetryAt, answer: Answer
) -> bool:
    """Row, message, acknowledgement: a crash in between brings this message back."""
    now = ports.clock.now()
    left = max(0.0, (decision.at - now).total_seconds())
    in_index = left > limits.QUEUE_MAX_DELAY
    result = _insist(
        ports,
        lambda: ports.store.retry(
            run.key, run.owner, entry, retry_at=decision.at, in_index=in_index
        ),
    )
    if not _reported(ports, result, "retrying", answer):
        return False
    if in_index:
        return True
    again = Message(run.key, attempt.message.generation, attempt.message.due, now)
    return all(ports.queue.send([Outgoing(again, int(left) + (left > int(left)))]))


def _insist(ports: Ports, write: Callable[[], Result]) -> Result:
    """The attempt is over and only the table's answer is missing: worth a few tries, since giving
    up means that the next worker executes it again. Raises Unavailable after the last."""
    for n in range(COMPLETE_TRIES - 1):
        try:
            return write()
        except Unavailable:
            ports.clock.sleep(2**n)
    return write()


def _reported(ports: Ports, result: Result, action: str, answer: Answer) -> bool:
    run = result.run
    if isinstance(result, Changed):
        _observe(ports, action, result.run, code=answer.code, outcome=answer.outcome)
        return True
    if run is not None:
        _observe(ports, "completion_refused", run, code=answer.code, found=run.status)
    return False


def _observe(ports: Ports, action: str, run: Run, **more: object) -> None:
    ports.observer.event(
        action,
        job=run.key.job_id,
        run=run.key.run_id,
        attempt=run.attempt,
        due=run.due,
        started_at=run.started_at,
        **more,
    )
