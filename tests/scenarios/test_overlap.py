"""Overlap policies: the shipped worker over the store in memory, in virtual time (B52)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from cronce.adapters.items import job_pk, run_sk
from cronce.control import Control
from cronce.domain.identity import RunKey
from cronce.domain.message import Message
from cronce.domain.overlap import Enter, Overlap, Refuse
from cronce.domain.run import Run
from cronce.overlap import enter
from cronce.ports import Store
from cronce.targets.contract import Call, refused, succeeded
from support.stage import Stage, failing

Stages = Callable[..., Stage]
LIMITING: tuple[Overlap, ...] = ("skip", "queue_one", "queue_all", "replace")
FIVE, EIGHT = 300, 480
HANDED_OVER = 2


def eight_minutes(stages: Stages, policy: str) -> Stage:
    """Every five minutes, and a run takes eight."""
    stage = stages(takes=lambda call: EIGHT)
    stage.put(schedule="rate(5 minutes)", overlap=policy, timeout=600)
    return stage


def seen(stage: Stage) -> list[tuple[int, str, int | None]]:
    """(due, status, started) in seconds since the beginning."""
    return [
        (
            int(stage.second(run.due)),
            run.status,
            int(stage.second(run.started_at)) if run.started_at else None,
        )
        for run in stage.runs()
    ]


def test_b52_skip_does_not_fire_what_it_skipped_when_the_run_ends(stages: Stages) -> None:
    stage = eight_minutes(stages, "skip")
    stage.run_to(1190)
    assert seen(stage) == [
        (300, "succeeded", 300),
        (600, "skipped", None),
        (900, "running", 900),
    ]
    first, skipped, _ = stage.runs()
    assert (skipped.code, skipped.detail) == (
        "overlap",
        f"an earlier run is open: {first.key.run_id}",
    )


def test_b52_queue_one_starts_the_waiting_one_when_the_run_ends(stages: Stages) -> None:
    stage = eight_minutes(stages, "queue_one")
    stage.run_to(1190)
    assert seen(stage) == [(300, "succeeded", 300), (600, "running", 780)]
    stage.run_to(1490)
    assert seen(stage)[2:] == [(900, "running", 1260), (1200, "skipped", None)]


def test_b52_allow_lets_them_run_side_by_side(stages: Stages) -> None:
    stage = eight_minutes(stages, "allow")
    stage.run_to(1090)
    assert seen(stage) == [
        (300, "succeeded", 300),
        (600, "succeeded", 600),
        (900, "running", 900),
    ]
    assert not {"read_lock", "write_lock", "read_run"} & set(stage.calls)


def test_queue_all_runs_each_in_order_of_due_time(stages: Stages) -> None:
    stage = eight_minutes(stages, "queue_all")
    stage.run_to(3600)
    done = [run for run in stage.runs() if run.started_at is not None]
    assert len(done) == 7
    assert [run.key.scheduled_for for run in done] == sorted(r.key.scheduled_for for r in done)
    for (_, end), (start, _) in pairwise(stage.spans()):
        assert 0 <= start - end < HANDED_OVER


def test_replace_stops_the_earlier_run(stages: Stages) -> None:
    stage = eight_minutes(stages, "replace")
    stage.run_to(1510)
    statuses = [(due, status) for due, status, _ in seen(stage)]
    assert statuses == [
        (300, "cancelled"),
        (600, "cancelled"),
        (900, "cancelled"),
        (1200, "cancelled"),
        (1500, "running"),
    ]
    one, two = stage.runs()[:2]
    assert (one.code, one.detail) == ("replaced", f"replaced by {two.key.run_id}")
    assert one.owner == ""


@pytest.mark.parametrize("policy", LIMITING)
def test_a_quick_job_is_not_touched_by_its_policy(stages: Stages, policy: str) -> None:
    stage = stages()
    stage.put(schedule="rate(1 minute)", overlap=policy)
    stage.run_to(610)
    assert stage.statuses() == ["succeeded"] * 10


def test_what_a_policy_costs_in_calls(stages: Stages) -> None:
    """allow: nothing. skip and replace: one read of who ran before, one write. queue_*: a read more
    after the end."""
    counted = {}
    for policy in ("allow", *LIMITING):
        stage = stages()
        stage.put(schedule="rate(1 minute)", overlap=policy)
        stage.run_to(90)
        before = stage.calls.copy()
        stage.run_to(690)
        assert stage.statuses() == ["succeeded"] * 11
        made = stage.calls - before
        counted[policy] = {n: made[n] for n in ("read_run", "write_lock", "read_lock") if made[n]}
    assert counted == {
        "allow": {},
        "skip": {"read_run": 10, "write_lock": 10},
        "replace": {"read_run": 10, "write_lock": 10},
        "queue_one": {"read_run": 10, "write_lock": 10, "read_lock": 10},
        "queue_all": {"read_run": 10, "write_lock": 10, "read_lock": 10},
    }


@pytest.mark.parametrize("policy", LIMITING)
def test_a_blocked_run_delays_no_other_job(stages: Stages, policy: str) -> None:
    stage = stages(takes=lambda call: 400 if call.job_id == "a" else 0.1, pollers=2)
    stage.put("a", schedule="rate(1 minute)", overlap=policy, timeout=600)
    stage.put("b", schedule="rate(1 minute)")
    stage.run_to(330)
    assert stage.statuses("b") == ["succeeded"] * 5
    late = [stage.second(r.started_at) - stage.second(r.due) for r in stage.runs("b")]
    assert max(late) < 1


@pytest.mark.parametrize("policy", ["skip", "queue_one", "queue_all"])
def test_a_retrying_run_still_holds_the_lock(stages: Stages, policy: str) -> None:
    def answer(call: Call) -> object:
        return failing(call) if call.attempt < 3 else succeeded("http_200")

    stage = stages(answer=answer)
    retry = {"max_attempts": 3, "backoff": 80, "max_backoff": 80}
    stage.put(schedule="rate(1 minute)", overlap=policy, retry=retry)
    stage.run_to(1000)
    by_key: dict[RunKey, list[float]] = {}
    for started in stage.started:
        by_key.setdefault(started.key, []).append(started.second)
    assert any(len(seconds) == 3 for seconds in by_key.values())
    spans = sorted((seconds[0], seconds[-1]) for seconds in by_key.values())
    for (_, last), (first, _) in pairwise(spans):
        assert last < first


def test_a_redriven_run_waits_for_its_turn(stages: Stages) -> None:
    """Its lock was free, and somebody else has it by now."""
    fates = iter([refused("http_400", "no")])
    stage = stages(
        takes=lambda call: 0.1 if call.attempt == 1 and len(stage.started) == 1 else 100,
        answer=lambda call: next(fates, succeeded("http_200")),
    )
    stage.put(schedule="rate(5 minutes)", overlap="queue_all", timeout=200)
    stage.run_to(610)
    failed, running = stage.runs()
    assert (failed.status, running.status) == ("failed", "running")
    stage.api(lambda control: control.redrive_run("a", failed.key.run_id, by="me"))
    stage.run_to(690)
    assert stage.statuses() == ["retrying", "running"]
    stage.run_to(820)
    assert stage.statuses() == ["succeeded", "succeeded"]
    (first_end, second_start) = (stage.runs()[1].finished_at, stage.runs()[0].started_at)
    assert 0 <= stage.second(second_start) - stage.second(first_end) < HANDED_OVER


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_a_redriven_run_does_not_push_in(stages: Stages, policy: str) -> None:
    fates = iter([refused("http_400", "no")])
    stage = stages(
        takes=lambda call: 0.1 if len(stage.started) == 1 else 100,
        answer=lambda call: next(fates, succeeded("http_200")),
    )
    stage.put(schedule="rate(5 minutes)", overlap=policy, timeout=200)
    stage.run_to(610)
    [failed, _] = stage.runs()
    stage.api(lambda control: control.redrive_run("a", failed.key.run_id, by="me"))
    stage.run_to(880)
    assert stage.statuses() == ["succeeded", "succeeded"]
    (_, first_end), (second_start, _) = stage.spans()
    assert second_start >= first_end


@pytest.mark.parametrize("policy", ["queue_one", "queue_all"])
def test_cancelling_a_run_lets_the_next_one_go(stages: Stages, policy: str) -> None:
    stage = eight_minutes(stages, policy)
    stage.run_to(650)
    [running] = stage.runs()
    stage.api(lambda control: control.cancel_run("a", running.key.run_id, by="me"))
    stage.run(HANDED_OVER)
    assert stage.statuses() == ["cancelled", "running"]


def test_cancelling_one_that_waits_makes_room(stages: Stages) -> None:
    stage = eight_minutes(stages, "queue_one")
    stage.run_to(650)
    uid = stage.runs()[0].key.uid
    [waiting] = stage.store.read_lock("a").waiting  # type: ignore[union-attr]
    assert waiting.key.uid == uid
    stage.api(lambda control: control.cancel_run("a", waiting.key.run_id, by="me"))
    stage.run_to(1250)
    assert (
        seen(stage)
        == [
            (300, "succeeded", 300),
            (600, "cancelled", None),
            (900, "running", 900),
            (1200, "running", None),
        ][:3]
    )


@pytest.mark.parametrize("policy", ["queue_one", "queue_all"])
def test_who_waits_when_the_job_is_paused_or_deleted_is_cancelled(
    stages: Stages, policy: str
) -> None:
    for end, code in (("pause", "job_paused"), ("delete", "job_deleted")):
        stage = eight_minutes(stages, policy)
        stage.run_to(650)
        if end == "pause":
            stage.api(lambda control: control.pause("a", by="me"))
        else:
            stage.api(lambda control: control.delete("a"))
        stage.run_to(800)
        running, waiting = stage.runs()
        assert running.status == "succeeded"
        assert (waiting.status, waiting.code) == ("cancelled", code)


def test_a_run_by_request_takes_its_place_in_line(stages: Stages) -> None:
    stage = eight_minutes(stages, "queue_all")
    stage.run_to(400)
    stage.api(lambda control: control.run_now("a", by="me", client_id="x"))
    stage.run_to(900)
    own, requested = stage.runs()
    assert requested.key.trigger == "m-x"
    assert (own.status, requested.status) == ("succeeded", "running")
    assert stage.second(requested.started_at) < 782


def test_a_changed_policy_leaves_nobody_behind(stages: Stages) -> None:
    """queue_all, two wait; then allow."""
    stage = eight_minutes(stages, "queue_all")
    stage.run_to(950)
    stage.put(schedule="rate(5 minutes)", overlap="allow", timeout=600)
    stage.run_to(3000)
    assert set(stage.statuses()[:3]) == {"succeeded"}


@pytest.mark.parametrize("begun", [False, True], ids=["first-run", "later-run"])
def test_a_deletion_between_reading_and_entering_lets_nobody_in(
    stages: Stages, begun: bool
) -> None:
    """The lock goes with the job, and with the lock who holds it."""
    stage = stages(takes=lambda call: 200, ticks=False)
    stage.put(schedule="rate(1 minute)", overlap="skip", timeout=300)

    def second(control: Control) -> object:
        store = control.ports.store
        stored = store.read_job("a")
        while store.read_lock("a") is None:
            control.ports.clock.sleep(1)
        if begun:
            stored = store.read_job("a")
        control.delete("a")
        assert stored is not None
        job = stored.job
        assert job.next is not None
        at = job.next.scheduled_for
        message = Message(RunKey("a", job.uid, at), job.generation, at, control.ports.clock.now())
        return enter(control.ports, message, stored)

    assert not isinstance(stage.api(second), Enter)


def test_a_redrive_between_looking_and_entering_keeps_them_apart(stages: Stages) -> None:
    """Whoever saw the failed run ended, and decided to enter, must look again."""
    stage = stages(answer=lambda call: refused("http_400", "no"), ticks=False)
    stage.put(schedule={"rate": 60, "max_runs": 2}, overlap="skip")
    stage.run_to(70)
    [failed] = stage.runs()

    def other(control: Control) -> object:
        stored = control.ports.store.read_job("a")
        assert stored is not None
        at = failed.key.scheduled_for + timedelta(seconds=60)
        me = Message(replace(failed.key, scheduled_for=at), 1, at, control.ports.clock.now())
        meddling = _Meddling(
            control.ports.store,
            lambda: control.redrive_run("a", failed.key.run_id, by="me"),
        )
        return enter(replace(control.ports, store=meddling), me, stored)  # type: ignore[arg-type]

    entered = stage.api(other)
    assert isinstance(entered, Enter)
    assert entered.lock is not None
    stage.run(20)
    assert stage.statuses() == ["retrying"]
    assert stage.store.read_lock("a") == entered.lock


class _Meddling:
    """Something happens after the first look at a run."""

    def __init__(self, store: Store, what: Callable[[], object]) -> None:
        self._store, self._what = store, what
        self._done = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def read_run(self, key: RunKey) -> Run | None:
        found = self._store.read_run(key)
        if not self._done:
            self._done = True
            self._what()
        return found


def test_a_holder_whose_row_has_expired_stands_in_nobodys_way(stages: Stages) -> None:
    """A yearly job keeps its runs for a month."""
    stage = stages(ticks=False)
    stage.put(schedule={"rate": 60, "max_runs": 1}, overlap="skip")
    stage.run_to(70)
    [run] = stage.runs()
    stage.store.rows.delete(job_pk("a"), run_sk(run.key))

    def later(control: Control) -> object:
        stored = control.ports.store.read_job("a")
        assert stored is not None
        assert stored.lock is not None
        at = run.key.scheduled_for + timedelta(seconds=600)
        me = Message(replace(run.key, scheduled_for=at), 1, at, control.ports.clock.now())
        first = enter(control.ports, me, stored)
        long_ago = control.ports.clock.now() - timedelta(days=15)
        aged = replace(stored.lock, version=9, named_at=long_ago)
        assert control.ports.store.write_lock("a", stored.lock, aged)
        return first, enter(control.ports, me, replace(stored, lock=aged))

    first, second = stage.api(later)  # type: ignore[misc]
    assert isinstance(first, Refuse)
    assert isinstance(second, Enter)


@pytest.mark.parametrize("policy", LIMITING)
def test_nothing_is_stuck_whichever_write_a_worker_dies_after(
    stages: Stages, policy: Overlap
) -> None:
    """Four runs a minute apart, each takes 70 s. One worker dies, at each write in turn."""
    deaths = 0
    for n in range(1, 60):
        stage = stages(takes=lambda call: 70, pollers=3, doom=("worker", n))
        schedule = {"rate": 60, "max_runs": 4}
        stage.put(schedule=schedule, overlap=policy, timeout=100, retry={"max_attempts": 3})
        stage.run_to(1500)
        if not stage.died:
            break
        deaths += 1
        check_over(stage, policy)
    assert deaths >= 8


def check_over(stage: Stage, policy: Overlap) -> None:
    statuses = stage.statuses()
    allowed = {
        "skip": {"succeeded", "skipped"},
        "queue_one": {"succeeded", "skipped"},
        "queue_all": {"succeeded"},
        "replace": {"succeeded", "cancelled", "skipped"},
    }[policy]
    assert len(statuses) == 4, (stage.doom, statuses)
    assert set(statuses) <= allowed, (stage.doom, statuses)
    assert "succeeded" in statuses
    spans = stage.open_spans()
    for (_, end, _), (start, _, _) in pairwise(spans):
        assert start >= end, (stage.doom, spans)
    lock = stage.store.read_lock("a")
    assert lock is not None
    assert lock.waiting == ()
    assert stage.queue.waiting == []
