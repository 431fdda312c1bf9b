"""One run, recorded once, whatever dies: faults of a real deployment, judged from outside.

What is expected is the test's own list; what happened is read off the calls that the target
received, the writes that the engine accepted and what the API answers. ``docs/faults.md`` holds
the table that is printed at the end.
"""

from __future__ import annotations

import io
import os
import signal
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from cronce import limits
from cronce.cli.demo.kill import find_caller
from cronce.cli.emulator import Emulator
from cronce.client import Client
from support.emulator import eventually
from support.faults_ground import HEAD, Expected, Ground, Outcome, instant, prepared, slack
from support.faults_proxy import Call, Document, is_advance, is_ending

pytestmark = pytest.mark.faults

# A run of a dead worker is running again so soon after its lease.
TAKEN_OVER = 5.0


@pytest.fixture(scope="module")
def ground(
    deployment: Emulator, client: Client, request: pytest.FixtureRequest
) -> Iterator[Ground]:
    with prepared(deployment, client) as ground:
        try:
            yield ground
        finally:
            manager = request.config.pluginmanager.getplugin("capturemanager")
            with manager.global_and_fixture_disabled():
                print("", HEAD, *(outcome.line() for outcome in ground.outcomes), sep="\n")


def assert_once(outcome: Outcome) -> None:
    """However often it was tried: every run is there, and none of them twice."""
    assert (outcome.lost, outcome.twice, outcome.repeated) == (0, 0, 0), outcome


def test_every_message_comes_twice(ground: Ground) -> None:
    def again(call: Call) -> Document | None:
        return call.body if call.operation == "SendMessageBatch" else None

    expected = ground.jobs(40, seconds=15, path="/slow")
    with ground.proxy.doubling(again):
        assert ground.lead()["sent"] >= len(expected)
    ground.settle(expected, 90)
    # What an earlier test sent ahead of time for a job since deleted may still be there.
    eventually(lambda: ground.in_queue() == 0, 240)
    assert ground.proxy.refused_claims(ground.began) > 0
    outcome = ground.judge("every message comes twice", expected)
    assert_once(outcome)
    assert outcome.again == 0


def test_dispatcher_killed_between_sending_and_advancing(ground: Ground) -> None:
    expected = ground.jobs(20, seconds=15)
    ground.depose()
    with ground.proxy.holding(is_advance) as held, ThreadPoolExecutor(1) as invoking:
        tick = invoking.submit(ground.tick)
        held.first()
        killed_at = time.time()
        pids = ground.dispatchers()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        held.drop()
        assert pids
        assert tick.result() == {}
    assert not ground.advanced(expected)
    sent = ground.proxy.messages(ground.began)
    ground.await_lead(2 * limits.TICK_PERIOD)
    recovered_at = time.time()
    assert ground.advanced(expected)
    assert ground.proxy.messages(ground.began) > sent >= len(expected)
    ground.settle(expected, 90)
    outcome = ground.judge(
        "dispatcher killed between sending and advancing",
        expected,
        recovered_at - killed_at,
        "from SIGKILL until all jobs are dispatched again; no run waits for it",
    )
    assert_once(outcome)
    assert outcome.again == 0
    assert recovered_at - killed_at <= limits.TICK_PERIOD * slack()
    late = max(call.at for call in ground.calls(expected)) - expected[0].at.timestamp()
    assert late < limits.DISPATCHER_STOP_AFTER, "the runs waited for the next tick"


def test_two_dispatchers_at_once(ground: Ground) -> None:
    """First as it happens: one leads. Then the lease is lost in mid-tick, and both dispatch."""
    expected = ground.jobs(20, seconds=20)
    began = ground.began
    ground.depose()
    with ground.ruled(), ThreadPoolExecutor(4) as invoking:
        ticks = [invoking.submit(ground.tick) for _ in range(4)]
        assert sum(tick.result()["led"] for tick in ticks) <= 1
        eventually(lambda: ground.advanced(expected), 2 * limits.TICK_PERIOD)
    both = ground.jobs(20, seconds=20)
    sending = ground.began
    ground.depose()
    with ground.proxy.holding(is_advance) as held, ThreadPoolExecutor(2) as invoking:
        first = invoking.submit(ground.tick)
        held.first()
        ground.depose()
        second = invoking.submit(ground.tick)
        eventually(lambda: ground.proxy.messages(sending) >= 2 * len(both), 60)
        held.release()
        assert first.result()["led"]
        assert second.result()["led"]
    ground.began = began
    expected += both
    ground.settle(expected, 90)
    outcome = ground.judge("two dispatchers at once", expected)
    assert_once(outcome)
    assert outcome.again == 0


@pytest.mark.slow
def test_copies_of_one_message_come_while_it_is_worked_on(ground: Ground) -> None:
    """The first hides are undone at once: the same message, with the same id, comes again."""
    left = [20]

    def visible(call: Call) -> Document | None:
        if call.operation != "ChangeMessageVisibilityBatch" or left[0] <= 0:
            return None
        left[0] -= 1
        entries = [{**entry, "VisibilityTimeout": 0} for entry in call.body["Entries"]]
        return {**call.body, "Entries": entries}

    expected = ground.jobs(20, seconds=12, path="/slow")
    with ground.proxy.doubling(visible):
        ground.lead()
        ground.settle(expected, 120)
    assert left[0] < 20
    assert ground.proxy.refused_claims(ground.began) > 0
    eventually(lambda: ground.in_queue() == 0, 2 * limits.LEASE)
    outcome = ground.judge("the same message twice, at the same time", expected)
    assert_once(outcome)
    assert outcome.again == 0


