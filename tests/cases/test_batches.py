"""Messages, batches and attempts: B29 to B39."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import limits
from cronce.control import Control
from cronce.domain.errors import Invalid, Throttled
from cronce.domain.identity import RunKey
from cronce.domain.message import Message
from cronce.domain.retry import RetryPolicy, delay
from cronce.handlers import worker
from cronce.targets.contract import Answer, Call, refused, retried, succeeded
from cronce.testing.invoke import Context
from cronce.testing.memory_queue import MemoryQueue
from support.functions import Functions, Killed, Kit, Recorder

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
ONE_PAST = {"at": "2026-11-29T12:01:00Z"}


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Functions:
    return Functions(Kit(NOON), monkeypatch)


def due_at_once(kit: Kit, names: list[str], **more: Any) -> None:
    """Their messages are visible now, in this order."""
    for name in names:
        kit.job(name, ONE_PAST, **more)
    kit.clock.set(later(60))


# --- B29


def test_b29_receives_that_nobody_handled_are_no_attempts() -> None:
    """Throttled: the poller receives, no function takes it, and it becomes visible again."""
    kit = Kit(NOON)
    due_at_once(kit, ["a"], retry={"max_attempts": 1})
    for _ in range(50):
        [received] = kit.queue.receive()
        kit.queue.hide([received.receipt], 5)
        kit.clock.advance(6)
    [message] = kit.queue.waiting
    assert message.receive_count == 50
    assert kit.queue.dead_letters == []
    kit.deliver_all()
    assert [(r.status, r.attempt) for r in kit.runs("a")] == [("succeeded", 1)]


def test_b29_two_hundred_at_once_and_a_dead_letter_queue_that_is_too_eager() -> None:
    """With maxReceiveCount 3: what lands there without ever having run is sent again."""
    kit = Kit(NOON)
    kit.queue = MemoryQueue(kit.clock, max_receive_count=3)
    kit.ports = replace(kit.ports, queue=kit.queue)
    kit.control = Control(kit.ports, kit.settings)
    names = [f"job-{n}" for n in range(200)]
    due_at_once(kit, names)
    for _ in range(4):
        for _ in range(40):
            kit.queue.hide([m.receipt for m in kit.queue.receive()], 1)
        kit.clock.advance(2)
    assert len(kit.queue.dead_letters) == 200
    assert kit.target.calls == []
    kit.run_for(1200)
    assert kit.target.executions == {(name, later(60)): 1 for name in names}
    assert {run.attempt for name in names for run in kit.runs(name)} == {1}


# --- B30, B31


@pytest.mark.parametrize("batch", [["fail"], ["fail", "fail"], ["ok", "fail"], []])
def test_b30_failed_jobs_are_recorded_and_the_function_succeeds(
    functions: Functions, batch: list[str]
) -> None:
    kit = functions.kit
    fails = refused("http_400", "no")
    kit.target.does = lambda c: fails if c.job_id.startswith("fail") else succeeded("http_200")
    names = [f"{kind}-{n}" for n, kind in enumerate(batch)]
    due_at_once(kit, names)
    received, returned = functions.work()
    assert len(received) == len(batch)
    assert returned == []
    statuses = {name: kit.statuses(name) for name in names}
    assert statuses == {n: ["failed" if n.startswith("fail") else "succeeded"] for n in names}
    assert kit.queue.waiting == []


def test_b30_infrastructure_that_fails_every_one_raises_nothing(functions: Functions) -> None:
    kit = functions.kit
    due_at_once(kit, ["a", "b"])

    def troubled(job_id: str) -> Any:
        raise Throttled("no")

    kit.store.read_job = troubled  # type: ignore[method-assign]
    received, returned = functions.work()
    assert returned == [m.message_id for m in received]
    assert len(returned) == 2
    assert kit.target.calls == []


def test_b30_a_queue_that_does_not_answer_keeps_nobody_from_running(functions: Functions) -> None:
    """Left as they are, the messages stay hidden by the queue's own timeout: nothing else has
    them."""
    kit = functions.kit
    due_at_once(kit, ["a", "b"])

    def troubled(receipts: Any, seconds: int) -> None:
        raise Throttled("no")

    kit.queue.hide = troubled  # type: ignore[method-assign]
    _, returned = functions.work()
    assert returned == []
    assert (kit.statuses("a"), kit.statuses("b")) == (["succeeded"], ["succeeded"])
    assert kit.observer.of("hide_failed")


def test_b30_an_event_without_records_is_nothing(functions: Functions) -> None:
    assert worker.handler({}, Context()) == {"batchItemFailures": []}


def trouble_for(kit: Kit, name: str, times: int = 1) -> None:
    """The table does not answer about that job."""
    read = kit.store.read_job
    left = [Throttled("no")] * times

    def troubled(job_id: str) -> Any:
        if job_id == name and left:
            raise left.pop()
        return read(job_id)

    kit.store.read_job = troubled  # type: ignore[method-assign]


def test_b31_the_one_of_ten_that_could_not_be_worked_on_comes_back(functions: Functions) -> None:
    kit = functions.kit
    names = [f"job-{n}" for n in range(10)]
    due_at_once(kit, names)
    trouble_for(kit, "job-4")
    received, returned = functions.work()
    assert returned == [received[4].message_id]
    assert '"job":"job-4"' in received[4].body
    low, high = limits.QUEUE_RETRY_VISIBILITY
    [message] = kit.queue.waiting
    assert low <= (message.visible_at - kit.clock.now()).total_seconds() <= high
    kit.clock.advance(high)
    _, returned = functions.work()
    assert returned == []
    assert kit.target.executions == {(name, later(60)): 1 for name in names}
    assert {run.attempt for name in names for run in kit.runs(name)} == {1}


# --- B33


TEN = [f"job-{n:02d}" for n in range(1, 11)]


def attempts(kit: Kit) -> list[int]:
    return [run.attempt for name in TEN for run in kit.runs(name)]


def test_b33_without_time_left_the_rest_is_returned_unstarted(functions: Functions) -> None:
    """The seventh takes all the time there is; eight to ten are not begun."""
    kit = functions.kit

    def takes(call: Call) -> Answer:
        if call.job_id == "job-07" and call.attempt == 1:
            kit.clock.advance(845)
        return succeeded("http_200")

    kit.target.does = takes
    due_at_once(kit, TEN, timeout="14m")
    received, returned = functions.work()
    assert returned == [m.message_id for m in received[7:]]
    assert attempts(kit) == [1] * 7
    [seventh] = kit.runs("job-07")
    assert (seventh.status, seventh.entries[0].outcome) == ("retrying", "timed_out")
    kit.run_for(300)
    assert attempts(kit) == [1] * 6 + [2] + [1] * 3
    assert {status for name in TEN for status in kit.statuses(name)} == {"succeeded"}


def test_b33_a_batch_whose_process_died_comes_back_whole(functions: Functions) -> None:
    """Six had ended, and are recognised; the seventh's attempt counts."""
    kit = functions.kit

    def kills(call: Call) -> Answer:
        if call.job_id == "job-07" and call.attempt == 1:
            raise Killed
        return succeeded("http_200")

    kit.target.does = kills
    due_at_once(kit, TEN)
    with pytest.raises(Killed):
        functions.work()
    assert len(kit.queue.waiting) == 10
    kit.clock.advance(limits.LEASE)
    received, returned = functions.work()
    assert len(received) == 10
    assert returned == []
    assert attempts(kit) == [1] * 6 + [2] + [1] * 3
    executions = {(n, later(60)): 2 if n == "job-07" else 1 for n in TEN}
    assert kit.target.executions == executions
    assert kit.queue.waiting == []


