"""A time zone's rules change under a job: what moves, what stands, and that nothing fires twice."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cronce.domain.calendar import Calendar
from cronce.domain.misfire import Misfire
from cronce.domain.plan import Due, first_due, plan
from cronce.domain.replan import MARGIN, is_outdated, moved, settled, taken_up
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.domain.stamps import Stamp, stamp_for
from cronce.domain.zones import load_zone, tzdata_version
from support.zonedata import Rules, release

ZONE = "Test/City"
HOUR = 3_600
START = datetime(2026, 11, 30, tzinfo=UTC)
CHANGE = datetime(2026, 12, 3, tzinfo=UTC)
HORIZON = timedelta(seconds=195)
OLD: Rules = [(None, HOUR)]
EAST: Rules = [(None, HOUR), (CHANGE, 2 * HOUR)]
WEST: Rules = [(None, HOUR), (CHANGE, 0)]

Data = Callable[[str, Rules], AbstractContextManager[None]]


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Data]:
    def installed(version: str, rules: Rules) -> AbstractContextManager[None]:
        return release(tmp_path, version, {ZONE: rules})

    yield installed
    assert tzdata_version()[:4] != "2099"


def schedule(document: dict[str, Any], now: datetime = START) -> Schedule:
    return parse_schedule({"timezone": ZONE, **document}, now=now)


def planned(data: Data, document: dict[str, Any], after: datetime) -> tuple[Due, Stamp]:
    """The next occurrence by the old rules."""
    with data("2099a", OLD):
        found = schedule(document)
        due = first_due("uid", found, after)
        assert due is not None
        return due, stamp_for(found, due)


def again(
    data: Data, rules: Rules, document: dict[str, Any], current: Due, stamp: Stamp, now: datetime
) -> datetime | None:
    """Where the new rules put it."""
    with data("2099b", rules):
        then = moved(
            uid="uid",
            schedule=schedule(document),
            stamp=stamp,
            current=current,
            until=settled(now, HORIZON),
        )
    return then.scheduled_for if then else None


def test_the_data_of_a_test_is_data(data: Data) -> None:
    with data("2099b", EAST):
        assert tzdata_version() == "2099b"
        noon = CHANGE.replace(hour=12)
        assert noon.astimezone(load_zone(ZONE)).hour == 14
        assert (CHANGE - timedelta(seconds=1)).astimezone(load_zone(ZONE)).hour == 0
    with data("2099a", OLD):
        assert noon.astimezone(load_zone(ZONE)).hour == 13


def test_a_stamp_says_which_wall_time_was_meant(data: Data) -> None:
    due, stamp = planned(data, {"cron": "0 9 * * *"}, CHANGE)
    assert due.scheduled_for == CHANGE.replace(hour=8)
    assert stamp == Stamp("2099a", HOUR)
    with data("2099a", OLD):
        assert stamp_for(schedule({"rate": "5m"}), due) == Stamp("2099a")


@pytest.mark.parametrize(("rules", "hour"), [(EAST, 7), (WEST, 9), (OLD, 8)])
@pytest.mark.parametrize(
    "document",
    [{"cron": "0 9 * * *"}, {"cron": "0 9 3 12 *"}, {"at": "2026-12-03T09:00:00"}],
    ids=["daily", "yearly", "at"],
)
def test_a_wall_time_goes_where_it_is_now(
    data: Data, document: dict[str, Any], rules: Rules, hour: int
) -> None:
    due, stamp = planned(data, document, CHANGE)
    assert again(data, rules, document, due, stamp, START) == CHANGE.replace(hour=hour)


def test_wall_times_one_shift_apart_are_told_apart(data: Data) -> None:
    """08:00Z is 09:00 by the old rules and 08:00 by the new ones, and both are in the schedule."""
    document = {"cron": "0 8,9,10 * * *"}
    due, stamp = planned(data, document, CHANGE.replace(hour=7))
    assert due.scheduled_for == CHANGE.replace(hour=8)
    assert again(data, WEST, document, due, stamp, START) == CHANGE.replace(hour=9)


@pytest.mark.parametrize("rules", [EAST, WEST])
@pytest.mark.parametrize(
    "document",
    [
        {"cron": "*/20 * * * *"},
        {"cron": "0 * * * *"},
        {"rate": "90m"},
        {"at": "2026-12-03T09:00:00+01:00"},
    ],
)
def test_what_follows_elapsed_time_stays(
    data: Data, document: dict[str, Any], rules: Rules
) -> None:
    due, stamp = planned(data, document, CHANGE.replace(hour=5))
    assert again(data, rules, document, due, stamp, START) == due.scheduled_for


def test_every_second_hour_goes_on_from_where_it_is(data: Data) -> None:
    document = {"cron": "0 */2 * * *"}
    due, stamp = planned(data, document, CHANGE.replace(hour=6))
    assert due.scheduled_for == CHANGE.replace(hour=7)
    assert again(data, WEST, document, due, stamp, START) == CHANGE.replace(hour=8)


def test_without_the_offset_the_instant_counts(data: Data) -> None:
    document = {"cron": "0 9 * * *"}
    due, _ = planned(data, document, CHANGE)
    then = again(data, WEST, document, due, Stamp("2099a"), START)
    assert then == CHANGE.replace(hour=9)


def test_nothing_moves_that_may_have_been_dispatched(data: Data) -> None:
    document = {"cron": "0 9 * * *"}
    due, stamp = planned(data, document, CHANGE)
    edge = due.scheduled_for - HORIZON - MARGIN
    assert again(data, WEST, document, due, stamp, edge) == due.scheduled_for
    before = edge - timedelta(seconds=1)
    assert again(data, WEST, document, due, stamp, before) == CHANGE.replace(hour=9)


def test_nothing_moves_to_where_something_may_have_been_dispatched(data: Data) -> None:
    document = {"cron": "0 9 * * *"}
    due, stamp = planned(data, document, CHANGE)
    late = CHANGE.replace(hour=7, minute=30)
    assert again(data, EAST, document, due, stamp, late) == due.scheduled_for


def test_an_end_that_the_new_instant_lies_behind(data: Data) -> None:
    document = {"cron": "0 9 * * *", "end": "2026-12-03T08:30:00Z"}
    due, stamp = planned(data, document, CHANGE)
    assert again(data, WEST, document, due, stamp, START) is None


def test_same_data_is_not_outdated(data: Data) -> None:
    with data("2099a", OLD):
        found = schedule({"cron": "0 9 * * *"})
        assert not is_outdated(found, stamp_for(found, None))
    with data("2099b", OLD):
        assert is_outdated(schedule({"cron": "0 9 * * *"}), Stamp("2099a", HOUR))
        assert not is_outdated(schedule({"rate": "5m"}), Stamp("2099a"))


# --- a whole week


def wall_times(
    data: Data, document: dict[str, Any], rules: Rules, upgraded: datetime, *, replan: bool
) -> list[datetime]:
    """What fires within a week, as the local times that were meant: a tick a minute, another
    release from `upgraded` on."""
    fired: list[datetime] = []
    current, stamp = planned(data, document, START)
    at = START
    for version, these, until in (
        ("2099a", OLD, upgraded),
        ("2099b", rules, START + timedelta(days=7)),
    ):
        with data(version, these):
            found = schedule(document)
            if version == "2099b" and replan:
                then = moved(
                    uid="uid",
                    schedule=found,
                    stamp=stamp,
                    current=current,
                    until=settled(at, HORIZON),
                )
                assert then is not None
                if then != current:
                    current, stamp = then, stamp_for(found, then)
            while at < until:
                at = max(at + timedelta(minutes=1), current.due - HORIZON)
                if at >= until:
                    at = until
                    break
                view, start = taken_up(
                    uid="uid", schedule=found, stamp=stamp, current=current, changed=None
                )
                assert start == current
                p = plan(
                    uid="uid",
                    schedule=view,
                    misfire=Misfire(),
                    current=start,
                    now=at,
                    horizon=HORIZON,
                )
                assert p.missed is None
                assert p.next is not None
                for n, due in enumerate(p.fire):
                    offset = stamp.offset if n == 0 else _offset(found, due)
                    assert offset is not None
                    fired.append(due.scheduled_for + timedelta(seconds=offset))
                if p.next != current:
                    current, stamp = p.next, stamp_for(found, p.next)
    return fired


def _offset(found: Schedule, due: Due) -> int | None:
    return stamp_for(found, due).offset


def expected(document: dict[str, Any], data: Data) -> list[datetime]:
    with data("2099a", OLD):
        found, at, times = schedule(document), START, []
        while (at := found.next_after(at) or START) < START + timedelta(days=6, hours=20):
            times.append(at + timedelta(seconds=HOUR))
    return times


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rules", [EAST, WEST], ids=["east", "west"])
def test_upgraded_in_time_each_wall_time_fires_once(data: Data, rules: Rules, seed: int) -> None:
    rng = Random(seed)
    hours = sorted(rng.sample(range(2, 24), rng.randint(1, 6)))
    document = {"cron": f"{rng.choice((0, 10, 55))} {','.join(map(str, hours))} * * *"}
    upgraded = START + timedelta(minutes=rng.randint(1, 2 * 24 * 60))
    fired = wall_times(data, document, rules, upgraded, replan=True)
    assert len(fired) == len(set(fired))
    wanted = expected(document, data)
    assert fired[: len(wanted)] == wanted


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("replan", [True, False], ids=["replan", "tick-alone"])
@pytest.mark.parametrize("rules", [EAST, WEST], ids=["east", "west"])
def test_upgraded_too_late_no_wall_time_fires_twice(
    data: Data, seed: int, rules: Rules, replan: bool
) -> None:
    """The rules changed before the upgrade came: old instants stand until it is there. Where the
    clocks went forward, wall times that lie in the past by then meet at one instant."""
    rng = Random(seed)
    hours = sorted(rng.sample(range(2, 24), rng.randint(1, 8)))
    document = {"cron": f"{rng.choice((0, 10, 55))} {','.join(map(str, hours))} * * *"}
    upgraded = CHANGE + timedelta(minutes=rng.randint(1, 2 * 24 * 60))
    fired = wall_times(data, document, rules, upgraded, replan=replan)
    assert len(fired) == len(set(fired))
    wanted = expected(document, data)
    assert set(wanted) >= set(fired[: len(wanted) - 1])
    if rules is WEST:
        assert fired[: len(wanted)] == wanted
    else:
        assert len(set(wanted) - set(fired)) <= 1


# --- calendars


CLOSED = Calendar(dates=frozenset({20_790}))  # 3 December 2026


def with_calendar(version: int, content: Calendar = CLOSED) -> Schedule:
    named = content.named("closed", version)
    return parse_schedule({"cron": "0 9 * * *", "calendar": "closed"}, now=START, calendar=named)


def test_a_calendar_counts_from_its_change_on() -> None:
    old = with_calendar(1, Calendar(dates=frozenset({1})))
    due = first_due("uid", old, CHANGE)
    assert due is not None
    assert due.scheduled_for == CHANGE.replace(hour=9)
    stamp = stamp_for(old, due)
    new = with_calendar(2)
    asked: dict[str, Any] = {"uid": "uid", "schedule": new, "stamp": stamp, "current": due}
    long_before = settled(CHANGE - timedelta(hours=9), HORIZON)
    then = moved(**asked, until=long_before)
    assert then is not None
    assert then.scheduled_for == CHANGE.replace(day=4, hour=9)
    assert taken_up(**asked, changed=long_before) == (new, then)
    just_now = due.scheduled_for - timedelta(seconds=10)
    assert taken_up(**asked, changed=settled(just_now, HORIZON)) == (new, due)
    assert moved(**asked, until=settled(just_now, HORIZON)) == due


def test_a_day_that_is_open_again_fires_from_the_change_on() -> None:
    old = with_calendar(1)
    due = first_due("uid", old, CHANGE)
    assert due is not None
    assert due.scheduled_for == CHANGE.replace(day=4, hour=9)
    new = with_calendar(2, Calendar(dates=frozenset({1})))
    then = moved(
        uid="uid",
        schedule=new,
        stamp=stamp_for(old, due),
        current=due,
        until=settled(START, HORIZON),
    )
    assert then is not None
    assert then.scheduled_for == START.replace(hour=9)


def test_the_hole_hides_from_every_question() -> None:
    found = parse_schedule({"cron": "0 * * * *"}, now=START)
    low, high = START.replace(hour=3), START.replace(hour=6)
    holed = found.without(low, high)
    every = [START.replace(hour=h) for h in range(1, 12)]
    kept = [at for at in every if not low < at <= high]
    at, seen = START, []
    while (at := holed.next_after(at) or START) <= every[-1]:
        seen.append(at)
    assert seen == kept
    for asked in every:
        before = [k for k in kept if k <= asked]
        assert holed.latest_at_or_before(asked, not_before=every[0]) == before[-1]
        assert holed.count(START, asked) == len(before)
        assert holed.contains(asked) == (asked in kept)
