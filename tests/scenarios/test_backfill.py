"""Backfills: what the schedule has not run is run, at a pace, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from cronce.control import Control
from cronce.control.backfills import Ask
from cronce.domain.backfill import MOST_IN_LINE, Backfill
from cronce.domain.errors import BackfillNotFound, Invalid, WrongState
from cronce.domain.run import Run
from simulation.kernel import START, Killed
from support.stage import Stage

Stages = Callable[..., Stage]
HOUR = 3600


def back(hours: float = 0, minutes: float = 0) -> datetime:
    return START - timedelta(hours=hours, minutes=minutes)


def ask(first: datetime, before: datetime, pace: int = 60, **more: Any) -> Ask:
    return Ask(first, before, pace, **more)


def begin(stage: Stage, wish: Ask) -> Backfill:
    made: Backfill
    made, _ = stage.api(lambda control: control.backfill("a", wish, by="me"))
    return made


def seen(stage: Stage, b: Backfill) -> Backfill:
    found: Backfill = stage.api(lambda control: control.get_backfill("a", b.id))
    return found


def its_runs(stage: Stage) -> list[Run]:
    return [run for run in stage.runs() if run.key.trigger]


def test_occurrences_before_the_job_was_made_are_run(stage: Stage) -> None:
    stage.put(schedule="0 * * * *")
    b = begin(stage, ask(back(hours=5), back(), id="night"))
    assert (b.total, b.started, b.existing) == (5, 5, 0)
    stage.run(30)
    runs = its_runs(stage)
    assert [r.key.scheduled_for for r in runs] == [back(hours=n) for n in (5, 4, 3, 2, 1)]
    stage.run(90)
    assert {r.status for r in its_runs(stage)} == {"succeeded"}
    assert {r.key.trigger for r in runs} == {"b-night"}
    assert {r.triggered_by for r in runs} == {"me"}
    done = seen(stage, b)
    assert (done.status, done.next_run) == ("done", None)


def test_the_schedule_goes_on_as_if_nothing_were(stages: Stages) -> None:
    times = []
    for with_it in (False, True):
        stage = stages()
        stage.put(schedule="*/5 * * * *")
        if with_it:
            begin(stage, ask(back(hours=3), back()))
        stage.run_to(1_300)
        own = [r for r in stage.runs() if not r.key.trigger]
        times.append([(r.key.scheduled_for, r.status) for r in own])
    assert times[0] == times[1]
    assert len(times[0]) == 4


def test_what_the_schedule_has_run_is_left_out(stage: Stage) -> None:
    stage.put(schedule="* * * * *")
    stage.run_to(630)
    dry = stage.api(lambda c: c.try_backfill("a", ask(back(minutes=5), stage.now)))
    assert (dry.total, dry.existing) == (16, 10)
    assert (dry.first, dry.last) == (back(minutes=5), START + timedelta(minutes=10))
    assert its_runs(stage) == []
    b = begin(stage, ask(back(minutes=5), stage.now))
    assert (b.total, b.started, b.existing) == (16, 6, 10)
    stage.run(200)
    before_it_was_made = [back(minutes=n) for n in (5, 4, 3, 2, 1, 0)]
    assert [r.key.scheduled_for for r in its_runs(stage)] == before_it_was_made
    done = seen(stage, b)
    assert (done.status, done.started, done.existing) == ("done", 6, 10)


def test_missed_skipped_and_cancelled_occurrences_are_run(stages: Stages) -> None:
    stage = stages(takes=lambda call: 150 if not call.trigger else 0.1)
    stage.put(schedule="* * * * *", overlap="skip", timeout=200)
    stage.run_to(630)
    found = Counter(stage.statuses())
    assert found["skipped"] >= 5
    b = begin(stage, ask(back(minutes=-1), stage.now, overlap="allow"))
    stage.run(120)
    expected = {r.key.scheduled_for for r in stage.runs() if r.status == "skipped"}
    filled = {r.key.scheduled_for for r in its_runs(stage)}
    assert filled <= expected
    assert len(filled) == found["skipped"]
    assert seen(stage, b).existing == 10 - found["skipped"]


def test_an_outage_is_filled(stages: Stages) -> None:
    stage = stages(ticks=False)
    stage.put(schedule="* * * * *", misfire="skip")
    stage.run_to(1_830)
    stage.tick()
    stage.run(5)
    dispatched_ahead = len(stage.runs())
    b = begin(stage, ask(START, START + timedelta(minutes=28), pace=600))
    stage.run(65)
    stage.tick()
    stage.run(60)
    done = seen(stage, b)
    assert done.started + done.existing == done.total == 28
    assert done.existing <= dispatched_ahead
    ran = Counter(r.key.scheduled_for for r in stage.runs() if r.status == "succeeded")
    assert all(ran[START + timedelta(minutes=n)] == 1 for n in range(1, 28))


def test_the_pace_is_kept_and_spread_over_the_minute(stage: Stage) -> None:
    stage.put(schedule="* * * * *")
    b = begin(stage, ask(back(hours=2), back(), pace=10))
    stage.run_to(900)
    assert seen(stage, b).status == "done"
    starts = sorted(s.second for s in stage.started if s.key.trigger)
    assert len(starts) == 120
    for n, start in enumerate(starts[:-10]):
        within = [s for s in starts[n:] if s < start + 60]
        assert len(within) <= 20
    assert starts[-1] - starts[0] >= 11 * 60 - 5
    gaps = [b - a for a, b in pairwise(starts[:10])]
    assert min(gaps) > 5
    held = [r for r in its_runs(stage) if r.held_until is not None]
    assert len(held) >= 100


def test_few_runs_keep_the_pace_too(stage: Stage) -> None:
    """Five runs at 60 a minute: a second apart, not spread over the minute."""
    stage.put(schedule="0 * * * *")
    b = begin(stage, ask(back(hours=5), back(), pace=60))
    stage.run(30)
    starts = sorted(s.second for s in stage.started if s.key.trigger)
    assert len(starts) == 5
    assert all(0.5 < later - earlier < 1.5 for earlier, later in pairwise(starts))
    assert seen(stage, b).pace == 60


def test_runs_of_a_job_that_takes_turns_are_run_one_after_the_other(stages: Stages) -> None:
    """And none is skipped, though the job's own policy would."""
    stage = stages(takes=lambda call: 2)
    stage.put(schedule="0 * * * *", overlap="skip")
    b = begin(stage, ask(back(hours=30), back(), pace=600))
    stage.run_to(400)
    runs = its_runs(stage)
    assert Counter(r.status for r in runs) == {"succeeded": 30}
    order = sorted(runs, key=lambda r: r.started_at or START)
    assert [r.key.scheduled_for for r in order] == sorted(r.key.scheduled_for for r in runs)
    for (_, end, _), (start, _, _) in pairwise(stage.open_spans()):
        assert start >= end
    assert seen(stage, b).status == "done"


