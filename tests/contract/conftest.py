from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from support.dynamodb_local import client, dynamodb_local
from support.stores import Engine, memory_engine, moto_client, table_engine

__all__ = ["dynamodb_local"]


@pytest.fixture(scope="module")
def moto_table() -> Iterator[Any]:
    with mock_aws():
        yield moto_client()


@pytest.fixture(scope="session")
def local_table(dynamodb_local: str) -> Any:
    return client(dynamodb_local)


def build(request: pytest.FixtureRequest) -> Engine:
    if request.param == "memory":
        return memory_engine()
    return table_engine(request.param, request.getfixturevalue(f"{request.param}_table"))


@pytest.fixture(params=["memory", "moto", "local"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """One store at a time, empty."""
    return build(request)


@pytest.fixture(params=["moto", "local"])
def table(request: pytest.FixtureRequest) -> Engine:
    """The store over DynamoDB: what can only be seen, or go wrong, on the wire."""
    return build(request)


@pytest.fixture(params=["memory", "local"])
def racing(request: pytest.FixtureRequest) -> Engine:
    """The engines that keep conditions under contention; moto loses updates."""
    return build(request)
