"""The shipped modules with one guard taken out. Each must be caught by the judge.

Nothing of this is reachable from production code: functions are replaced while a mutant is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from greenlet import getcurrent

from cronce import dispatch, execute, missed, reconcile, work
from cronce.adapters import recognise
from cronce.control import base
from cronce.domain import judge, transitions
from cronce.domain.message import Message
from cronce.domain.retry import RetryAt
from cronce.domain.run import Run
from cronce.ports import Outgoing
from cronce.testing.memory import MemoryStore
from cronce.testing.memory_jobs import MemoryJobs
from cronce.testing.memory_runs import MemoryRuns

from .run import simulate
from .scenario import scenario

Patch = tuple[Any, str, Any]
MUTANTS: dict[str, Callable[[], list[Patch]]] = {}


@contextmanager
def alive(name: str) -> Iterator[None]:
    """The mutant of this name, for as long as the context lasts."""
    with ExitStack() as stack:
        for where, attribute, instead in MUTANTS[name]():
            stack.enter_context(patch.object(where, attribute, instead))
        yield


def hunt(name: str, seeds: Sequence[int]) -> str | None:
    """What the first of these seeds that catches the mutant says. Those in which much goes wrong
    come first."""
    ordered = sorted(seeds, key=lambda seed: (scenario(seed).exact, seed))
    with alive(name):
        for seed in ordered:
            outcome = simulate(seed)
            if outcome.broken:
                # Broken it should be, and not merely unable to run.
                assert outcome.broken[0].rule != "no fault of ours", outcome.broken[0]
                return f"seed {seed}: {outcome.broken[0]}"
    return None


def mutant(make: Callable[[], list[Patch]]) -> Callable[[], list[Patch]]:
    MUTANTS[make.__name__] = make
    return make


# --- owner, lease, attempt


@mutant
def no_owner_check() -> list[Patch]:
    return [(transitions, "_owned", lambda old, owner: bool(old) and old.status == "running")]


@mutant
def no_fence_on_renewal() -> list[Patch]:
    def renew(old: Run | None, owner: str, until: datetime) -> Run | None:
        running = old is not None and old.status == "running"
        return replace(old, lease_expires_at=until) if running and old else None

    return [(transitions, "renew", renew)]


@mutant
def take_over_without_checking_the_lease() -> list[Patch]:
    return [(Run, "lease_expired", lambda self, now: True)]


@mutant
def lease_never_renewed() -> list[Patch]:
    return [(execute, "_renew", lambda ports, settings, attempt, run, until: until)]


@mutant
def attempt_counted_at_the_end() -> list[Patch]:
    claimed, retry = transitions._claimed, transitions.retry

    def later(old: Run, c: Any, now: datetime) -> Run:
        return replace(claimed(old, c, now), attempt=old.attempt)

    def counted(*args: Any, **kwargs: Any) -> Run | None:
        run = retry(*args, **kwargs)
        return run and replace(run, attempt=run.attempt + 1)

    return [(transitions, "_claimed", later), (transitions, "retry", counted)]


@mutant
def expiry_set_at_the_claim() -> list[Patch]:
    claimed = transitions._claimed

    def expiring(old: Run, c: Any, now: datetime) -> Run:
        return replace(claimed(old, c, now), expires_at=int(now.timestamp()) + 86_400)

    return [(transitions, "_claimed", expiring)]


@mutant
def redrive_starts_counting_again() -> list[Patch]:
    redrive = transitions.redrive

    def reset(*args: Any, **kwargs: Any) -> Run | None:
        run = redrive(*args, **kwargs)
        return run and replace(run, attempt=0, base=0)

    return [(transitions, "redrive", reset)]


@mutant
def attempts_without_end() -> list[Patch]:
    def always(policy: Any, *, now: datetime, **more: Any) -> RetryAt:
        return RetryAt(now + timedelta(seconds=5))

    return [(execute, "decide", always)]


@mutant
def own_claim_not_recognised() -> list[Patch]:
    return [(recognise, "claimed", lambda found, c: False)]


@mutant
def an_ended_run_is_claimed_again() -> list[Patch]:
    claim = transitions.claim

    def again(old: Run | None, *args: Any) -> Run | None:
        over = old is not None and old.status in ("succeeded", "skipped", "missed")
        return claim(replace(old, status="pending") if over and old else old, *args)

    return [(transitions, "claim", again)]


@mutant
def only_pending_can_be_cancelled() -> list[Patch]:
    cancel = transitions.cancel

    def pending(old: Run | None, *args: Any, **kwargs: Any) -> Run | None:
        return cancel(old, *args, **kwargs) if old is None or old.status == "pending" else None

    return [(transitions, "cancel", pending)]


@mutant
def hung_target_never_abandoned() -> list[Patch]:
    return [(execute, "PATIENCE", 100_000)]


# --- the message


@mutant
def lost_claim_acknowledged() -> list[Patch]:
    return [(work, "_left_to_others", lambda *args: work.Done())]


@mutant
def zombie_acknowledged() -> list[Patch]:
    run = work._run

    def acknowledged(*args: Any) -> work.Step:
        run(*args)
        return work.Done()

    return [(work, "_run", acknowledged)]


@mutant
def retry_message_before_the_row() -> list[Patch]:
    retry = execute._retry

    def message_first(
        ports: Any, attempt: Any, run: Run, entry: Any, decision: RetryAt, answer: Any
    ) -> bool:
        now = ports.clock.now()
        left = max(0, int((decision.at - now).total_seconds()))
        if left > 900:
            return retry(ports, attempt, run, entry, decision, answer)
        m = Message(run.key, attempt.message.generation, attempt.message.due, now)
        if not all(ports.queue.send([Outgoing(m, left)])):
            return False
        result = execute._insist(
            ports,
            lambda: ports.store.retry(
                run.key, run.owner, entry, retry_at=decision.at, in_index=False
            ),
        )
        return execute._reported(ports, result, "retrying", answer)

    return [(execute, "_retry", message_first)]


@mutant
def message_age_ignored() -> list[Patch]:
    return [(work, "MAX_AGE", timedelta(days=10_000))]


@mutant
def due_time_ignored() -> list[Patch]:
    return [(work, "_wait", lambda w, message: None)]


@mutant
def job_read_before_the_wait() -> list[Patch]:
    wait, settle = work._wait, work._settle_unrun

    def wait_then_settle(w: Any, message: Any, *more: Any) -> Any:
        return wait(w, message) or settle(w, message, *more)

    return [(work, "_wait", lambda w, message: None), (work, "_settle_unrun", wait_then_settle)]


@mutant
def changed_schedule_ignored() -> list[Patch]:
    return [(judge, "_still_planned", lambda *args: True)]


# --- the tick


@mutant
def advance_before_send() -> list[Patch]:
    send, step = dispatch._send, dispatch.dispatch
    later: dict[object, tuple[Any, ...]] = {}

    def not_yet(ports: Any, records: Any, *more: Any) -> set[object]:
        later[getcurrent()] = (ports, records, *more)
        return {s.key for r in records for s in r.runs}

    def settle_first(*args: Any, **kwargs: Any) -> None:
        step(*args, **kwargs)
        if getcurrent() in later:
            send(*later.pop(getcurrent()))

    return [
        (dispatch, "_send", not_yet),
        (dispatch, "dispatch", settle_first),
        (base, "dispatch", settle_first),
    ]


@mutant
def refused_send_counts_as_sent() -> list[Patch]:
    send = dispatch._send

    def sent(ports: Any, records: Any, *more: Any) -> set[object]:
        send(ports, records, *more)
        return {s.key for r in records for s in r.runs}

    return [(dispatch, "_send", sent)]


@mutant
def advance_on_the_instant_alone() -> list[Patch]:
    moved = MemoryJobs._moved

    def unguarded(self: Any, found: Any, due: Any, changes: Any) -> bool:
        if found is not None:
            due = replace(due, uid=found["uid"], generation=found["generation"])
        return moved(self, found, due, changes)

    return [(MemoryJobs, "_moved", unguarded)]


@mutant
def no_dispatch_record() -> list[Patch]:
    return [(MemoryStore, "put_record", lambda self, record: None)]


@mutant
def sent_again_only_when_the_queue_is_empty() -> list[Patch]:
    def empty(ports: Any, lease: Any, record: Any, report: Any) -> bool:
        return bool(ports.queue.idle())

    return [(reconcile, "_queue_has_passed", empty)]


@mutant
def record_closed_at_the_first_look() -> list[Patch]:
    looked_at = reconcile._looked_at
    return [(reconcile, "_looked_at", lambda *args: replace(looked_at(*args), next_run=None))]


@mutant
def triggered_row_outside_the_index() -> list[Patch]:
    trigger, run_dispatch = transitions.trigger, base.Base._dispatch_run

    def outside(*args: Any, **kwargs: Any) -> Run | None:
        run = trigger(*args, **kwargs)
        return run and replace(run, indexed_at=None, shard=None)

    def anyway(self: Any, run: Run) -> None:
        run_dispatch(self, replace(run, indexed_at=run.indexed_at or run.due))

    return [(transitions, "trigger", outside), (base.Base, "_dispatch_run", anyway)]


@mutant
def client_id_forgotten() -> list[Patch]:
    return [(MemoryRuns, "_marked", lambda self, key, now: None)]


# --- missed or run


@mutant
def missed_row_after_the_advance() -> list[Patch]:
    advance, record = dispatch._advance, dispatch.record_missed
    later: dict[object, tuple[Any, ...]] = {}

    def advance_first(*args: Any, **kwargs: Any) -> bool:
        moved = advance(*args, **kwargs)
        if getcurrent() in later:
            record(*later.pop(getcurrent()))
        return moved

    return [
        (dispatch, "_advance", advance_first),
        (dispatch, "record_missed", lambda *args: later.update({getcurrent(): args})),
    ]


@mutant
def no_missed_check() -> list[Patch]:
    return [
        (work, "needs_missed", lambda message, stored, now: False),
        (work, "_counted", lambda w, attempt: None),
    ]


@mutant
def counted_without_looking_for_runs() -> list[Patch]:
    return [(missed, "_begun", lambda *args: iter(()))]


@mutant
def edits_forget_what_was_due() -> list[Patch]:
    return [(base.Base, "_settle", lambda self, job, now, reason: False)]
