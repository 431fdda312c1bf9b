"""Instants, written short."""

from collections.abc import Callable
from datetime import datetime

import pytest


@pytest.fixture(scope="session")
def at() -> Callable[[str], datetime]:
    return datetime.fromisoformat