@pytest.mark.slow
def test_workers_killed_in_mid_run(ground: Ground) -> None:
    expected = ground.jobs(10, seconds=12, path="/held")
    ground.lead()
    calls = [ground.target.held.get(timeout=60) for _ in expected]
    workers = {
        find_caller(call.client_port, ground.target.port, ground.emulator.pid) for call in calls
    }
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    killed_at = time.time()
    leases = {run.job_id: instant(ground.row(run), "lease_expires_at") for run in expected}
    ground.settle(expected, 3 * limits.LEASE)
    again = {call.job: call.at for call in ground.calls(expected, attempt=2)}
    slowest = max(again.values()) - killed_at
    outcome = ground.judge(
        "workers killed in mid-run",
        expected,
        slowest,
        "from SIGKILL until running again",
    )
    assert_once(outcome)
    assert outcome.again == len(expected)
    late = max(again[job_id] - lease for job_id, lease in leases.items())
    assert min(again[job_id] - lease for job_id, lease in leases.items()) >= 0
    assert late <= TAKEN_OVER * slack()
    assert slowest <= limits.LEASE + TAKEN_OVER * slack()


@pytest.mark.slow
def test_worker_that_outlives_its_lease_and_then_completes(ground: Ground) -> None:
    """Stopped while its completion is on the way, which arrives after the next attempt's."""
    (expected,) = runs = ground.jobs(1, seconds=8)

    def completion(call: Call) -> bool:
        return is_ending(call) and call.key[0] == f"JOB#{expected.job_id}"

    with ground.proxy.holding(completion) as held:
        ground.lead()
        call = held.first()
        held.catching = False
        pid = find_caller(call.client_port, ground.proxy.port, ground.emulator.pid)
        os.kill(pid, signal.SIGSTOP)
        try:
            stopped_at = time.time()
            lease = instant(ground.row(expected), "lease_expires_at")
            ground.settle(runs, 3 * limits.LEASE)
            (second,) = ground.calls(runs, attempt=2)
            before = ground.row(expected)
            held.release()
            eventually(lambda: call.status, 30)
            os.kill(pid, signal.SIGCONT)
            assert call.status == 400
            assert ground.row(expected) == before
            _assert_zombie_gives_up(ground, runs, pid)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert ground.row(expected) == before
    outcome = ground.judge(
        "worker outlives its lease, then completes",
        runs,
        second.at - stopped_at,
        "from SIGSTOP until running again",
    )
    assert_once(outcome)
    assert outcome.again == 1
    assert second.at >= lease
    assert second.at - lease <= TAKEN_OVER * slack()


def _assert_zombie_gives_up(ground: Ground, runs: list[Expected], pid: int) -> None:
    """Thawed, it says what it found and takes no further part in this run."""
    logs = ground.emulator.session().client("logs", endpoint_url=ground.emulator.endpoint)

    def said() -> bool:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=ground.emulator.outputs["WorkerLogs"]
        )
        lines = [event["message"] for page in pages for event in page["events"]]
        return any("completion_refused" in line and runs[0].job_id in line for line in lines)

    eventually(said, 60)


@contextmanager
def acknowledging(ground: Ground) -> Iterator[None]:
    """The queue goes to a function that acknowledges everything and does nothing."""
    functions = ground.aws("lambda")
    worker = ground.emulator.outputs["WorkerFunction"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("idle.py", "def handler(event, context):\n    return {}\n")
    role = functions.get_function_configuration(FunctionName=worker)["Role"]
    functions.create_function(
        FunctionName="idle",
        Runtime="python3.11",
        Role=role,
        Handler="idle.handler",
        Code={"ZipFile": code.getvalue()},
    )
    (mapping,) = functions.list_event_source_mappings(FunctionName=worker)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], FunctionName="idle")
    try:
        yield
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], FunctionName=worker)
        functions.delete_function(FunctionName="idle")


@pytest.mark.slow
def test_worker_that_acknowledges_without_running(ground: Ground) -> None:
    expected = ground.jobs(20, seconds=10)
    due = expected[0].at.timestamp()
    with acknowledging(ground):
        ground.lead()
        eventually(lambda: time.time() > due and ground.in_queue() == 0)
    assert ground.calls(expected) == []
    eventually(lambda: time.time() > due + limits.RECONCILE_AFTER, 2 * limits.RECONCILE_AFTER)
    ground.lead()
    ground.settle(expected, 60)
    _assert_reconciled(ground, "worker acknowledges without running", expected)


@pytest.mark.slow
def test_queue_purged_while_a_hundred_runs_wait(ground: Ground) -> None:
    """From here on the rule alone ticks."""
    expected = ground.jobs(100, seconds=60)
    ground.lead()
    assert ground.in_queue() >= len(expected)
    ground.aws("sqs").purge_queue(QueueUrl=ground.emulator.outputs["QueueUrl"])
    assert ground.in_queue() == 0
    with ground.ruled():
        ground.settle(expected, limits.RECONCILE_AFTER + 4 * limits.TICK_PERIOD)
    _assert_reconciled(ground, "queue purged while 100 runs wait", expected)


def _assert_reconciled(ground: Ground, fault: str, expected: list[Expected]) -> None:
    """Running within the reconcile interval and one tick of the instant they were due."""
    due = expected[0].at.timestamp()
    starts = [call.at - due for call in ground.calls(expected)]
    outcome = ground.judge(fault, expected, max(starts), "from due until the last is running")
    assert_once(outcome)
    assert outcome.again == 0
    assert max(starts) <= limits.RECONCILE_AFTER + limits.TICK_PERIOD + TAKEN_OVER * slack()
