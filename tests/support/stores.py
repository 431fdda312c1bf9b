"""A store over each engine, and the raw rows behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4

import boto3

from cronce.adapters.dynamodb import DynamoStore
from cronce.adapters.wire import Item, decode_item, encode_item
from cronce.ports import Store
from cronce.testing.clock import SettableClock
from cronce.testing.memory import MemoryStore
from support.table import create_table

# Of the index, small enough that tests reach the next one.
PAGE = 4

NOW = datetime(2026, 11, 30, 10, 0, 0, 250_000, tzinfo=UTC)


class Rows(Protocol):
    """What lies in the table, past the store."""

    def get(self, pk: str, sk: str) -> Item | None: ...

    def put(self, item: Item) -> None: ...

    def all(self) -> list[Item]: ...


@dataclass
class Engine:
    """name: memory, moto or local. client: None for memory."""

    name: str
    store: Store
    rows: Rows
    clock: SettableClock
    client: Any = None
    table: str = ""

    def load(self, items: Sequence[Item]) -> None:
        """Many rows, past the store."""
        for start in range(0, len(items), 25):
            requests = [
                {"PutRequest": {"Item": encode_item(item)}} for item in items[start : start + 25]
            ]
            self.client.batch_write_item(RequestItems={self.table: requests})


class TableRows:
    def __init__(self, client: Any, table: str) -> None:
        self._client, self._table = client, table

    def get(self, pk: str, sk: str) -> Item | None:
        found = self._client.get_item(
            TableName=self._table, Key=encode_item({"pk": pk, "sk": sk}), ConsistentRead=True
        )
        return decode_item(found["Item"]) if "Item" in found else None

    def put(self, item: Mapping[str, object]) -> None:
        self._client.put_item(TableName=self._table, Item=encode_item(item))

    def all(self) -> list[Item]:
        pages = self._client.get_paginator("scan").paginate(TableName=self._table)
        items = [decode_item(item) for page in pages for item in page["Items"]]
        return sorted(items, key=lambda item: (str(item["pk"]), str(item["sk"])))


def memory_engine() -> Engine:
    clock = SettableClock(NOW)
    store = MemoryStore(clock, page=PAGE)
    return Engine("memory", store, store.rows, clock)


def table_engine(name: str, client: Any, plain: Any = None) -> Engine:
    """A table of its own in an engine that may hold others. plain: what makes the table and looks
    at its rows, where the store's own client is one that breaks."""
    plain = plain or client
    table = create_table(plain, f"cronce-{uuid4().hex[:12]}")
    clock = SettableClock(NOW)
    store = DynamoStore(client, table, clock=clock)
    store.page = PAGE
    return Engine(name, store, TableRows(plain, table), clock, client, table)


def moto_client(service: str = "dynamodb") -> Any:
    """Inside `mock_aws`."""
    return boto3.client(
        service,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
