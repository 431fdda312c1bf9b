"""The planner: what fires, what was missed, what comes next. B42 to B50 of the behaviour cases."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronce.domain.plan import (
    Due,
    Misfire,
    Missed,
    first_due,
    parse_misfire,
    passed_over,
    plan,
)
from cronce.domain.schedule import Schedule, jittered, parse_schedule

UID = "k3f9a2qd"
HORIZON = timedelta(seconds=195)
NOW = datetime.fromisoformat("2026-11-29T10:00:30Z")
POLICIES = [parse_misfire(p) for p in ("run_once", "skip", "run_all")]


def schedule(document: object, now: datetime = NOW - timedelta(days=500)) -> Schedule:
    return parse_schedule(document, now=now)


def at_once(found: datetime) -> Due:
    return Due(found, found)


def times(dues: tuple[Due, ...]) -> list[str]:
    return [f"{due.scheduled_for:%d %H:%M:%S}" for due in dues]


def visit(of: Schedule, current: Due, now: datetime = NOW, **more: object):
    arguments = {"misfire": Misfire(), "horizon": HORIZON, **more}
    return plan(uid=UID, schedule=of, current=current, now=now, **arguments)


def test_everything_inside_the_horizon_fires_in_one_visit(at):
    found = visit(schedule({"rate": "10s", "start": "2026-11-29T10:00:00Z"}), at_once(NOW))
    assert len(found.fire) == 20
    assert found.fire[-1].due <= NOW + HORIZON < found.next.due
    assert found.missed is None


def test_nothing_inside_the_horizon_moves_nothing(at):
    current = at_once(at("2026-11-29T10:03:46Z"))
    found = visit(schedule("* * * * *"), current)
    assert (found.fire, found.missed, found.next, found.runs_planned) == ((), None, current, 0)


def test_due_exactly_at_the_horizon_fires(at):
    current = at_once(NOW + HORIZON)
    assert visit(schedule("* * * * *"), current).fire == (current,)


def test_a_second_visit_at_the_same_time_finds_nothing_new():
    of = schedule("* * * * *")
    first = visit(of, first_due(UID, of, NOW))
    again = visit(of, first.next, runs_planned=first.runs_planned)
    assert again.fire == ()
    assert again.next == first.next


def test_a_clock_that_goes_back_moves_nothing_back():
    of = schedule("* * * * *")
    first = visit(of, first_due(UID, of, NOW))
    earlier = visit(of, first.next, now=NOW - timedelta(hours=1))
    assert earlier.fire == ()
    assert earlier.next == first.next


def test_a_rate_of_one_second_keeps_up():
    of = schedule({"rate": 1})
    current, fired, now = first_due(UID, of, NOW), 0, NOW
    for _ in range(5):
        found = visit(of, current, now=now)
        assert found.missed is None
        fired += len(found.fire)
        current, now = found.next, now + timedelta(seconds=60)
    assert current.due > now - timedelta(seconds=60) + HORIZON
    assert fired == 195 + 4 * 60


def test_the_cap_leaves_the_rest_for_the_next_visit():
    of = schedule({"rate": 1})
    found = visit(of, first_due(UID, of, NOW), cap=10)
    assert len(found.fire) == 10
    assert found.next.scheduled_for == NOW + timedelta(seconds=11)
    assert visit(of, found.next, cap=10).fire[0] == found.next


@pytest.mark.parametrize("outage", [timedelta(minutes=101), timedelta(days=400)])
def test_b42_any_number_of_missed_starts_is_planned_at_once(outage, monkeypatch):
    of = schedule("* * * * *")
    asked = Counter()
    count, after = Schedule.count, Schedule.next_after
    monkeypatch.setattr(Schedule, "count", lambda *a: asked.update(["count"]) or count(*a))
    monkeypatch.setattr(Schedule, "next_after", lambda *a: asked.update(["after"]) or after(*a))
    current = first_due(UID, of, NOW - outage)
    minutes = int(outage.total_seconds()) // 60
    for misfire in POLICIES:
        found = visit(of, current, misfire=misfire)
        late = found.missed.count if found.missed else 0
        assert late + sum(due.due < NOW - timedelta(seconds=90) for due in found.fire) <= minutes
    assert asked.total() < 400


def test_b42_run_once_runs_the_latest_missed_under_its_own_time(at):
    of = schedule("* * * * *")
    found = visit(of, first_due(UID, of, NOW - timedelta(days=400)))
    assert found.fire[0] == at_once(at("2026-11-29T09:58:00Z"))
    assert found.missed == Missed(
        at("2025-10-25T10:01:00Z"), at("2026-11-29T09:57:00Z"), 575_997, "run_once"
    )
    assert times(found.fire[1:]) == ["29 09:59:00", "29 10:00:00", "29 10:01:00", "29 10:02:00",
                                     "29 10:03:00"]  # fmt: skip


def test_b42_skip_goes_to_the_next_slot(at):
    of = schedule("0 * * * *")
    found = visit(of, at_once(at("2026-11-20T00:00:00Z")), misfire=parse_misfire("skip"),
                  now=at("2026-11-29T10:30:00Z"))  # fmt: skip
    assert found.fire == ()
    assert found.missed == Missed(
        at("2026-11-20T00:00:00Z"), at("2026-11-29T10:00:00Z"), 227, "skip"
    )
    assert found.next == at_once(at("2026-11-29T11:00:00Z"))


def test_one_late_occurrence_just_runs_by_run_once(at):
    current = at_once(at("2026-11-29T09:00:00Z"))
    found = visit(schedule("0 9 * * *"), current)
    assert (found.fire, found.missed) == ((current,), None)
    assert found.next == at_once(at("2026-11-30T09:00:00Z"))


def test_of_two_late_ones_the_second_runs_by_run_once(at):
    current = at_once(at("2026-11-29T08:00:00Z"))
    found = visit(schedule("0 * * * *"), current, now=at("2026-11-29T09:30:00Z"))
    assert times(found.fire) == ["29 09:00:00"]
    assert found.missed == Missed(current.scheduled_for, current.scheduled_for, 1, "run_once")


def test_late_counts_from_the_jittered_time(at):
    of = schedule({"cron": "0 * * * *", "jitter": "50m"})
    ten = at("2026-11-29T10:00:00Z")
    uid = next(f"u{n}" for n in range(99) if jittered(f"u{n}", ten, of).minute > 30)
    found = plan(uid=uid, schedule=of, misfire=parse_misfire("skip"), horizon=HORIZON,
                 current=first_due(uid, of, ten - timedelta(hours=3)),
                 now=jittered(uid, ten, of) + timedelta(seconds=90))  # fmt: skip
    assert [due.scheduled_for for due in found.fire][:1] == [ten]
    assert found.missed.last == ten - timedelta(hours=1)
    assert found.missed.count == 2


def test_b43_run_all_is_capped_and_spread_and_says_what_it_dropped(at):
    of = schedule({"rate": 60, "start": "2026-11-01T00:00:00Z"})
    misfire = parse_misfire({"policy": "run_all", "window": "6h", "cap": 100})
    now, fired, dropped, visits = NOW, [], 0, 0
    current = first_due(UID, of, NOW - timedelta(days=14))
    begun = current.scheduled_for
    while visits < 20 and current.due < now - timedelta(seconds=90):
        found = visit(of, current, now=now, misfire=misfire)
        late = [d for d in found.fire if d.due < now - timedelta(seconds=90)]
        assert len(late) <= 100
        fired += found.fire
        dropped += found.missed.count if found.missed else 0
        current, now, visits = found.next, now + timedelta(seconds=60), visits + 1
    assert 4 <= visits <= 6
    assert [d.due for d in fired] == sorted(d.due for d in fired)
    assert dropped > 13 * 1440
    assert len(fired) + dropped == of.count(begun - timedelta(seconds=1), fired[-1].scheduled_for)


def test_run_all_fires_nothing_younger_while_something_late_is_left(at):
    of = schedule("* * * * *")
    misfire = parse_misfire({"policy": "run_all", "window": "2h", "cap": 3})
    found = visit(of, at_once(at("2026-11-29T09:00:00Z")), misfire=misfire)
    assert times(found.fire) == ["29 09:00:00", "29 09:01:00", "29 09:02:00"]
    assert found.next == at_once(at("2026-11-29T09:03:00Z"))
    assert found.missed is None


def test_run_all_without_a_window_goes_back_a_day(at):
    of = schedule("0 * * * *")
    found = visit(of, at_once(at("2026-11-20T00:00:00Z")), misfire=parse_misfire("run_all"))
    assert found.missed.last == at("2026-11-28T10:00:00Z")
    assert found.fire[0].scheduled_for == at("2026-11-28T11:00:00Z")
    assert len(found.fire) == 24


def test_b44_lateness_equal_to_the_grace_still_runs(at):
    misfire = parse_misfire({"policy": "skip", "grace": 90})
    current = at_once(at("2026-11-29T10:00:00Z"))
    hourly = schedule("0 * * * *")
    on_time = visit(hourly, current, now=at("2026-11-29T10:01:30Z"), misfire=misfire)
    assert (on_time.fire, on_time.missed) == ((current,), None)
    late = visit(hourly, current, now=at("2026-11-29T10:01:31Z"), misfire=misfire)
    assert late.fire == ()
    assert late.missed == Missed(current.scheduled_for, current.scheduled_for, 1, "skip")


@pytest.mark.parametrize(
    ("policy", "fires", "missed"), [("run_once", 1, 0), ("run_all", 1, 0), ("skip", 0, 1)]
)
def test_b45_a_single_occurrence_missed_runs_or_is_recorded(at, policy, fires, missed):
    once = schedule({"at": "2026-11-29T09:30:00Z"}, at("2026-11-29T09:00:00Z"))
    found = visit(once, at_once(at("2026-11-29T09:30:00Z")), misfire=parse_misfire(policy))
    assert len(found.fire) == fires
    assert (found.missed.count if found.missed else 0) == missed
    assert found.next is None


def test_b46_a_job_that_has_run_does_not_run_again_when_the_tick_comes_back(at):
    of = schedule("1 11 * * *")
    ran = visit(of, at_once(at("2026-11-29T11:01:00Z")), now=at("2026-11-29T11:00:00Z"))
    assert len(ran.fire) == 1
    assert visit(of, ran.next, now=at("2026-11-29T11:30:00Z")).fire == ()


def test_b47_an_edit_computes_from_the_moment_of_the_edit(at):
    edited = schedule("0 0 11 * *", at("2026-11-12T09:00:00Z"))
    assert first_due(UID, edited, at("2026-11-12T09:00:00Z")) == at_once(at("2026-12-11T00:00:00Z"))


def test_b49_what_fell_into_a_pause_is_paused_and_not_run(at):
    of = schedule("0 2 * * *")
    current, resumed = at_once(at("2026-11-29T02:00:00Z")), at("2026-11-29T07:49:00Z")
    over = passed_over(of, current, resumed, policy="run_once", reason="paused")
    assert over == Missed(current.scheduled_for, current.scheduled_for, 1, "run_once", "paused")
    assert first_due(UID, of, resumed) == at_once(at("2026-11-30T02:00:00Z"))


@pytest.mark.parametrize("microseconds", [-1, 0, 1])
def test_b49_the_instant_at_the_boundary_is_neither_lost_nor_doubled(at, microseconds):
    of = schedule("0 2 * * *")
    two = at("2026-11-29T02:00:00Z")
    resumed = two + timedelta(microseconds=microseconds)
    over = passed_over(of, at_once(two), resumed, policy="skip", reason="paused")
    following = first_due(UID, of, resumed)
    paused_over = over is not None and over.last == two
    assert paused_over != (following.scheduled_for == two)


def test_a_long_pause_is_one_entry(at):
    of = schedule("*/5 * * * *")
    over = passed_over(of, at_once(at("2025-11-29T02:00:00Z")), NOW, policy="skip", reason="paused")
    assert over.count == 105_217
    assert over.last == at("2026-11-29T10:00:00Z")
    assert passed_over(of, None, NOW, policy="skip", reason="paused") is None


def test_b50_jitter_is_added_once_and_every_occurrence_runs_once(at):
    of = schedule({"cron": "0 * * * *", "jitter": 120})
    start = at("2026-11-01T00:00:00Z")
    hours = [start + timedelta(hours=n) for n in range(48)]
    offsets = Counter()
    for n in range(1_000):
        uid = f"job{n:05d}"
        current, fired = first_due(uid, of, start - timedelta(seconds=1)), []
        while current.scheduled_for <= hours[-1]:
            now = current.due - timedelta(seconds=n % 195)
            found = plan(uid=uid, schedule=of, misfire=Misfire(), current=current, now=now,
                         horizon=HORIZON)  # fmt: skip
            assert found.missed is None
            fired += found.fire
            current = found.next
        assert [due.scheduled_for for due in fired] == hours
        offsets.update((due.due - due.scheduled_for).seconds for due in fired)
    assert set(offsets) == set(range(121))
    assert max(offsets.values()) < 2 * min(offsets.values())


def test_the_stored_due_time_of_the_current_occurrence_stands(at):
    of = schedule({"cron": "0 * * * *", "jitter": 120})
    current = Due(at("2026-11-29T10:00:00Z"), at("2026-11-29T10:01:59Z"))
    found = visit(of, current)
    assert found.fire == (current,)
    assert found.next.scheduled_for == at("2026-11-29T11:00:00Z")


def test_max_runs_counts_what_fired_and_then_ends(at):
    of = replace(schedule("* * * * *"), max_runs=5)
    first = visit(of, at_once(at("2026-11-29T10:00:00Z")), runs_planned=2)
    assert len(first.fire) == 3
    assert (first.next, first.runs_planned) == (None, 5)
    after = visit(of, at_once(at("2026-11-29T10:00:00Z")), runs_planned=5)
    assert (after.fire, after.next, after.runs_planned) == ((), None, 5)


def test_missed_occurrences_use_up_no_run(at):
    of = replace(schedule("* * * * *"), max_runs=2)
    found = visit(of, at_once(at("2026-11-29T08:00:00Z")))
    assert times(found.fire) == ["29 09:58:00", "29 09:59:00"]
    assert found.missed.count == 118
    assert found.next is None


def test_a_schedule_that_ends_has_no_next(at):
    of = schedule({"cron": "* * * * *", "end": "2026-11-29T10:02:00Z"})
    found = visit(of, at_once(at("2026-11-29T10:01:00Z")))
    assert times(found.fire) == ["29 10:01:00", "29 10:02:00"]
    assert found.next is None


@settings(max_examples=150, derandomize=True, deadline=None)
@given(data=st.data())
def test_every_occurrence_is_fired_once_or_counted_once(data):
    """Any outages, any policy, any jitter: nothing is lost, doubled, reordered or drifts."""
    of = schedule(
        {
            "cron": data.draw(st.sampled_from(["*/3 * * * *", "30 1 * * *", "*/20 0,1 * * *"])),
            "timezone": data.draw(st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"])),
            "jitter": data.draw(st.sampled_from([0, 30, 400])),
        }
    )
    policy = data.draw(st.sampled_from(["run_once", "skip", "run_all"]))
    misfire = parse_misfire({"policy": policy, "cap": 4} if policy == "run_all" else policy)
    begun = datetime.fromisoformat("2026-10-31T20:00:00Z")
    now, current = begun, first_due(UID, of, begun)
    fired, counted = [], 0
    for _ in range(data.draw(st.integers(1, 25))):
        now += timedelta(seconds=data.draw(st.sampled_from([-30, 20, 60, 61, 3_600, 90_000])))
        found = visit(of, current, now=now, misfire=misfire)
        assert all(due.due <= now + HORIZON for due in found.fire)
        assert found.next.due >= current.due
        if found.missed:
            counted += found.missed.count
            assert of.contains(found.missed.first)
            assert of.contains(found.missed.last)
            assert jittered(UID, found.missed.last, of) < now - timedelta(seconds=90)
        fired += found.fire
        current = found.next
    instants = [due.scheduled_for for due in fired]
    assert instants == sorted(set(instants))
    assert all(of.contains(instant) for instant in instants)
    upto = current.scheduled_for - timedelta(seconds=1)
    assert len(fired) + counted == of.count(begun, upto)
