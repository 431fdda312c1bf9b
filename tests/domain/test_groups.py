"""The starts of a group: never too many in a second, in order, no later than need be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from cronce.domain.errors import Invalid
from cronce.domain.groups import MOST_STRETCHES, Group, parse_rate, rate_text, spread

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def given(dues: list[datetime], group: Group, now: datetime = NOW) -> list[datetime]:
    starts, _ = spread(dues, group, now)
    return [start or max(due, now) for start, due in zip(starts, dues, strict=True)]


def most_in_a_second(starts: list[datetime]) -> int:
    """In any window of a second, its end not included."""
    ordered = sorted(starts)
    most, low = 0, 0
    for high, start in enumerate(ordered):
        while start - ordered[low] >= timedelta(seconds=1):
            low += 1
        most = max(most, high - low + 1)
    return most


def test_a_herd_is_spread_over_as_long_as_it_takes() -> None:
    starts = given([at(60)] * 5_000, Group("g", 50_000))
    assert starts == sorted(starts)
    assert (starts[0], starts[1]) == (at(60), at(60.02))
    assert starts[-1] == at(60 + 4_999 / 50)
    assert most_in_a_second(starts) == 50


def test_whoever_is_alone_starts_when_it_is_due() -> None:
    starts, group = spread([at(1), at(2), at(3.5)], Group("g", 1_000), NOW)
    assert starts == [None, None, None]
    assert len(group.busy) == 2
    assert group.version == 2


def test_what_is_overdue_starts_from_now_on() -> None:
    starts, _ = spread([at(-30), at(-20), at(-10)], Group("g", 2_000), NOW)
    assert starts == [None, at(0.5), at(1)]


def test_what_was_dispatched_ahead_is_in_nobodys_way() -> None:
    """A tick looks three minutes ahead; a job that is made now is due before that."""
    _, group = spread([at(180)] * 100, Group("g", 10_000), NOW)
    starts, _ = spread([at(30), at(30)], group, NOW)
    assert starts == [None, at(30.1)]


def test_a_gap_that_is_too_short_is_passed_over() -> None:
    _, group = spread([at(10), at(11.5)], Group("g", 1_000), NOW)
    starts, _ = spread([at(10)], group, NOW)
    assert starts == [at(12.5)]


def test_batches_follow_each_other() -> None:
    group = Group("g", 3_000)
    every: list[datetime] = []
    for _ in range(10):
        starts, group = spread([at(0)] * 7, group, NOW)
        every += [start or NOW for start in starts]
    assert every == sorted(every)
    assert most_in_a_second(every) == 3
    assert at(23) <= every[-1] <= at(23.1)


def test_what_has_passed_for_every_clock_is_forgotten() -> None:
    _, group = spread([at(0)] * 100, Group("g", 1_000), NOW)
    _, later = spread([at(500)], group, at(106))
    assert len(later.busy) == 1
    _, later = spread([at(500)], group, at(104))
    assert len(later.busy) == 2


def test_the_row_stays_small_and_the_limit_holds() -> None:
    rng = Random(1)
    group = Group("g", 20_000)
    every: list[datetime] = []
    for _ in range(30):
        dues = sorted(at(rng.uniform(0, 195)) for _ in range(100))
        starts, group = spread(dues, group, NOW)
        every += [start or due for start, due in zip(starts, dues, strict=True)]
        assert len(group.busy) <= MOST_STRETCHES
    assert most_in_a_second(every) <= 20
    assert list(group.busy) == sorted(group.busy)


@pytest.mark.parametrize("rate", [1, 333, 999, 1_000, 1_001, 2_500, 7_777, 333_333, 1_000_000])
def test_no_second_holds_more_than_the_rate(rate: int) -> None:
    starts = given([at(0.123)] * 3_000, Group("g", rate))
    assert most_in_a_second(starts) <= max(1, -(-rate // 1000))
    assert starts == sorted(starts)
    used = (starts[-1] - starts[0]).total_seconds()
    assert used <= 2_999 * 1000 / rate * 1.001 + 0.002


def test_a_lower_rate_counts_from_then_on() -> None:
    _, group = spread([at(0)] * 10, Group("g", 10_000), NOW)
    starts, _ = spread([at(0)] * 2, replace(group, per_thousand_seconds=1_000), NOW)
    assert starts == [at(1), at(2)]


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1", 1_000), ("0.001", 1), ("1000", 1_000_000), ("2.50", 2_500), ("1e1", 10_000)],
)
def test_rates_are_exact(text: str, rate: int) -> None:
    assert parse_rate(text) == rate
    assert parse_rate(rate_text(rate)) == rate


@pytest.mark.parametrize(
    "text", ["0", "-1", "1000.001", "0.0001", "1e9", "1e400", "NaN", "Infinity", "", "x", "1e-9999"]
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_rate(text)
    [fault] = refused.value.faults
    assert (fault.pointer, fault.code) == ("/max_starts_per_second", "out_of_range")