def test_the_line_is_never_overfull(stages: Stages) -> None:
    """More than a hundred waiting runs would be skipped."""
    stage = stages(takes=lambda call: 5)
    stage.put(schedule="* * * * *", overlap="queue_all")
    begin(stage, ask(back(hours=5), back(), pace=600))
    longest = 0
    while stage.kernel.now < 1_800_000:
        stage.run(30)
        lock = stage.store.read_lock("a")
        longest = max(longest, len(lock.waiting) if lock else 0)
    assert 30 < longest <= MOST_IN_LINE + 16
    assert Counter(r.status for r in its_runs(stage)) == {"succeeded": 300}


def test_a_cancelled_backfill_starts_nothing_more(stage: Stage) -> None:
    stage.put(schedule="* * * * *")
    b = begin(stage, ask(back(hours=2), back(), pace=20))
    stage.run(31)
    ended = stage.api(lambda control: control.cancel_backfill("a", b.id, by="me"))
    assert (ended.status, ended.reason) == ("cancelled", "cancelled by me")
    stage.run(600)
    statuses = Counter(r.status for r in its_runs(stage))
    assert set(statuses) == {"succeeded", "cancelled"}
    assert sum(statuses.values()) == 20
    cancelled = [r for r in its_runs(stage) if r.status == "cancelled"]
    assert {r.code for r in cancelled} == {"backfill_cancelled"}
    again = stage.api(lambda control: control.cancel_backfill("a", b.id, by="you"))
    assert again == seen(stage, b)
    assert again.reason == "cancelled by me"