# --- B35


POISON = ["not json", '{"v":99}', '{"run_id":"missing"}', ""]


@pytest.mark.parametrize("first", ["poison", "good"])
def test_b35_poison_is_set_aside_and_the_good_ones_run(functions: Functions, first: str) -> None:
    """A version of the future is no poison: it waits for the release that reads it."""
    kit = functions.kit
    kit.clock.set(NOON)
    if first == "poison":
        functions.send(*POISON)
    kit.job("good", {"rate": "1m"})
    if first == "good":
        functions.send(*POISON)
    unknown = Message(RunKey("nobody", "aaaaaaaa", NOON), 1, NOON, NOON)
    functions.send(unknown.to_body())
    kit.clock.set(later(180))
    received, returned = functions.work()
    assert len(received) == 8
    assert returned == [m.message_id for m in received if m.body == '{"v":99}']
    assert sorted(kit.queue.dead_letters) == [
        ("", "not JSON"),
        ("not json", "not JSON"),
        ('{"run_id":"missing"}', "no version"),
    ]
    assert kit.statuses("good") == ["succeeded"] * 3
    [gone] = kit.runs("nobody")
    assert (gone.status, gone.code, gone.attempt) == ("cancelled", "job_deleted", 0)
    assert len(kit.observer.of("unreadable")) == 3
    assert len(kit.observer.of("unknown_version")) == 1
    [left] = kit.queue.waiting
    assert (left.visible_at - kit.clock.now()).total_seconds() == 900


