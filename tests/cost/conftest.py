from collections.abc import Callable
from typing import Any

import pytest

from cronce.adapters.wire import Item, encode_item
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


@pytest.fixture
def load(local: Engine) -> Callable[[list[Item]], None]:
    """Puts rows there, past the store."""

    def put(items: list[Item]) -> None:
        for start in range(0, len(items), 25):
            requests = [
                {"PutRequest": {"Item": encode_item(item)}} for item in items[start : start + 25]
            ]
            local.client.batch_write_item(RequestItems={local.table: requests})

    return put
