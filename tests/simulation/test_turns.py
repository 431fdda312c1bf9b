"""Turns, backfills and groups in the simulation: no rule is broken, and each guard is needed."""

from __future__ import annotations

from collections import Counter

import pytest

from .turn_mutants import MUTANTS, alive
from .turns import PROFILES, Outcome, simulate_turns

SEEDS = 2 * len(PROFILES)
# Within so many each mutant must have shown itself.
PATIENCE = 30


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [simulate_turns(seed) for seed in range(SEEDS)]


def test_no_rule_is_broken(outcomes: list[Outcome]) -> None:
    assert [(o.seed, str(broken)) for o in outcomes for broken in o.broken] == []


def test_the_rules_had_something_to_look_at(outcomes: list[Outcome]) -> None:
    assert {o.profile for o in outcomes} == set(PROFILES)
    assert all(o.executions > 20 for o in outcomes)
    assert sum(o.lines for o in outcomes) > 200
    backfills: Counter[str] = sum((o.backfills for o in outcomes), Counter())
    assert backfills["done"] > 10
    assert sum(len(o.handed) for o in outcomes) > 20


def test_a_seed_is_one_story() -> None:
    one, two = (simulate_turns(4) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("name", MUTANTS)
def test_each_guard_is_needed(name: str) -> None:
    with alive(name):
        assert any(simulate_turns(seed).broken for seed in range(PATIENCE))
