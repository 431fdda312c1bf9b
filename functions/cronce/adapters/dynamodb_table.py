"""The table as a few verbs: update, put, query, get, transact.

A failed condition is a value, Refusal, with the row that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from cronce.adapters.aws_errors import answered, code_of, reasons_of
from cronce.adapters.expressions import Delete, Put, Refusal, Update, key_of, placeholders
from cronce.adapters.layout import Index
from cronce.adapters.wire import Item, decode_item, encode_item
from cronce.domain.errors import Throttled, Unavailable
from cronce.ports import Clock, Random

T = TypeVar("T")

# Two writes on one row at the same moment: DynamoDB refuses one of them without looking at its
# condition. That says nothing about who is right, so the refused one asks again.
CONFLICT_TRIES = 6
UNPROCESSED_TRIES = 6
_CONFLICTS = frozenset({"TransactionConflict", "TransactionConflictException"})
_BUSY = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


class Table:
    """client: boto3's low-level DynamoDB client. Every method may raise Throttled, Unavailable."""

    def __init__(self, client: Any, name: str, clock: Clock, random: Random) -> None:
        self._client, self.name = client, name
        self._clock, self._random = clock, random

    def now(self) -> datetime:
        """By which what has expired is told from what has not."""
        return self._clock.now()

    def update(self, update: Update) -> Item | Refusal:
        """The row after it."""
        call = {"ReturnValues": "ALL_NEW", **update.request()}
        answer = self._written(self._client.update_item, "UpdateItem", call)
        return answer if isinstance(answer, Refusal) else decode_item(answer["Attributes"])

    def put(self, put: Put) -> Refusal | None:
        answer = self._written(self._client.put_item, "PutItem", put.request())
        return answer if isinstance(answer, Refusal) else None

    def put_own(self, put: Put) -> bool:
        """Whether our row is there: by this try, or by the one whose answer was lost."""
        refused = self.put(put)
        return refused is None or refused.found == put.item

    def transact(self, writes: Sequence[Update | Put | Delete]) -> list[Refusal | None] | None:
        """All or none. Of a refused one: for each write its Refusal, or None where it held.

        One token for all tries, so that a repeated transaction whose first try succeeded is a
        success, whatever the rows say by then.
        """
        token = self._random.token()[:36]
        items = [{type(w).__name__: {"TableName": self.name, **w.request()}} for w in writes]

        def once() -> list[Refusal | None] | None:
            try:
                self._client.transact_write_items(TransactItems=items, ClientRequestToken=token)
            except ClientError as e:
                if code_of(e) != "TransactionCanceledException":
                    raise
                return self._cancelled(e)
            return None

        return self._insisting("TransactWriteItems", once)

    def get(self, pk: str, sk: str) -> Item | None:
        """Consistent."""
        with answered("GetItem"):
            answer = self._client.get_item(
                TableName=self.name, Key=key_of(pk, sk), ConsistentRead=True
            )
        return decode_item(answer["Item"]) if answer.get("Item") else None

    def pages(
        self,
        key: str,
        values: Mapping[str, object],
        *,
        index: Index | None = None,
        consistent: bool = False,
        descending: bool = False,
        after: tuple[str, str] | None = None,
        filter_: str = "",
        limit: int | None = None,
    ) -> Iterator[list[Item]]:
        """Page by page, each fetched when asked for. The last page is the one without a key to go
        on from: an empty page, or a short one, may well be followed by others."""
        call: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": key,
            "ScanIndexForward": not descending,
            **placeholders((key, filter_), values),
        }
        if index is not None:
            call["IndexName"] = index.name
        if consistent:
            call["ConsistentRead"] = True
        if filter_:
            call["FilterExpression"] = filter_
        if limit is not None:
            call["Limit"] = limit
        if after is not None:
            call["ExclusiveStartKey"] = key_of(*after)
        while True:
            with answered("Query"):
                answer = self._client.query(**call)
            yield [decode_item(item) for item in answer.get("Items", [])]
            call["ExclusiveStartKey"] = answer.get("LastEvaluatedKey")
            if not call["ExclusiveStartKey"]:
                return

    def index_pages(
        self,
        index: Index,
        key: str,
        values: Mapping[str, object],
        *,
        after: Item | None,
        limit: int,
        descending: bool = False,
    ) -> Iterator[list[Item]]:
        """Pages of an index. key: empty for the whole index, in no order. after: the index's and
        the table's keys of the item to go on after. limit: items of a page."""
        call: dict[str, Any] = {
            "TableName": self.name,
            "IndexName": index.name,
            "Limit": limit,
            **placeholders((key,), values),
        }
        if key:
            call |= {"KeyConditionExpression": key, "ScanIndexForward": not descending}
        if after is not None:
            call["ExclusiveStartKey"] = encode_item(after)
        read = self._client.query if key else self._client.scan
        while True:
            with answered("Query" if key else "Scan"):
                answer = read(**call)
            yield [decode_item(item) for item in answer.get("Items", [])]
            call["ExclusiveStartKey"] = answer.get("LastEvaluatedKey")
            if not call["ExclusiveStartKey"]:
                return

    def get_many(self, keys: Sequence[tuple[str, str]]) -> list[Item]:
        """Up to 100 rows, eventually consistent, in no order. Raises Throttled when the table keeps
        handing keys back."""
        wanted = {self.name: {"Keys": [key_of(*k) for k in keys]}}
        found: list[Item] = []
        for n in range(UNPROCESSED_TRIES):
            with answered("BatchGetItem"):
                answer = self._client.batch_get_item(RequestItems=wanted)
            found += map(decode_item, answer.get("Responses", {}).get(self.name, []))
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return found
            self._pause(n)
        raise Throttled("BatchGetItem: keys left unprocessed")

    def _written(
        self, call: Callable[..., Any], name: str, request: dict[str, Any]
    ) -> dict[str, Any] | Refusal:
        def once() -> dict[str, Any] | Refusal:
            try:
                answer: dict[str, Any] = call(TableName=self.name, **request)
            except ClientError as e:
                if code_of(e) == "ConditionalCheckFailedException":
                    return _refusal(e.response)
                if code_of(e) in _CONFLICTS:
                    raise _Conflict from e
                raise
            return answer

        return self._insisting(name, once)

    def _insisting(self, name: str, once: Callable[[], T]) -> T:
        for n in range(CONFLICT_TRIES):
            try:
                with answered(name):
                    return once()
            except _Conflict:
                self._pause(n)
        raise Throttled(f"{name}: in conflict with other writes on the row")

    def _pause(self, n: int) -> None:
        self._clock.sleep(0.02 * 2**n * self._random.fraction())

    def _cancelled(self, e: ClientError) -> list[Refusal | None]:
        """Only a failed condition says that somebody else was first."""
        reasons = reasons_of(e)
        codes = {r.get("Code") for r in reasons}
        if "ConditionalCheckFailed" in codes:
            return [
                _refusal(r) if r.get("Code") == "ConditionalCheckFailed" else None for r in reasons
            ]
        if codes & (_CONFLICTS | _BUSY):
            raise _Conflict from e
        raise Unavailable(f"TransactWriteItems: {sorted(map(str, codes))}") from e


class _Conflict(Exception):
    """Not applied; to be tried again."""


def _refusal(answer: Mapping[str, Any]) -> Refusal:
    found = answer.get("Item")
    return Refusal(decode_item(found) if found else None)
