"""A group's limit: 5,000 jobs due at once and 50 starts a second; pausing and resuming a group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from cronce.control.groups import Moved
from cronce.dispatch import tick
from cronce.domain.groups import Group
from cronce.domain.identity import shard_of
from cronce.domain.job import Definition, Job, make_plan
from cronce.domain.message import Message
from cronce.domain.misfire import Misfire
from cronce.domain.plan import Due
from cronce.domain.run import Run
from cronce.domain.schedule import parse_schedule
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Answer, Call, succeeded
from cronce.testing.clock import SettableClock
from cronce.testing.driver import Driver
from cronce.testing.memory import MemoryQueue, MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from simulation.kernel import START
from support.stage import Stage

Stages = Callable[..., Stage]
JOBS, RATE = 5_000, 50
NOON = datetime(2026, 11, 29, 12, tzinfo=START.tzinfo)


def limited(stage: Stage, rate: int, name: str = "g") -> Group:
    group: Group = stage.api(lambda control: control.put_group(name, rate * 1000, by="me"))
    return group


def most_in_a_second(starts: list[float]) -> int:
    ordered = sorted(starts)
    most, low = 0, 0
    for high, start in enumerate(ordered):
        while start - ordered[low] >= 1 - 1e-9:
            low += 1
        most = max(most, high - low + 1)
    return most


# --- a herd


class CountedStore(MemoryStore):
    """reads, writes: of groups."""

    reads = writes = 0

    def read_group(self, name: str) -> Group | None:
        self.reads += 1
        return super().read_group(name)

    def write_group(self, believed: Group | None, group: Group) -> bool:
        self.writes += 1
        return super().write_group(believed, group)


def herd(group: str, jobs: int) -> tuple[CountedStore, MemoryQueue, SettableClock]:
    """Jobs due at noon, and the ticks of the minutes before and after."""
    clock = SettableClock(NOON - timedelta(seconds=61))
    store, queue = CountedStore(clock, page=100), MemoryQueue(clock)
    schedule = parse_schedule({"cron": "0 12 * * *"}, now=START)
    plan = make_plan(schedule, Misfire())
    for n in range(jobs):
        job_id = f"job-{n:04d}"
        job = Job(
            job_id=job_id,
            uid="k3f9a2qd",
            generation=1,
            version=1,
            status="active",
            plan=plan,
            shard=shard_of(job_id, 16),
            changed_at=START,
            next=Due(NOON, NOON),
            group=group,
        )
        store.create_job(job, Definition({"schedule": "0 12 * * *", "target": {}}, {}))
    return store, queue, clock


def ticked(store: MemoryStore, queue: MemoryQueue, clock: SettableClock) -> list[Message]:
    ports = Ports(store, queue, clock, InlineThreads(), SeededRandom(1), RecordingObserver())
    now = clock.now()
    report = tick(ports, Settings(), event_time=now, deadline=now + timedelta(seconds=45))
    assert report.finished
    assert (report.failed, report.errors) == (0, 0)
    return [Message.from_body(waiting.body) for waiting in queue.waiting]


def test_a_herd_of_a_group_is_spread() -> None:
    store, queue, clock = herd("g", JOBS)
    store.write_group(None, Group("g", RATE * 1000))
    store.writes = 0
    sent = ticked(store, queue, clock)
    assert len(sent) == JOBS
    assert {m.due for m in sent} == {NOON}
    starts = [(m.start - NOON).total_seconds() for m in sent]
    assert most_in_a_second(starts) == RATE
    assert min(starts) == 0
    assert JOBS / RATE - 1 <= max(starts) < JOBS / RATE
    assert sum(m.held_until is None for m in sent) == 1
    for waiting, message in zip(queue.waiting, sent, strict=True):
        early = message.start - waiting.visible_at
        assert timedelta(0) <= early < timedelta(seconds=1)
    assert store.reads == 1
    assert store.writes == JOBS / 100


def test_batches_are_given_their_turns_in_order_of_due_time() -> None:
    store, queue, clock = herd("g", 400)
    store.write_group(None, Group("g", 2_000))
    sent = ticked(store, queue, clock)
    assert [m.start for m in sent] == sorted(m.start for m in sent)


@pytest.mark.parametrize("group", ["default", "free"])
def test_jobs_without_a_limit_pay_nothing(group: str) -> None:
    store, queue, clock = herd(group, 300)
    sent = ticked(store, queue, clock)
    assert {m.held_until for m in sent} == {None}
    assert store.writes == 0
    assert store.reads == (0 if group == "default" else 1)


# --- in a whole deployment


def test_starts_keep_to_the_limit_and_say_so(stages: Stages) -> None:
    stage = stages(pollers=8)
    limited(stage, 2)
    for n in range(30):
        stage.put(f"job-{n:02d}", schedule="*/10 * * * *", group="g")
    stage.put("other", schedule="*/10 * * * *", group="h")
    stage.run_to(640)
    starts = [s.second for s in stage.started if s.key.job_id != "other"]
    assert len(starts) == 30
    assert most_in_a_second(starts) <= 2 + 1
    assert starts == sorted(starts)
    assert 600 + 14.5 <= max(starts) < 600 + 16
    [other] = stage.runs("other")
    assert other.held_until is None
    assert stage.second(other.started_at) < 600.2
    for n in range(30):
        [run] = stage.runs(f"job-{n:02d}")
        assert run.status == "succeeded"
        if run.held_until is not None:
            assert run.started_at is not None
            assert run.started_at >= run.held_until > run.due
    held = [stage.runs(f"job-{n:02d}")[0].held_until for n in range(30)]
    assert held.count(None) == 1


def test_waiting_for_its_turn_makes_no_run_late(stages: Stages) -> None:
    """late_limit, grace and start_deadline count from the turn."""
    stage = stages(pollers=8)
    limited(stage, 1)
    for n in range(150):
        stage.put(
            f"job-{n:03d}",
            schedule={"cron": "*/30 * * * *"},
            group="g",
            start_deadline=10,
            misfire={"policy": "skip", "late_limit": "90s"},
        )
    stage.run_to(1_800 + 170)
    assert len(stage.started) == 150
    statuses = {stage.runs(f"job-{n:03d}")[0].status for n in range(150)}
    assert statuses == {"succeeded"}
    assert stage.store.list_attention(earliest=START, latest=stage.now, limit=10).items == ()


def test_a_held_run_is_not_taken_for_lost(stages: Stages) -> None:
    """Records are looked at 120 s after the last start, not after the due time."""
    stage = stages(pollers=2)
    limited(stage, 1)
    for n in range(200):
        stage.put(f"job-{n:03d}", schedule="*/30 * * * *", group="g")
    stage.run_to(1_800 + 260)
    assert sum(report.resent for report in stage.reports) == 0
    assert len(stage.started) == 200


def test_half_a_day_of_waiting_wears_no_message_out(stages: Stages) -> None:
    """SQS hides a message for twelve hours of a receive and not a second longer."""
    stage = stages(pollers=1, poll=60_000)
    stage.api(lambda control: control.put_group("slow", 1, by="me"))
    for n in range(50):
        stage.put(f"j{n}", schedule="at(2026-11-29T10:05:00)", group="slow")
    stage.run_to(13 * 3600)
    assert stage.queue.waiting
    assert max(m.receive_count for m in stage.queue.waiting) <= 3
    stage.run_to(15 * 3600)
    runs = [run for n in range(50) for run in stage.runs(f"j{n}")]
    assert [run.status for run in runs] == ["succeeded"] * 50
    assert max(_held(run) for run in runs) == 49_000
    assert stage.queue.dead_letters == []


class Quick:
    def execute(self, call: Call) -> Answer:
        return succeeded("ok")


def _held(run: Run) -> float:
    return ((run.held_until or run.due) - run.due).total_seconds()


@pytest.mark.parametrize("broken", [{"v": 99}, {"busy": "x"}, {"max_starts_per_second": "many"}])
def test_a_group_that_cannot_be_read_keeps_only_its_own_jobs_waiting(
    broken: dict[str, object],
) -> None:
    driver = Driver(Quick(), at=START)
    driver.control.put_group("g", 1000, by="me")
    target = {"http": {"url": "https://x/"}}
    driver.put("held", {"schedule": "0 11 * * *", "target": target, "group": "g"})
    driver.put("free", {"schedule": "0 11 * * *", "target": target})
    row = driver.store.rows.get("GROUP#g", "GROUP")
    assert row is not None
    driver.store.rows.put({**row, **broken})
    driver.run_for(3700)
    assert [run.status for run in driver.runs("free")] == ["succeeded"]
    assert driver.runs("held") == []
    assert driver.observer.of("group_failed")[0].fields["group"] == "g"
    driver.store.rows.put(row)
    driver.run_for(60)
    assert [run.status for run in driver.runs("held")] == ["succeeded"]


def test_a_job_due_soon_finds_its_place_before_what_was_dispatched_ahead(stage: Stage) -> None:
    limited(stage, 1)
    for n in range(20):
        stage.put(f"job-{n:02d}", schedule="*/5 * * * *", group="g")
    stage.run_to(130)
    stage.put("new", schedule="rate(1 minute)", group="g")
    stage.run_to(200)
    [run] = stage.runs("new")
    assert run.held_until is None
    assert stage.second(run.started_at) == pytest.approx(190, abs=1)


# --- pause and resume


def test_a_group_is_paused_and_resumed_a_page_at_a_time(stage: Stage) -> None:
    for n in range(7):
        stage.put(f"job-{n}", schedule="rate(1 hour)", group="g")
    stage.put("other", schedule="rate(1 hour)", group="h")

    def page(cursor: str | None) -> Moved:
        moved: Moved = stage.api(
            lambda c: c.pause_group("g", by="me", note="freeze", limit=3, cursor=cursor)
        )
        return moved

    changed: list[str] = []
    cursor: str | None = None
    calls = 0
    while calls < 5:
        calls += 1
        moved = page(cursor)
        changed += moved.changed
        cursor = moved.cursor
        if cursor is None:
            break
    assert calls == 3
    assert changed == [f"job-{n}" for n in range(7)]
    stored = stage.api(lambda control: control.get("job-3"))
    assert (stored.job.status, stored.job.reason) == ("paused", "freeze")
    assert stored.definition.updated_by == "me"
    assert stage.api(lambda control: control.get("other")).job.status == "active"
    again = page(None)
    assert again.changed == ()
    resumed = stage.api(lambda c: c.resume_group("g", by="you", limit=50, cursor=None))
    assert len(resumed.changed) == 7
    assert resumed.failed == ()
    assert stage.api(lambda control: control.get("job-3")).job.status == "active"


def test_changing_the_limit_keeps_what_was_given_away(stage: Stage) -> None:
    limited(stage, 1)
    for n in range(5):
        stage.put(f"job-{n}", schedule="* * * * *", group="g")
    before = stage.api(lambda control: control.get_group("g"))
    after = limited(stage, 10)
    assert before.busy == after.busy
    assert before.busy
    assert (after.max_starts_per_second, after.changed_by) == ("10", "me")
    assert stage.api(lambda c: c.list_groups(limit=10)).items == (after,)
    stage.api(lambda control: control.delete_group("g"))
    assert stage.api(lambda control: control.get_group("g")) is None
    stage.api(lambda control: control.delete_group("g"))
