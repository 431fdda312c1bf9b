from typing import Any

import pytest

from support.dynamodb_local import client, dynamodb_local
from support.stores import Engine, table_engine

__all__ = ["dynamodb_local"]


@pytest.fixture(scope="session")
def local_client(dynamodb_local: str) -> Any:
    return client(dynamodb_local)


@pytest.fixture
def local(local_client: Any) -> Engine:
    """An empty table in the engine that counts units as AWS does."""
    return table_engine("local", local_client)
