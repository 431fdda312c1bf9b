"""Who may enter: every policy against a lock that is free, held, waited for, full, or of another
creation of the job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.overlap import (
    MAX_WAITING,
    OVERLAPS,
    Enter,
    Lock,
    Overlap,
    Refuse,
    Replace,
    Wait,
    decide,
    lock_of,
    vacated,
    without,
)
from cronce.domain.record import Sent

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
UID = "k3f9a2qd"
LIMITING: tuple[Overlap, ...] = ("skip", "queue_one", "queue_all", "replace")
QUEUES: tuple[Overlap, ...] = ("queue_one", "queue_all")


def sent(minute: int, trigger: str = "") -> Sent:
    at = NOW + timedelta(minutes=minute)
    return Sent(RunKey("a", UID, at, trigger), 1, at)


ME, OLD, OLDER, LATER = sent(10), sent(5), sent(0), sent(15)
EARLIER_NAMED = NOW - timedelta(minutes=5)
HELD = Lock(UID, OLD.key, (), 7, EARLIER_NAMED)


def after(policy: Overlap, lock: Lock, *, me: Sent = ME, ended: bool = False) -> object:
    return decide(policy, lock, me, holder_ended=ended, now=NOW)


def taken(*waiting: Sent, version: int = 8) -> Enter:
    return Enter(Lock(UID, ME.key, waiting, version, NOW))


@pytest.mark.parametrize("policy", LIMITING)
def test_a_free_lock_is_taken(policy: Overlap) -> None:
    assert after(policy, Lock(UID)) == taken(version=1)
    assert after(policy, HELD, ended=True) == taken()


@pytest.mark.parametrize("policy", LIMITING)
def test_who_holds_it_enters_again_without_a_write(policy: Overlap) -> None:
    mine = replace(HELD, holder=ME.key, waiting=(OLDER,))
    assert after(policy, mine) == Enter(None)
    assert after(policy, mine, ended=True) == Enter(None)


def test_a_held_lock_by_policy() -> None:
    assert after("skip", HELD) == Refuse(OLD.key, "an earlier run is open")
    assert after("replace", HELD) == Replace(OLD.key)
    for policy in QUEUES:
        assert after(policy, HELD) == Wait(replace(HELD, waiting=(ME,), version=8))


def test_queue_one_keeps_one_waiting() -> None:
    waited_for = replace(HELD, waiting=(OLDER,))
    refused = after("queue_one", waited_for)
    assert refused == Refuse(OLD.key, "an earlier run is open and another one waits")


def test_queue_all_keeps_the_order_of_due_time() -> None:
    line = replace(HELD, waiting=(OLDER, LATER))
    joined = after("queue_all", line)
    assert joined == Wait(replace(line, waiting=(OLDER, ME, LATER), version=8))


def test_queue_all_has_an_end() -> None:
    line = tuple(sent(-n) for n in range(MAX_WAITING, 0, -1))
    full = replace(HELD, waiting=line)
    assert after("queue_all", full) == Refuse(OLD.key, "an earlier run is open and 100 wait")
    room = replace(HELD, waiting=line[1:])
    joined = after("queue_all", room)
    assert isinstance(joined, Wait)
    assert joined.lock is not None
    assert len(joined.lock.waiting) == MAX_WAITING == limits.WAITING_RUNS
    assert after("queue_all", full, ended=True) == Refuse(line[0].key, "older runs wait", line[0])


@pytest.mark.parametrize("policy", LIMITING)
def test_who_waits_goes_on_waiting_whatever_the_policy_is_by_now(policy: Overlap) -> None:
    assert after(policy, replace(HELD, waiting=(OLDER, ME))) == Wait(None)


@pytest.mark.parametrize("policy", LIMITING)
def test_a_free_lock_is_for_the_oldest_who_waits(policy: Overlap) -> None:
    line = replace(HELD, waiting=(ME, LATER))
    assert after(policy, line, ended=True) == taken(LATER)
    behind = replace(HELD, waiting=(OLDER, ME))
    assert after(policy, behind, ended=True) == Wait(None, OLDER)


def test_a_newcomer_wakes_the_oldest_and_waits_or_is_refused() -> None:
    line = replace(HELD, waiting=(OLDER,))
    joined = Wait(replace(line, waiting=(OLDER, ME), version=8), OLDER)
    assert after("queue_all", line, ended=True) == joined
    assert after("queue_one", line, ended=True) == joined
    for policy in ("skip", "replace"):
        assert after(policy, line, ended=True) == Refuse(OLDER.key, "older runs wait", OLDER)
    two = replace(HELD, waiting=(OLDER, OLD))
    assert after("queue_one", two, ended=True) == Refuse(OLDER.key, "older runs wait", OLDER)


def test_a_newcomer_that_is_the_oldest_goes_first() -> None:
    line = replace(HELD, waiting=(LATER,))
    assert after("queue_one", line, ended=True) == taken(LATER)
    assert after("skip", line, ended=True) == taken(LATER)


def test_a_copy_under_another_message_is_the_same_run_in_line() -> None:
    """Sent again by a redrive it has another due time and generation."""
    again = replace(ME, generation=0, due=LATER.due)
    line = replace(HELD, waiting=(ME, LATER))
    assert after("queue_all", line, me=again, ended=True) == taken(LATER)
    assert after("queue_all", line, me=again) == Wait(None)


def test_only_a_later_occurrence_replaces() -> None:
    """An old message that comes late must not stop the run that replaced it."""
    held_by_later = replace(HELD, holder=LATER.key)
    assert after("replace", held_by_later) == Refuse(LATER.key, "a later run has begun")
    request = sent(-60, "m-now")
    assert after("replace", held_by_later, me=request) == Replace(LATER.key)
    held_by_request = replace(HELD, holder=sent(60, "m-now").key)
    assert after("replace", held_by_request) == Replace(held_by_request.holder)


def test_the_lock_of_an_earlier_job_of_that_name_is_nothing() -> None:
    theirs = replace(HELD, uid="zzzzzzzz", waiting=(OLDER,))
    mine = lock_of(UID, theirs)
    assert mine == Lock(UID, version=7)
    assert after("skip", mine) == taken()
    assert lock_of(UID, None) == Lock(UID)
    assert lock_of(UID, HELD) is HELD


def test_whoever_ended_while_it_waited_is_taken_out() -> None:
    line = replace(HELD, waiting=(OLDER, ME, LATER))
    assert without(line, ME.key) == replace(HELD, waiting=(OLDER, LATER), version=8)
    assert without(line, OLD.key) is None
    assert without(HELD, ME.key) is None


def test_a_run_with_new_attempts_takes_the_lock_again() -> None:
    """Whoever saw it ended, and decided to enter, finds another version."""
    line = replace(HELD, waiting=(ME,))
    assert vacated(line, OLD.key) == Lock(UID, None, (ME,), 8)
    assert vacated(line, ME.key) is None


def test_a_holder_without_a_row_is_waited_for_as_long_as_a_message_of_it_counts() -> None:
    """Its row may have expired long ago: a yearly job must not be refused for ever."""
    assert HELD.may_be_claimed(EARLIER_NAMED + timedelta(days=14))
    assert not HELD.may_be_claimed(EARLIER_NAMED + timedelta(days=14, hours=2))
    oldest = timedelta(seconds=limits.HISTORY[0])
    assert not HELD.may_be_claimed(EARLIER_NAMED + oldest)


@pytest.mark.parametrize("policy", OVERLAPS)
def test_no_decision_names_anybody_else(policy: Overlap) -> None:
    """The lock names nobody but the run that takes it, so a lost message leaves nothing stuck."""
    locks = [Lock(UID), HELD, replace(HELD, waiting=(OLDER, LATER)), replace(HELD, waiting=(ME,))]
    for lock in locks:
        for ended in (False, True):
            decision = after(policy, lock, ended=ended)
            if isinstance(decision, Enter) and decision.lock is not None:
                assert decision.lock.holder == ME.key
                assert not decision.lock.waits(ME.key)
            if isinstance(decision, Wait) and decision.lock is not None:
                assert decision.lock.holder == lock.holder
                assert set(decision.lock.waiting) == {*lock.waiting, ME}
