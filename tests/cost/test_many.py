"""What taking turns, groups and the rest of a job's wishes cost, in request units."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cronce.adapters.dispatch_items import PAGE
from cronce.domain.groups import Group
from cronce.domain.overlap import Lock, Overlap
from cronce.domain.record import Sent
from cronce.testing.memory import MemoryStore
from support import samples as s
from support.meter import Meter, metered
from support.minutes import Minutes, recurring
from support.stores import Engine, memory_engine

JOBS, WARM = 20, 7


def measure(
    local: Engine,
    *,
    job: Mapping[str, object] | None = None,
    definition: Mapping[str, object] | None = None,
    group: Group | None = None,
) -> tuple[float, float, Meter]:
    """WRU and RRU of a run that succeeds in time, every minute; and what was called."""
    memory = memory_engine()
    deployment = Minutes(memory.store, memory.clock)
    for n in range(JOBS):
        a_job, a_definition = recurring(n, "* * * * *")
        memory.store.create_job(
            replace(a_job, **(job or {})),  # type: ignore[arg-type]
            replace(a_definition, **(definition or {})),  # type: ignore[arg-type]
        )
    if group is not None:
        memory.store.write_group(None, group)
    assert isinstance(memory.store, MemoryStore)
    for _ in range(WARM):
        deployment.minute()
    local.load(memory.rows.all())
    local.store.page = PAGE  # type: ignore[attr-defined]
    deployment.store = local.store
    with metered(local.client) as meter:
        runs = sum(deployment.minute() for _ in range(2))
    assert runs == 2 * JOBS
    assert set(deployment.observer.actions) <= {"tick", "claimed", "succeeded"}
    return meter.wru / runs, meter.rru / runs, meter


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest) -> tuple[float, float, Meter]:
    from support.stores import table_engine

    client = request.getfixturevalue("local_client")
    return measure(table_engine("local", client))


@pytest.mark.parametrize("policy", ["skip", "replace", "queue_one", "queue_all"])
def test_taking_turns_adds_one_write_and_one_read(
    local: Engine, plain: tuple[float, float, Meter], policy: Overlap
) -> None:
    """The lock is written; who held it before is read, and where others may wait also the lock."""
    wru, rru, _ = measure(local, definition={"overlap": policy})
    reads = 2 if policy.startswith("queue") else 1
    assert wru - plain[0] == pytest.approx(1)
    assert rru - plain[1] == pytest.approx(reads)


@pytest.mark.parametrize(
    "definition", [{"overlap": "allow"}, {"pause_on_failure": 3}], ids=["allow", "pause_on_failure"]
)
def test_what_costs_nothing(
    local: Engine, plain: tuple[float, float, Meter], definition: Mapping[str, object]
) -> None:
    wru, rru, meter = measure(local, definition=definition)
    assert (wru, rru) == plain[:2]
    assert meter.calls == plain[2].calls


def test_a_group_without_a_limit_costs_one_read_a_tick(
    local: Engine, plain: tuple[float, float, Meter]
) -> None:
    wru, _, meter = measure(local, job={"group": "nightly"})
    assert wru == plain[0]
    more = {name: n - plain[2].calls[name] for name, n in meter.calls.items()}
    assert {name: n for name, n in more.items() if n} == {"GetItem": 2}


def test_a_group_with_a_limit_costs_one_write_a_batch(
    local: Engine, plain: tuple[float, float, Meter]
) -> None:
    group = Group("nightly", 1_000_000)
    wru, _, meter = measure(local, job={"group": "nightly"}, group=group)
    more = {name: n - plain[2].calls[name] for name, n in meter.calls.items()}
    assert {name: n for name, n in more.items() if n} == {"GetItem": 2, "PutItem": 2}
    # The row, and a record that says when each run may start.
    assert wru - plain[0] <= 2 * 3 / (2 * JOBS)


@pytest.mark.parametrize(("waiting", "units"), [(0, 1), (10, 1), (50, 2), (100, 3)])
def test_what_a_line_costs(local: Engine, waiting: int, units: int) -> None:
    """Each that joins pays for those before it."""
    line = tuple(Sent(s.a_key(n), 3, s.after(60 * n)) for n in range(waiting))
    lock = Lock(s.UID, s.a_key(-1), line, 1, s.AT)
    with metered(local.client) as meter:
        assert local.store.write_lock("report", None, lock)
    assert meter.wru == units
