"""Outages, pauses, edits and re-creations, through the whole deployment: B16, B42 to B49."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from cronce.adapters.items import MISSED_PREFIX
from cronce.domain.errors import WrongState
from cronce.domain.instants import from_wire, to_api
from cronce.domain.job import StoredJob
from cronce.targets.contract import Call
from simulation.kernel import START, Killed
from support.stage import Stage

Stages = Callable[..., Stage]
MINUTE = 60
BACK = START + timedelta(seconds=5 * 3600 - 90)


def at(second: int) -> dict[str, Any]:
    return {"at": to_api(START + timedelta(seconds=second))}


def missed(stage: Stage) -> list[tuple[int, int, int, str, str]]:
    """(first, last, count, policy, reason), in seconds since the beginning."""
    rows = [row for row in stage.store.rows.all() if str(row["sk"]).startswith(MISSED_PREFIX)]
    return [
        (_second(row["first"]), _second(row["last"]), int(str(row["count"])), *_why(row))
        for row in rows
        if row["count"]
    ]


def _second(text: object) -> int:
    return int((from_wire(str(text)) - START).total_seconds())


def _why(row: Any) -> tuple[str, str]:
    return str(row["policy"]), str(row["reason"])


def outage(stages: Stages, seconds: int, **document: Any) -> Stage:
    """No tick from the first minute on; then they come again."""
    stage = stages(ticks=False)
    stage.put(**document)
    stage.run_to(seconds)
    for _ in range(6):
        stage.tick()
        stage.run(MINUTE)
    return stage


def ran(stage: Stage) -> list[int]:
    """Occurrences that were executed, in the order of their starts."""
    return [int(stage.second(s.key.scheduled_for)) for s in stage.started]


@pytest.mark.parametrize("policy", ["run_once", "skip"])
def test_b42_a_hundred_and_one_missed_starts(stages: Stages, policy: str) -> None:
    """The first three were dispatched ahead when the job was made."""
    stage = outage(stages, 101 * MINUTE + 30, schedule="* * * * *", misfire=policy)
    latest = [99 * MINUTE] if policy == "run_once" else []
    head = [60, 120, 180]
    assert ran(stage)[:3] == head
    late = [second for second in ran(stage)[3:] if second < 100 * MINUTE]
    assert late == latest
    [(first, last, count, by, why)] = missed(stage)
    assert (by, why) == (policy, "missed")
    assert first == 240
    assert count == (last - first) // 60 + 1
    everything = sorted([*ran(stage), *range(first, last + 1, 60)])
    assert everything == list(range(60, everything[-1] + 1, 60))
    assert Counter(everything).most_common(1)[0][1] == 1


def test_b43_run_all_comes_back_in_portions(stages: Stages) -> None:
    misfire = {"policy": "run_all", "window": "1h", "cap": 20}
    stage = outage(stages, 5 * 3600, schedule="* * * * *", misfire=misfire)
    late = [s for s in stage.started if s.second >= 5 * 3600 and s.key.scheduled_for < BACK]
    portions: dict[int, list[int]] = {}
    for started in late:
        second = int(stage.second(started.key.scheduled_for))
        portions.setdefault(int(started.second) // 60, []).append(second)
    assert max(map(len, portions.values())) == 20
    assert sum(map(len, portions.values())) >= 55
    in_order = [second for portion in portions.values() for second in sorted(portion)]
    assert in_order == list(range(in_order[0], in_order[-1] + 1, 60))
    [(first, last, count, _, _)] = missed(stage)
    assert first == 240
    # The oldest of the window may have left it when its turn comes: skipped, not missed.
    left = [int(stage.second(r.due)) for r in stage.runs() if r.status == "skipped"]
    assert sorted([last, *left, *in_order]) == list(range(last, in_order[-1] + 1, 60))
    assert count == (last - first) // 60 + 1


@pytest.mark.parametrize(
    ("policy", "status"), [("run_once", "succeeded"), ("run_all", "succeeded"), ("skip", None)]
)
def test_b45_a_one_time_job_of_an_outage(stages: Stages, policy: str, status: str | None) -> None:
    """Deletion only after a terminal run, or the count of the missed; it erases no history."""
    stage = outage(stages, 1_800, schedule=at(600), misfire=policy, delete_after="1h")
    stored: StoredJob = stage.api(lambda control: control.get("a"))
    assert stored.job.status == "ended"
    if status is None:
        assert missed(stage) == [(600, 600, 1, "skip", "missed")]
    ended = [status] if status else []
    assert stage.statuses() == ended
    assert stored.job.expires_at is not None
    stage.run(3 * 3600)
    assert stage.store.read_job("a") is None
    assert stage.statuses() == ended
    assert len(missed(stage)) == (status is None)


def test_b46_making_a_job_runs_no_other_one_again(stage: Stage) -> None:
    stage.put("a", schedule=at(61))
    stage.run_to(100)
    stage.put("b", schedule="rate(1 hour)")
    stage.run_to(1_800)
    assert stage.statuses("a") == ["succeeded"]
    assert len(stage.started) == 1


def test_b47_an_edit_never_fires_at_once(stage: Stage) -> None:
    """Monthly on the 10th; on the 29th changed to the 11th."""
    stage.put(schedule="0 0 10 * *")
    stage.run_to(400)
    stage.put(schedule="0 0 11 * *")
    stage.run_to(2_000)
    assert stage.runs() == []
    stored: StoredJob = stage.api(lambda control: control.get("a"))
    assert stored.job.next is not None
    assert to_api(stored.job.next.scheduled_for) == "2026-12-11T00:00:00Z"
    assert missed(stage) == []


@pytest.mark.parametrize("policy", ["run_once", "skip", "run_all"])
def test_b49_a_resume_goes_on_from_now(stage: Stage, policy: str) -> None:
    stage.put(
        schedule={"rate": 600, "start": to_api(START + timedelta(seconds=600))}, misfire=policy
    )
    stage.run_to(1_000)
    stage.api(lambda control: control.pause("a", by="me"))
    stage.run_to(3_100)
    stage.api(lambda control: control.resume("a", by="me"))
    stage.run_to(3_590)
    assert ran(stage) == [600]
    assert missed(stage) == [(1200, 3000, 4, policy, "paused")]
    stage.run_to(3_700)
    assert ran(stage) == [600, 3600]


@pytest.mark.parametrize("gap", [0.2, 5.0, 50.0])
def test_b49_a_pause_around_the_instant_neither_loses_nor_doubles_it(
    stage: Stage, gap: float
) -> None:
    stage.put(schedule="*/10 * * * *")
    stage.run_to(600 - gap / 2)
    stage.api(lambda control: control.pause("a", by="me"))
    stage.run(gap)
    stage.api(lambda control: control.resume("a", by="me"))
    stage.run_to(1_250)
    recorded = [run.status for run in stage.runs() if stage.second(run.due) == 600]
    recorded += [why for first, last, _, _, why in missed(stage) if first <= 600 <= last]
    assert recorded in (["succeeded"], ["cancelled"], ["paused"])
    assert ran(stage).count(1200) == 1


def test_b16_what_was_dispatched_ahead_is_withdrawn(stages: Stages) -> None:
    for verb, code in (
        ("pause", "job_paused"),
        ("delete", "job_deleted"),
        ("edit", "schedule_changed"),
    ):
        stage = stages()
        stage.put(schedule=at(150))
        stage.run_to(30)
        assert len(stage.queue.waiting) == 1
        if verb == "pause":
            stage.put("b", schedule="rate(1 hour)")
            stage.put("a", schedule={"rate": 150, "max_runs": 5})
            stage.api(lambda control: control.pause("a", by="me"))
        elif verb == "delete":
            stage.api(lambda control: control.delete("a"))
        else:
            stage.put(schedule=at(7_200))
        stage.run_to(400)
        codes = {run.code for run in stage.runs()}
        assert {run.status for run in stage.runs()} == {"cancelled"}, verb
        assert code in codes
        assert stage.started == []
        assert stage.queue.waiting == []


def test_an_edit_of_something_else_withdraws_nothing_and_counts(stages: Stages) -> None:
    payloads: list[str | None] = []

    def takes(call: Call) -> float:
        payloads.append(call.payload)
        return 0.1

    stage = stages(takes=takes)
    stage.put(schedule=at(150))
    stage.run_to(30)
    stage.put(schedule=at(150), description="another one", timeout=9)
    stage.run_to(200)
    assert stage.statuses() == ["succeeded"]
    stored: StoredJob = stage.api(lambda control: control.get("a"))
    assert (stored.job.version, stored.job.generation) == (2, 1)


def test_a_job_made_again_runs_again_and_an_edited_one_does_not(stage: Stage) -> None:
    stage.put("again", schedule=at(150))
    stage.put("edited", schedule=at(150))
    stage.run_to(151)
    stage.api(lambda control: control.delete("again"))
    for name in ("again", "edited"):
        stage.put(name, schedule="30 10 * * *")
    stage.run_to(1_700)
    stage.api(lambda control: control.delete("again"))
    stage.put("again", schedule="30 10 * * *")
    stage.put("edited", schedule="30 10 * * 0")
    stage.run_to(1_900)
    assert [r.status for r in stage.runs("again")].count("succeeded") == 2
    assert [r.status for r in stage.runs("edited")].count("succeeded") == 2
    uids = {r.key.uid for r in stage.runs("again") if r.status == "succeeded"}
    assert len(uids) == 2


def test_a_deadline_is_judged_when_the_run_could_start(stages: Stages) -> None:
    stage = stages(pollers=0)
    stage.put(schedule=at(150), start_deadline=60)
    stage.run_to(215)
    stage.kernel.spawn(stage.nature, stage._poll)
    stage.run(5)
    [run] = stage.runs()
    assert (run.status, run.code) == ("skipped", "late")


def counted(stage: Stage) -> int:
    """For `max_runs`."""
    stored = stage.store.read_job("a")
    assert stored is not None
    return stored.job.runs_planned


def test_an_occurrence_that_waits_out_a_pause_for_its_jitter_counts_for_max_runs(
    stages: Stages,
) -> None:
    stage = stages(ticks=False)
    stage.put(schedule={"rate": 600, "jitter": "5m", "max_runs": 2})
    stage.run_to(601)
    stage.api(lambda control: control.pause("a", by="somebody"))
    assert counted(stage) == 1
    stage.run_to(602)
    stage.api(lambda control: control.resume("a", by="somebody"))
    for _ in range(60):
        stage.tick()
        stage.run(MINUTE)
    assert ran(stage) == [600, 1200]


def test_the_last_occurrence_of_max_runs_is_not_run_again_after_a_pause(stages: Stages) -> None:
    stage = stages(ticks=False)
    stage.put(schedule={"rate": 600, "max_runs": 1})
    stage.run_to(600)
    with pytest.raises(WrongState, match="ended"):
        stage.api(lambda control: control.pause("a", by="somebody"))
    stage.run(MINUTE)
    assert ran(stage) == [600]


def test_what_was_dispatched_ahead_of_a_pause_uses_up_no_run(stage: Stage) -> None:
    stage.put(schedule={"rate": 600, "max_runs": 3})
    stage.run_to(500)
    assert counted(stage) == 1
    stage.api(lambda control: control.pause("a", by="somebody"))
    stage.api(lambda control: control.resume("a", by="somebody"))
    stage.run_to(3600)
    assert ran(stage) == [600, 1200, 1800]


def test_what_was_counted_as_paused_is_not_cancelled_by_the_next_pause(stages: Stages) -> None:
    stage = stages(ticks=False)
    stage.put(schedule={"rate": 600, "jitter": "5m"})
    stage.run_to(590)
    stage.tick()
    stage.run(5)
    stage.api(lambda control: control.pause("a", by="somebody"))
    stage.run_to(601)
    stage.api(lambda control: control.resume("a", by="somebody"))
    stage.api(lambda control: control.pause("a", by="somebody"))
    stage.run_to(1_000)
    assert missed(stage) == [(600, 600, 1, "run_once", "paused")]
    assert stage.statuses() == ["missed"]


def twice(stage: Stage) -> list[int]:
    """Occurrences that are counted and were executed."""
    counted = missed(stage)
    return [s for s in ran(stage) if any(first <= s <= last for first, last, *_ in counted)]


OUTAGE = {"policy": "run_all", "window": "1h", "cap": 20}


def after_an_outage(stages: Stages) -> Stage:
    stage = stages(ticks=False)
    stage.put(schedule={"rate": 10}, misfire=OUTAGE)
    stage.run_to(695)
    return stage


@pytest.mark.parametrize("verb", ["pause", "edit", "delete"])
def test_what_a_change_leaves_over_of_an_outage_is_counted_with_its_reason(
    stages: Stages, verb: str
) -> None:
    """190 was the last one dispatched ahead. The late ones fire 20 at a time; what is not late
    comes with them."""
    stage = after_an_outage(stages)
    if verb == "edit":
        stage.put(schedule={"rate": 3600}, misfire=OUTAGE)
    else:
        stage.api(lambda c: c.pause("a", by="me") if verb == "pause" else c.delete("a"))
    stage.run(120)
    reason = "paused" if verb == "pause" else "edited"
    assert missed(stage) == [(400, 600, 21, "run_all", reason)]
    assert [int(stage.second(r.key.scheduled_for)) for r in stage.runs()] == [
        *range(10, 400, 10),
        *range(610, 700, 10),
    ]
    assert twice(stage) == []


def test_a_pause_that_dies_on_its_way_leaves_nothing_counted_that_runs(stages: Stages) -> None:
    for n in range(1, 50):
        stage = after_an_outage(stages)
        stage.doom = ("api", stage.writes["api"] + n)
        with suppress(Killed):
            stage.api(lambda control: control.pause("a", by="me"))
        for _ in range(3):
            stage.tick()
            stage.run(MINUTE)
        assert twice(stage) == [], n
        if not stage.died:
            break
    assert n > 5


def test_an_edit_of_a_paused_job_keeps_what_fell_into_the_pause(stage: Stage) -> None:
    stage.put(schedule={"rate": 600})
    stage.run_to(700)
    stage.api(lambda control: control.pause("a", by="me"))
    stage.run_to(2_000)
    stage.put(schedule={"rate": 300})
    stage.run_to(2_950)
    stage.api(lambda control: control.resume("a", by="me"))
    stage.run_to(3_300)
    assert ran(stage) == [600, 3200]
    assert missed(stage) == [
        (1200, 1800, 2, "run_once", "paused"),
        (2300, 2900, 3, "run_once", "paused"),
    ]


def test_the_slower_of_two_resumes_counts_nothing_that_runs(stages: Stages) -> None:
    """It looks at its clock after 400 and loses; the one before it has begun to run 400."""
    lost = 0
    for ahead in range(2, 20, 4):
        stage = stages(poll=5)
        stage.put(schedule={"rate": 10})
        stage.run_to(100)
        stage.api(lambda control: control.pause("a", by="me"))
        stage.run_to(400 - ahead / 1000)
        stage.spawn(lambda control: control.resume("a", by="me"))
        stage.run(0.02)
        stage.api(lambda control: control.resume("a", by="me"))
        stage.run(40)
        assert twice(stage) == [], ahead
        assert {410, 420, 430} <= set(ran(stage))
        lost += any(last >= 400 for _, last, *_ in missed(stage))
    assert lost
