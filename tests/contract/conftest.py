from collections.abc import Iterator

import pytest

from support.dynamodb_local import dynamodb_local
from support.stores import Engine, local_engine, memory_engine, moto_engine

__all__ = ["dynamodb_local"]


@pytest.fixture(params=["memory", "moto", "local"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One store at a time, empty."""
    if request.param == "memory":
        yield memory_engine()
    elif request.param == "moto":
        with moto_engine() as engine:
            yield engine
    else:
        yield local_engine(request.getfixturevalue("dynamodb_local"))
