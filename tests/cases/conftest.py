from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.stage import Stage


@pytest.fixture
def stages() -> Iterator[Callable[..., Stage]]:
    """Makes stages, and closes them."""
    made: list[Stage] = []

    def make(**choices: Any) -> Stage:
        made.append(Stage(**choices))
        return made[-1]

    yield make
    for stage in made:
        stage.close()
