from pathlib import Path

import pytest

from support.emulator import hooks

__all__ = ["hooks"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.upgrade)