# --- B36, B37, B39


def test_b36_a_job_that_kills_its_workers_fails_after_its_attempts() -> None:
    def kills(call: Call) -> Answer:
        raise Killed

    kit = Kit(NOON, Recorder(kills))
    due_at_once(kit, ["a"], retry={"max_attempts": 3})
    for n in (1, 2, 3):
        with pytest.raises(Killed):
            kit.deliver()
        [run] = kit.runs("a")
        assert (run.status, run.attempt) == ("running", n)
        kit.clock.advance(limits.LEASE)
    kit.deliver()
    [run] = kit.runs("a")
    assert (run.status, run.code, run.attempt) == ("failed", "lost", 3)
    assert [(e.attempt, e.outcome) for e in run.entries] == [(n, "lost") for n in (1, 2, 3)]
    assert len(kit.target.calls) == 3
    kit.run_for(3600)
    assert len(kit.target.calls) == 3
    assert kit.queue.waiting == []


@pytest.mark.parametrize("n", [1, 2])
def test_b37_max_attempts_is_the_number_of_executions(n: int) -> None:
    kit = Kit(NOON, Recorder(lambda call: retried("http_503", "no")))
    due_at_once(kit, ["a"], retry={"max_attempts": n, "backoff": 1})
    kit.run_for(3600)
    assert [call.attempt for call in kit.target.calls] == list(range(1, n + 1))
    assert [(r.status, r.attempt) for r in kit.runs("a")] == [("failed", n)]


@pytest.mark.parametrize("n", [0, -1])
def test_b37_none_and_less_are_refused(n: int) -> None:
    kit = Kit(NOON)
    with pytest.raises(Invalid) as refusal:
        kit.job(retry={"max_attempts": n})
    assert [f.pointer for f in refusal.value.faults] == ["/retry/max_attempts"]
    assert kit.store.rows.all() == []


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_b39_two_hundred_backoffs_of_a_second_stay_within_the_hour(fraction: float) -> None:
    policy = RetryPolicy(max_attempts=20, backoff=1, factor=2, max_backoff=3600)
    waits = [delay(policy, attempt, None, fraction) for attempt in range(1, 201)]
    assert all(type(wait) is int and 1 <= wait <= 3600 for wait in waits)
    assert waits == sorted(waits)
    assert waits[-1] == (3600 if fraction else 1)
    assert waits[:5] == ([1, 2, 4, 8, 16] if fraction else [1] * 5)
