"""The oldest row of the to-do index, read without anything that the dispatcher is made of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce.adapters.aws_errors import answered
from cronce.adapters.expressions import key_of
from cronce.adapters.items import LEASE_SK, lease_pk
from cronce.adapters.layout import NEXT_RUN
from cronce.domain.instants import from_wire


class OldestDue:
    """One query of one row for each shard.

    shards: the deployment's number. Where the table's is larger that one counts: rows still lie in
    shards that a deployment with fewer of them knows nothing of.
    """

    def __init__(self, client: Any, table: str, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def read(self) -> datetime | None:
        """The earliest `next_run` of all shards; None when the index is empty.

        Raises Unavailable, and ValueError for a row whose time cannot be read: it would hide
        whatever lies behind it.
        """
        found = [at for shard in range(self._count()) if (at := self._first(shard)) is not None]
        return min(found, default=None)

    def _count(self) -> int:
        with answered("GetItem"):
            answer = self._client.get_item(
                TableName=self._table,
                Key=key_of(lease_pk(0), LEASE_SK),
                ProjectionExpression="#shards",
                ExpressionAttributeNames={"#shards": "shards"},
            )
        stored = answer.get("Item", {}).get("shards", {}).get("N", "0")
        return max(self._shards, int(stored))

    def _first(self, shard: int) -> datetime | None:
        with answered("Query"):
            answer = self._client.query(
                TableName=self._table,
                IndexName=NEXT_RUN.name,
                KeyConditionExpression="#shard = :shard",
                ExpressionAttributeNames={
                    "#shard": NEXT_RUN.partition,
                    "#next_run": NEXT_RUN.sort,
                },
                ExpressionAttributeValues={":shard": {"N": str(shard)}},
                ProjectionExpression="#next_run",
                Limit=1,
            )
        return next((from_wire(row[NEXT_RUN.sort]["S"]) for row in answer["Items"]), None)
