"""Everything here runs against a real ``cdk deploy`` on an emulator; see ``support.emulator``."""

from pathlib import Path

import pytest

from support.emulator import aws, client, deployment, hooks

__all__ = ["aws", "client", "deployment", "hooks"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
