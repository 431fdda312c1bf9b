"""Claims, leases and clocks: B01 to B16 through the shipped tick and worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from moto import mock_aws

from cronce import limits
from cronce.domain.errors import Throttled
from cronce.handlers import worker
from cronce.targets.contract import Answer, Call, refused, succeeded
from cronce.testing.clock import SkewedClock
from support import calls
from support.functions import Functions, Killed, Kit, Recorder
from support.minutes import Minutes, Succeeds, recurring
from support.stage import Stage
from support.stores import moto_client, table_engine

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
Stages = Callable[..., Stage]


def later(seconds: float, than: datetime = NOON) -> datetime:
    return than + timedelta(seconds=seconds)


# --- B01


@pytest.fixture
def over_a_table() -> Iterator[tuple[Minutes, Any]]:
    with mock_aws():
        engine = table_engine("moto", moto_client())
        yield Minutes(engine.store, engine.clock), engine.client


@pytest.mark.parametrize("lost", ["claim", "completion"])
def test_b01_a_lost_answer_leaves_nobody_waiting_and_runs_nothing_twice(
    over_a_table: tuple[Minutes, Any], monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    minutes, client = over_a_table
    executed: list[str] = []
    execute = Succeeds.execute

    def noted(self: Succeeds, call: Call) -> Answer:
        executed.append(call.run_id)
        return execute(self, call)

    monkeypatch.setattr(Succeeds, "execute", noted)
    job, definition = recurring(1, "rate(1 hour)")
    minutes.store.create_job(job, definition)
    minutes.clock.set(job.next.due)  # type: ignore[union-attr]
    minutes.tick()
    passing = [] if lost == "claim" else [None]
    asked: list[str] = []

    def drop(response: Any, operation: Any, **_: Any) -> float | None:
        if response is None or operation.name != "UpdateItem" or len(asked) > len(passing):
            return None
        asked.append(operation.name)
        return 0.0 if len(asked) > len(passing) else None

    client.meta.events.register_first("needs-retry", drop)
    with calls.logged(client) as made:
        assert minutes.deliver() == 1
    assert len(asked) == 1 + len(passing)
    assert len([name for name, _ in made if name == "UpdateItem"]) == 2
    assert len(executed) == 1
    [run] = minutes.store.list_runs(job.job_id, limit=5).items
    assert (run.status, run.attempt) == ("succeeded", 1)  # type: ignore[attr-defined]


def test_b01_every_attempt_has_a_token_of_its_own() -> None:
    kit = Kit(NOON)
    owners: list[str] = []
    claim = kit.store.claim

    def noted(key: Any, c: Any, **more: Any) -> Any:
        owners.append(c.owner)
        return claim(key, c, **more)

    kit.store.claim = noted  # type: ignore[method-assign]
    kit.job(schedule="rate(1 minute)")
    kit.run_for(30 * 60)
    assert len(owners) == 30
    assert len(set(owners)) == 30
    assert min(map(len, owners)) >= 24


# --- B03, B06


def test_b03_two_ticks_on_a_stale_index_are_one_run() -> None:
    kit = Kit(NOON - HOUR)
    kit.job(schedule="0 * * * *")
    kit.clock.set(NOON)
    kit.store.lag = timedelta(seconds=2)
    first = kit.tick()
    kit.clock.advance(1)
    kit.depose()
    second = kit.tick()
    assert (first.sent, first.advanced, first.failed) == (1, 1, 0)
    assert (second.sent, second.failed) == (1, 0)
    assert kit.next_of() == NOON + HOUR
    kit.deliver_all()
    assert kit.target.executions == {("a", NOON): 1}
    assert kit.statuses() == ["succeeded"]
    assert not {"advance_failed", "dispatch_failed"} & set(kit.observer.actions)


def test_b06_what_makes_a_run_unique_outlives_every_lease() -> None:
    """Tick B's clock is 3 s behind, and A's run has begun and ended when it comes."""
    kit = Kit(NOON - HOUR)
    kit.job(schedule="0 * * * *")
    kit.clock.set(NOON)
    kit.store.lag = timedelta(seconds=4)
    assert kit.tick().sent == 1
    kit.clock.advance(0.05)
    kit.deliver_all()
    assert kit.statuses() == ["succeeded"]
    kit.clock.set(later(3))
    kit.depose()
    behind = replace(kit.ports, clock=SkewedClock(kit.clock, -3))
    assert kit.tick_of(behind, NOON).sent == 1
    kit.deliver_all()
    assert kit.target.executions == {("a", NOON): 1}
    assert [(r.status, r.attempt) for r in kit.runs("a")] == [("succeeded", 1)]


# --- B04, B07, B08


def test_b04_the_report_of_a_worker_that_was_taken_over_changes_nothing() -> None:
    def fails_late(call: Call) -> Answer:
        if call.attempt > 1:
            return succeeded("http_200")
        kit.clock.advance(limits.LEASE + 1)
        kit.deliver_all()  # worker B
        rows.append(kit.store.rows.all())
        return refused("http_400", "worker A says")

    rows: list[Any] = []
    kit = Kit(NOON, Recorder(fails_late))
    kit.job(schedule={"at": "2026-11-29T12:01:00Z"})
    kit.clock.set(later(60))
    kit.deliver_all()
    [run] = kit.runs("a")
    assert (run.status, run.attempt) == ("succeeded", 2)
    assert [(e.attempt, e.outcome) for e in run.entries] == [(1, "lost")]
    runs_then = [r for r in rows[0] if str(r["sk"]).startswith("RUN#")]
    assert [r for r in kit.store.rows.all() if str(r["sk"]).startswith("RUN#")] == runs_then
    [logged] = kit.observer.of("completion_refused")
    assert (logged.fields["code"], logged.fields["found"]) == ("http_400", "succeeded")


def refuse_renewals(stage: Stage, *, times: int) -> list[str]:
    """Of the first owner. Who asked."""
    asked: list[str] = []
    renew = stage.store.renew

    def troubled(key: Any, owner: str, until: Any) -> Any:
        asked.append(owner)
        if owner == asked[0] and asked.count(owner) <= times:
            raise Throttled("no")
        return renew(key, owner, until)

    stage.store.renew = troubled  # type: ignore[method-assign]
    return asked


def long_first(call: Call) -> float:
    return 100 if call.attempt == 1 else 1


def test_b07_a_renewal_of_unknown_result_is_a_lost_lease_when_it_runs_out(stages: Stages) -> None:
    stage = stages(takes=long_first)
    asked = refuse_renewals(stage, times=1000)
    stage.put(schedule={"at": "2026-11-29T10:01:00Z"}, timeout=200)
    stage.run_to(60 + limits.LEASE)
    [lost] = stage.observer.of("lease_lost")
    assert "not renewed in time" in str(lost.fields["reason"])
    stage.run_to(400)
    [run] = stage.runs()
    assert (run.status, run.attempt) == ("succeeded", 2)
    assert [(e.attempt, e.outcome) for e in run.entries] == [(1, "lost")]
    assert [s.second for s in stage.started][1] < 60 + limits.LEASE + 2
    assert asked.count(asked[0]) == 2
    assert stage.calls["succeed"] == 1


def test_b07_one_failed_renewal_loses_nothing(stages: Stages) -> None:
    stage = stages(takes=long_first)
    refuse_renewals(stage, times=1)
    stage.put(schedule={"at": "2026-11-29T10:01:00Z"}, timeout=200)
    stage.run_to(400)
    assert [(r.status, r.attempt) for r in stage.runs()] == [("succeeded", 1)]
    assert stage.observer.of("lease_lost") == []


def test_b08_a_run_of_three_leases_is_alive_all_the_time(stages: Stages) -> None:
    stage = stages(takes=lambda call: 3 * limits.LEASE + 5)
    stage.put(schedule={"at": "2026-11-29T10:01:00Z"}, timeout=120)
    stage.run_to(400)
    assert [(r.status, r.attempt, r.entries) for r in stage.runs()] == [("succeeded", 1, ())]
    assert len(stage.started) == 1
    assert stage.calls["renew"] == 9


def test_b08_a_worker_stopped_in_the_middle_is_followed_by_another(stages: Stages) -> None:
    stage = stages(takes=lambda call: 3 * limits.LEASE)
    stage.put(schedule={"at": "2026-11-29T10:01:00Z"}, timeout=120)
    stage.run_to(60 + 45)
    [working] = [p for p in stage.kernel.processes if p.name == "worker" and not p.dead]
    stage.kernel.kill(working)
    stage.run_to(400)
    [run] = stage.runs()
    assert (run.status, run.attempt) == ("succeeded", 2)
    first, second = stage.started
    assert 45 <= second.second - first.second <= 45 + limits.LEASE + 1


class HungThreads:
    """Nothing that is started comes back. meanwhile: what happens when it is waited for."""

    def __init__(self, kit: Kit, meanwhile: Callable[[], object]) -> None:
        self._kit, self._meanwhile = kit, meanwhile

    def each(self, work: Any, items: Any) -> list[Any]:
        return [work(item) for item in items]

    def start(self, work: Any) -> Any:
        return self

    def wait(self, seconds: float) -> bool:
        self._kit.clock.advance(seconds)
        self._meanwhile()
        return False


@pytest.mark.parametrize(
    ("end", "status", "after"), [("timeout", "retrying", 22), ("cancelled", "cancelled", 10)]
)
def test_b08_a_process_whose_call_is_not_wanted_any_more_ends(
    monkeypatch: pytest.MonkeyPatch, end: str, status: str, after: int
) -> None:
    """Its target outlived its timeout, or its renewal was refused: a call cannot be called back."""

    def meanwhile() -> None:
        [run] = kit.runs("a")
        if end == "cancelled" and run.status == "running":
            kit.control.cancel_run("a", run.key.run_id, by="me")

    kit = Kit(NOON)
    kit.ports = replace(kit.ports, threads=HungThreads(kit, meanwhile))
    functions = Functions(kit, monkeypatch)

    def exits(code: int) -> None:
        raise Killed

    monkeypatch.setattr(os, "_exit", exits)
    kit.job(schedule={"at": "2026-11-29T12:01:00Z"}, timeout=20)
    kit.clock.set(later(60))
    with pytest.raises(Killed):
        functions.work()
    assert kit.observer.of("process_ended")
    assert bool(kit.observer.of("lease_lost")) == (end == "cancelled")
    [run] = kit.runs("a")
    assert run.status == status
    assert kit.clock.now() == later(60 + after)
    kit.clock.advance(worker.VISIBLE_AGAIN)
    assert kit.queue.receive()


@pytest.mark.parametrize(("timeout", "accepted"), [(840, True), (841, False)])
def test_b08_the_longest_run_is_bounded(
    monkeypatch: pytest.MonkeyPatch, timeout: int, *, accepted: bool
) -> None:
    kit = Kit(NOON)
    functions = Functions(kit, monkeypatch)
    status, body = functions.call(
        "PUT",
        "/jobs/a",
        '{"schedule":"rate(1 hour)","target":{"http":{"url":"https://hooks.example.com/in"}},'
        f'"timeout":{timeout}}}',
    )
    assert status == (201 if accepted else 422), body
    assert max(limits.TIMEOUT) < limits.WORKER_TIMEOUT == 900


# --- B10


@pytest.mark.parametrize("wrong", ["event", "clock"])
def test_b10_a_tick_eight_hours_ahead_neither_moves_jobs_nor_stops_the_next(wrong: str) -> None:
    kit = Kit(NOON - HOUR)
    kit.job(schedule="0 * * * *")
    kit.clock.set(NOON)
    ahead = 8 * 3600
    if wrong == "event":
        kit.tick_of(kit.ports, later(ahead))
        kit.clock.advance(60)
    else:
        clock = SkewedClock(kit.clock, ahead)
        kit.tick_of(replace(kit.ports, clock=clock), NOON)
    assert kit.next_of() == NOON + HOUR
    assert kit.tick().led
    kit.run_until(later(ahead + 1800))
    hours = [NOON + n * HOUR for n in range(9)]
    assert kit.target.executions == {("a", hour): 1 for hour in hours}
    assert kit.missed() == []


def test_b10_a_clock_that_goes_back_repeats_nothing() -> None:
    kit = Kit(NOON - HOUR)
    kit.job(schedule="0 * * * *")
    kit.run_until(later(8 * 3600))
    before = dict(kit.target.executions)
    stands = kit.next_of()
    kit.clock.set(NOON)
    for _ in range(10):
        kit.tick()
        kit.deliver_all()
        kit.clock.advance(60)
    assert kit.next_of() == stands
    assert kit.target.executions == before
    assert max(before.values()) == 1


# --- B11


def test_b11_a_lease_that_ended_an_hour_ago_holds_nobody() -> None:
    """Its row is still there; so is that of a client's id."""
    kit = Kit(NOON)
    assert kit.tick().led
    kit.clock.advance(limits.DISPATCHER_STOP_AFTER + 3600)
    assert kit.tick().led
    kit.job()
    first, new = kit.control.run_now("a", client_id="once", by="me")
    assert new
    kit.clock.advance(limits.HISTORY[0] + 3600)
    second, new = kit.control.run_now("a", client_id="once", by="me")
    assert new
    assert second.key != first.key


# --- B16


@pytest.mark.parametrize("verb", ["pause", "delete"])
@pytest.mark.parametrize("trigger", [False, True])
def test_b16_paused_or_deleted_while_its_message_waits(verb: str, *, trigger: bool) -> None:
    """10 s before the message is visible. By request a run is of its own: only deletion ends it."""
    kit = Kit(NOON)
    kit.job(schedule={"rate": "10m"})
    kit.clock.set(later(590))
    if trigger:
        kit.control.run_now("a", client_id="x", by="me")
    else:
        assert kit.tick().sent == 1
        assert kit.queue.next_visible_at() == later(600)
    if verb == "pause":
        kit.control.pause("a", by="me")
    else:
        kit.control.delete("a")
    kit.run_until(later(1300))
    [run] = kit.runs("a")
    runs_on = trigger and verb == "pause"
    assert run.status == ("succeeded" if runs_on else "cancelled")
    assert run.code == {"pause": "job_paused", "delete": "job_deleted"}[verb] or runs_on
    assert len(kit.target.calls) == runs_on
    assert kit.queue.waiting == []
