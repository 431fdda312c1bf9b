"""A count that crashes between its writes, and is done again later over more: nothing is counted
twice, nothing is lost. The property over every crash point of several tries in a row."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from cronce.domain.identity import RunKey
from cronce.domain.plan import Missed
from cronce.domain.schedule import parse_schedule
from cronce.domain.transitions import Ending
from cronce.missed import record
from cronce.testing.driver import Driver
from cronce.testing.memory import MemoryStore

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
EVERY = 40
UID = "9ai262yx"
SCHEDULE = parse_schedule({"rate": EVERY}, now=AT, anchor=AT)
HISTORY = 30 * 86_400


def occurrence(n: int) -> datetime:
    return AT + timedelta(seconds=n * EVERY)


class Died(BaseException):
    pass


class Dying(MemoryStore):
    """Dies after so many writes of a count."""

    left: int | None = None

    def put_missed(self, *args: Any, **more: Any) -> None:
        super().put_missed(*args, **more)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Died


class Nobody:
    def execute(self, call: Any) -> Any:
        raise AssertionError("nothing runs here")


@pytest.fixture
def driver() -> Driver:
    driver = Driver(Nobody(), at=AT)
    store = Dying(driver.clock, shards=1)
    object.__setattr__(driver.ports, "store", store)
    driver.store = store
    return driver


def count(driver: Driver, last: int, left: int | None) -> None:
    assert isinstance(driver.store, Dying)
    driver.store.left = left
    missed = Missed(occurrence(1), occurrence(last), last, "run_once", "paused")
    with suppress(Died):
        record(driver.ports, "a", UID, SCHEDULE, missed, AT)
    driver.store.left = None


def begin(driver: Driver, *numbers: int) -> None:
    """Somebody else has recorded these; a row is a row, whatever it says."""
    for n in numbers:
        key = RunKey("a", UID, occurrence(n))
        driver.store.miss(key, key.scheduled_for, Ending("missed", "", HISTORY), now=AT)


def times_counted(driver: Driver, last: int) -> list[int]:
    rows = [row for row in driver.store.rows.all() if str(row["sk"]).startswith("MISSED#")]
    spans = [(row["first"], row["last"], row["count"]) for row in rows if row["count"]]
    names = [occurrence(n).strftime("%Y-%m-%dT%H:%M:%S.000Z") for n in range(1, last + 1)]
    for first, to, number in spans:
        assert number == sum(first <= name <= to for name in names), spans
    return [sum(first <= name <= to for first, to, _ in spans) for name in names]


@pytest.mark.parametrize("begun", [(1, 2, 3), (2,), (2, 5), (4, 5)])
def test_whatever_crashed_before_the_last_count_is_right(
    driver: Driver, begun: tuple[int, ...]
) -> None:
    for first, second in product(range(4), repeat=2):
        for row in driver.store.rows.all():
            driver.store.rows.delete(str(row["pk"]), str(row["sk"]))
        count(driver, 4, first)  # before anybody has begun
        begin(driver, *begun)
        count(driver, 7, second)
        count(driver, 14, None)
        expected = [int(n not in begun) for n in range(1, 15)]
        assert times_counted(driver, 14) == expected, (first, second)
