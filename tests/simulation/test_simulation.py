"""The short form: what CI runs. The long one is `make simulate`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from simulation.kernel import Process
from simulation.report import Total, line, outcomes
from simulation.run import simulate

SEEDS = range(1, 501)


@pytest.fixture(scope="module")
def total() -> Total:
    total = Total()
    for outcome in outcomes(SEEDS, os.cpu_count() or 1):
        total.add(outcome)
    return total


def test_nothing_is_lost_or_doubled(total: Total) -> None:
    assert total.seeds == len(SEEDS)
    assert total.runs > 10 * total.seeds
    assert not total.shown, "\n".join(map(line, total.shown))


def test_every_call_meets_every_kind_of_trouble(total: Total) -> None:
    assert total.missing() == []


def test_recovery_was_measured(total: Total) -> None:
    assert {what for what, took in total.times.items() if len(took) > 20} == {
        "next attempt after a kill",
        "next attempt after a kill, in batches",
        "sent again after the next look",
        "start after due time",
    }


@pytest.mark.parametrize("seed", [4, 11, 29])
def test_a_seed_is_one_history(seed: int) -> None:
    assert list(_story(seed)) == list(_story(seed))


def _story(seed: int) -> Iterator[str]:
    told: list[str] = []

    def tell(now: int, process: Process, action: str, fields: dict[str, object]) -> None:
        told.append(f"{now} {process.name} {action} {fields}")

    simulate(seed, tell)
    return iter(told)
