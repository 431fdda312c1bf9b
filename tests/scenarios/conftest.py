from collections.abc import Callable

import pytest

from support.stage import Stage, stages

__all__ = ["stages"]


@pytest.fixture
def stage(stages: Callable[..., Stage]) -> Stage:
    return stages()
