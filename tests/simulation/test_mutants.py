"""The judge can see: with one guard taken out of the shipped modules, it finds what then breaks."""

from __future__ import annotations

import os
from multiprocessing import get_context

import pytest

from simulation.mutants import MUTANTS, hunt
from simulation.test_simulation import SEEDS


@pytest.fixture(scope="module")
def caught() -> dict[str, str | None]:
    """What the first seed that catches each mutant says; None for one that escapes."""
    with get_context("fork").Pool(os.cpu_count() or 1) as pool:
        found = pool.starmap(hunt, [(name, SEEDS) for name in MUTANTS], chunksize=1)
    return dict(zip(MUTANTS, found, strict=True))


@pytest.mark.parametrize("name", MUTANTS)
def test_is_caught(name: str, caught: dict[str, str | None]) -> None:
    assert caught[name] is not None, f"{name} was not caught in {len(SEEDS)} seeds"


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 15
