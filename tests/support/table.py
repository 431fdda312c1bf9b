"""The table as the construct builds it, made through the API of any engine."""

from typing import Any

from cronce.adapters.layout import INDEXES, PK, SK, Index


def create_table(client: Any, name: str = "cronce") -> str:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": n, "AttributeType": kind} for n, kind in _key_kinds().items()
        ],
        KeySchema=_keys(PK, SK),
        GlobalSecondaryIndexes=[
            {
                "IndexName": index.name,
                "KeySchema": _keys(index.partition, index.sort),
                "Projection": _projection(index),
            }
            for index in INDEXES
        ],
    )
    return name


def _key_kinds() -> dict[str, str]:
    kinds: dict[str, str] = {PK: "S", SK: "S"}
    for index in INDEXES:
        kinds |= zip((index.partition, index.sort), index.kinds, strict=True)
    return kinds


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def _projection(index: Index) -> dict[str, Any]:
    if not index.include:
        return {"ProjectionType": "KEYS_ONLY"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.include)}
