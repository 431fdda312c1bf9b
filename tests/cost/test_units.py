"""What a run costs, in request units, counted by DynamoDB Local over the shipped tick and worker.

A few minutes are lived in memory, so that every kind of row is there as it is in the long run; its
rows then go into the table, and the minutes that follow are counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cronce.adapters.dispatch_items import PAGE
from cronce.adapters.wire import Item
from cronce.testing.memory import MemoryStore
from support.meter import Meter, metered
from support.minutes import Minutes, recurring
from support.stores import Engine, memory_engine, table_engine
from support.writes import WRITES

# Until a record written in the first of them is looked at: its runs are due 3 minutes later.
WARM = 7


@dataclass
class Measured:
    runs: int
    meter: Meter

    @property
    def wru(self) -> float:
        return self.meter.wru / self.runs

    @property
    def rru(self) -> float:
        return self.meter.rru / self.runs


def measure(
    local: Engine,
    schedule: Mapping[str, object] | str,
    *,
    jobs: int,
    payload: int = 0,
    minutes: int = 2,
) -> Measured:
    memory = memory_engine()
    deployment = Minutes(memory.store, memory.clock)
    for n in range(jobs):
        memory.store.create_job(*recurring(n, schedule, payload=payload))
    assert isinstance(memory.store, MemoryStore)
    for _ in range(WARM):
        deployment.minute()
    local.load(memory.rows.all())
    local.store.page = PAGE  # type: ignore[attr-defined]
    deployment.store = local.store
    with metered(local.client) as meter:
        runs = sum(deployment.minute() for _ in range(minutes))
    troubles = set(deployment.observer.actions) - {"tick", "claimed", "succeeded"}
    assert troubles == set()
    return Measured(runs, meter)


@pytest.fixture(scope="module")
def every_minute(local_client: Any) -> Measured:
    return measure(table_engine("local", local_client), "* * * * *", jobs=100)


def test_every_minute(every_minute: Measured) -> None:
    assert every_minute.runs == 200
    assert 4.9 <= every_minute.wru <= 5.2
    assert 1.0 <= every_minute.rru <= 1.6


def test_every_minute_step_by_step(every_minute: Measured) -> None:
    """The three writes of a run, and what it shares with the others of its record."""
    calls = every_minute.meter.calls
    runs, ticks = every_minute.runs, 2
    assert calls["Query"] == ticks * 16 + runs
    assert calls["BatchGetItem"] == ticks
    advances_claims_completions = 3 * runs
    leases = ticks * 2
    assert calls["UpdateItem"] == advances_claims_completions + leases
    assert calls["PutItem"] == ticks * 2


def test_every_ten_seconds_is_cheaper_by_the_visit(local: Engine) -> None:
    found = measure(local, {"rate": "10s"}, jobs=50, minutes=1)
    assert found.runs == 300
    assert 2.5 <= found.wru <= 2.8
    assert found.rru <= 1.6


@pytest.mark.parametrize("payload", [4 * 1024, 64 * 1024])
def test_payload_is_never_written_again(local: Engine, payload: int) -> None:
    with_payload = measure(local, "* * * * *", jobs=10, payload=payload)
    assert with_payload.runs == 20
    assert with_payload.meter.wru == measure_without(local)


def measure_without(local: Engine) -> float:
    for item in local.rows.all():
        key = {"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}}
        local.client.delete_item(TableName=local.table, Key=key)
    return measure(local, "* * * * *", jobs=10).meter.wru


# What a dispatcher's or a worker's write costs on rows as they usually are: 1 for the row, 1 for
# each entry of an index that is put or taken off (a moved one is both), all twice in a transaction.
PRICES = {
    "advance": 3,
    "advance-to-the-end": 2,
    "advance-stamped": 3,
    "set_error": 2,
    "put_missed": 2,
    "write_lock-first": 1,
    "write_lock": 1,
    "trigger": 6,
    "trigger-backfill": 2,
    "claim": 1,
    "take_over": 1,
    "renew": 1,
    "succeed": 1,
    "fail": 2,
    "lose": 2,
    "retry": 1,
    "retry-far": 2,
    "skip": 2,
    "miss": 2,
    "concede": 2,
    "cancel": 1,
    "redrive": 3,
    "dispatched": 2,
    "acquire_lease": 1,
    "note_claimed": 1,
    "put_record": 2,
    "update_record": 3,
    "update_record-to-the-end": 2,
}


@pytest.mark.parametrize("name", PRICES)
def test_price_of_each_write(local: Engine, name: str) -> None:
    write = next(w for w in WRITES if str(w) == name)
    write.before(local.store)
    with metered(local.client) as meter:
        assert write.done(write.call(local.store))
    assert meter.rru == 0
    assert meter.wru == PRICES[name]


def idle_tick(local: Engine, stored: int) -> Meter:
    """Jobs that are due some day, in all shards; one dispatcher looks."""
    rows: list[Item] = []
    memory = memory_engine()
    for n in range(stored):
        memory.store.create_job(*recurring(n, "0 0 1 1 *"))
    rows = [row for row in memory.rows.all() if row["sk"] == "JOB"]
    local.load(rows)
    deployment = Minutes(local.store, local.clock)
    with metered(local.client) as meter:
        report = deployment.tick()
    assert (report.led, report.finished, report.sent) == (True, True, 0)
    return meter


@pytest.mark.parametrize("stored", [1000, 4000])
def test_idle_tick_costs_the_same_whatever_is_stored(local: Engine, stored: int) -> None:
    """One query per shard and one lease write. Calls are counted: this engine bills an empty query
    nothing, AWS half a unit."""
    meter = idle_tick(local, stored)
    assert dict(meter.calls) == {"UpdateItem": 1, "Query": 16}
    assert meter.wru == 1


@pytest.mark.bench
def test_idle_tick_with_a_hundred_thousand_jobs(local: Engine) -> None:
    meter = idle_tick(local, 100_000)
    assert dict(meter.calls) == {"UpdateItem": 1, "Query": 16}