def test_a_backfill_ends_with_its_job(stage: Stage) -> None:
    stage.put(schedule="* * * * *")
    b = begin(stage, ask(back(hours=2), back(), pace=20))
    stage.run(31)
    stage.api(lambda control: control.delete("a"))
    stage.put(schedule="* * * * *")
    stage.run(300)
    found = seen(stage, b)
    assert (found.status, found.reason) == ("cancelled", "the job was deleted")
    assert len(its_runs(stage)) == 20


def test_the_same_id_finds_the_same_backfill(stage: Stage) -> None:
    stage.put(schedule="0 * * * *")
    wish = ask(back(hours=5), back(), id="x")
    first, new = stage.api(lambda control: control.backfill("a", wish, by="me"))
    assert new
    stage.run(300)
    second, new = stage.api(lambda control: control.backfill("a", wish, by="you"))
    assert not new
    assert second.created_by == "me"
    assert len(its_runs(stage)) == 5
    other = ask(back(hours=9), back(), id="x")
    with pytest.raises(WrongState):
        stage.api(lambda control: control.backfill("a", other, by="me"))
    with pytest.raises(WrongState) as refusal:
        stage.api(lambda control: control.cancel_backfill("a", first.id, by="me"))
    assert refusal.value.state == "done"
    with pytest.raises(BackfillNotFound):
        stage.api(lambda control: control.get_backfill("a", "y"))


def test_a_range_has_a_bound(stage: Stage) -> None:
    stage.put(schedule="* * * * *")
    wide = ask(back(hours=24 * 7), back())
    calls: list[Callable[[Control], object]] = [
        lambda control: control.try_backfill("a", wide),
        lambda control: control.backfill("a", wide, by="me"),
    ]
    for call in calls:
        with pytest.raises(Invalid) as refusal:
            stage.api(call)
        [fault] = refusal.value.faults
        assert (fault.pointer, fault.code) == ("/to", "too_many")
    assert stage.api(lambda control: control.list_backfills("a", limit=10)).items == ()


def test_what_waits_in_line_is_not_doubled(stages: Stages) -> None:
    """Dispatched, no row yet: it waits for an earlier run of the job."""
    stage = stages(takes=lambda call: 400 if not call.trigger else 0.1)
    stage.put(schedule="* * * * *", overlap="queue_all", timeout=500)
    stage.run_to(400)
    lock = stage.store.read_lock("a")
    assert lock is not None
    waiting = {sent.key.scheduled_for for sent in lock.waiting}
    assert len(waiting) >= 4
    b = begin(stage, ask(back(minutes=-1), stage.now, overlap="allow"))
    stage.run(100)
    assert its_runs(stage) == []
    assert seen(stage, b).existing == b.total


def test_what_waited_when_the_job_was_changed_runs_once(stages: Stages) -> None:
    """The schedule that planned it is gone; a message of it may still come."""
    stage = stages(takes=lambda call: 400 if not call.trigger else 0.1)
    stage.put(schedule="* * * * *", overlap="queue_all", timeout=500)
    stage.run_to(400)
    stage.put(schedule="*/2 * * * *", overlap="queue_all", timeout=500)
    begin(stage, ask(START, stage.now, overlap="allow"))
    stage.run(3000)
    executed = Counter(s.key.scheduled_for for s in stage.started)
    assert executed
    assert set(executed.values()) == {1}


@pytest.mark.parametrize("role", ["api", "dispatcher"])
def test_nothing_is_doubled_or_lost_whatever_dies(stages: Stages, role: str) -> None:
    """At every write of the call, and of the ticks that go on with it, in turn."""
    deaths = 0
    for n in range(1, 60):
        stage = stages(pollers=2)
        stage.put(schedule="0 * * * *")
        stage.doom = (role, stage.writes[role] + n)
        wish = ask(back(hours=10), back(), 4, id="x")
        with suppress(Killed):
            begin(stage, wish)
        stage.run_to(420)
        if not stage.died:
            break
        deaths += 1
        [b] = stage.api(lambda control: control.list_backfills("a", limit=1)).items
        assert (b.status, b.started) == ("done", 10), (role, n)
        ran = Counter(s.key.scheduled_for for s in stage.started)
        assert ran == Counter(back(hours=k) for k in range(1, 11)), (role, n)
    assert deaths >= 10
