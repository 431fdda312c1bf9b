"""Request units, as the engine counts them, by operation."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

READS = {"GetItem", "BatchGetItem", "Query"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}


@dataclass
class Meter:
    """calls: how many of each operation. units: what they were billed, indexes included."""

    calls: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)

    @property
    def wru(self) -> float:
        return sum(self.units[name] for name in WRITES)

    @property
    def rru(self) -> float:
        return sum(self.units[name] for name in READS)

    def add(self, operation: str, consumed: Any) -> None:
        each = consumed if isinstance(consumed, list) else [consumed]
        self.calls[operation] += 1
        self.units[operation] += sum(c["CapacityUnits"] for c in each if c)  # type: ignore[assignment]


@contextmanager
def metered(client: Any) -> Iterator[Meter]:
    """Every call of the client inside the block."""
    meter = Meter()

    def ask(params: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in READS | WRITES:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def note(parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.name in READS | WRITES:
            meter.add(model.name, parsed.get("ConsumedCapacity"))

    client.meta.events.register("provide-client-params.dynamodb", ask)
    client.meta.events.register("after-call.dynamodb", note)
    try:
        yield meter
    finally:
        client.meta.events.unregister("provide-client-params.dynamodb", ask)
        client.meta.events.unregister("after-call.dynamodb", note)
