"""Guards of turns, backfills and groups taken out, one at a time: each must be caught."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from cronce import aftermath, backfill, dispatch, groups, overlap
from cronce.domain import backfill as backfill_rules
from cronce.domain import groups as group_rules
from cronce.domain import overlap as overlap_rules
from cronce.domain.overlap import Enter, Lock
from cronce.testing.memory_jobs import MemoryJobs
from cronce.testing.memory_runs import MemoryRuns

Patch = tuple[Any, str, Any]


def _unconditional(self: Any, job_id: str, believed: Lock | None, lock: Lock) -> bool:
    found = self.read_lock(job_id)
    return bool(WRITE_LOCK(self, job_id, found, lock))


def _pushing_in(*args: Any, **kwargs: Any) -> Any:
    return ENTER_FREE(args[0], replace(args[1], waiting=()), *args[2:], **kwargs)


def _any_holder(policy: Any, lock: Lock, me: Any, **more: Any) -> Any:
    decision = DECIDE(policy, lock, me, **more)
    return Enter(None) if lock.waits(me.key) else decision


def _skipping(b: Any, schedule: Any, most: int) -> Any:
    return NEXT_CHUNK(b, schedule, most + 1)[1:]


def _forgetful(dues: Any, group: Any, now: Any) -> Any:
    return SPREAD(dues, replace(group, busy=()), now)


def _once_per_backfill(self: Any, key: Any, **more: Any) -> Any:
    """As a client's id is: the first run of it is found, whatever the instant."""
    first = FIRST.setdefault((id(self), key.trigger), key) if key.trigger[:1] == "b" else key
    return TRIGGER(self, first, **more)


FIRST: dict[tuple[int, str], Any] = {}
TRIGGER, SPREAD = MemoryRuns.trigger, group_rules.spread
WRITE_LOCK, ENTER_FREE = MemoryJobs.write_lock, overlap_rules._enter_free
DECIDE, NEXT_CHUNK = overlap_rules.decide, backfill_rules.next_chunk

MUTANTS: dict[str, list[Patch]] = {
    "lock_written_whatever_it_is": [(MemoryJobs, "write_lock", _unconditional)],
    "holder_taken_for_ended": [(overlap, "_has_ended", lambda ports, lock: True)],
    "who_waits_enters": [(overlap, "decide", _any_holder)],
    "newcomers_push_in": [(overlap_rules, "_enter_free", _pushing_in)],
    "nobody_is_woken": [(aftermath, "leave", lambda ports, ended: None)],
    "old_copies_decide": [(overlap, "_is_over", lambda run: False)],
    "older_runs_replace": [(overlap_rules, "_came_before", lambda me, holder: False)],
    "backfill_doubles_what_ran": [(backfill, "_state", lambda *args: "free")],
    "backfill_forgets_some": [(backfill, "next_chunk", _skipping)],
    "backfill_never_moves_on": [(dispatch.backfill, "step", lambda *args: None)],
    "backfill_id_used_for_all": [(MemoryRuns, "trigger", _once_per_backfill)],
    "places_given_away_again": [(groups, "spread", _forgetful)],
}


@contextmanager
def alive(name: str) -> Iterator[None]:
    with ExitStack() as stack:
        for where, attribute, instead in MUTANTS[name]:
            stack.enter_context(patch.object(where, attribute, instead))
        yield
