"""B54 at the numbers of AWS's pages; B65: no guarantee rests on what an emulator lets pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cronce.adapters.job_items import job_to_item
from cronce.adapters.wire import encode_item
from cronce.domain.plan import Due
from cronce.ports import Changed, DueJob
from support import calls
from support import samples as s
from support.stores import Engine
from support.writes import WRITES, Write

LIMIT = 100
FUNCTIONS = Path(__file__).parents[2] / "functions" / "cronce"


def load(table: Engine, count: int, paused: int) -> list[str]:
    """Jobs of one group, the first ones paused. Names of the active ones."""
    table.store.page = LIMIT  # type: ignore[attr-defined]
    names = [f"job-{n:05d}" for n in range(count)]
    jobs = [
        s.a_job(
            name,
            group="status",
            shard=5,
            status="paused" if n < paused else "active",
            next=None if n < paused else Due(s.after(n), s.after(n)),
        )
        for n, name in enumerate(names)
    ]
    table.load([job_to_item(job) for job in jobs])
    return names[paused:]


def listed(table: Engine, **asked: Any) -> Iterator[list[str]]:
    cursor = None
    for _ in range(20):
        page = table.store.list_jobs(limit=LIMIT, cursor=cursor, **asked)
        yield [job.job_id for job in page.items]  # type: ignore[attr-defined]
        cursor = page.cursor
        if cursor is None:
            return
    raise AssertionError("the listing has no end")


@pytest.mark.parametrize("asked", [{"status": "active"}, {"group": "status", "status": "active"}])
def test_b54_a_listing_goes_on_behind_a_page_that_was_filtered_away(
    table: Engine, asked: dict[str, str]
) -> None:
    """250 jobs, the first 100 of the group filtered out, pages of 100."""
    active = load(table, 250, 100)
    pages = list(listed(table, **asked))
    assert [len(page) for page in pages] == [100, 50]
    assert sorted(name for page in pages for name in page) == active


@pytest.mark.parametrize("asked", [{}, {"group": "status"}])
def test_b54_a_page_that_is_just_full_is_the_last(table: Engine, asked: dict[str, str]) -> None:
    """AWS gives a key with it, moto none; the caller sees no dead cursor."""
    names = load(table, LIMIT, 0)
    [page] = listed(table, **asked)
    assert sorted(page) == names


def test_b54_a_tick_sees_what_is_due_on_the_third_page(table: Engine) -> None:
    active = load(table, 250, 0)
    found = [i.job_id for i in table.store.due((5,), s.after(1000)) if isinstance(i, DueJob)]
    assert found == active


def test_b54_empty_pages_with_a_key_and_an_empty_key(table: Engine) -> None:
    load(table, 3, 0)
    key = {"pk": "JOB#job-00000", "sk": "JOB", "shard": 5, "next_run": "2026-11-30T10:00:00.000Z"}
    empty = {"Items": [], "LastEvaluatedKey": encode_item(key)}
    with calls.answering(table.client, "Query", empty, empty) as given:
        found = list(table.store.due((5,), s.after(1000)))
    assert len(given) == 2
    assert len(found) == 2
    with calls.answering(table.client, "Query", {"Items": [], "LastEvaluatedKey": {}}) as given:
        assert list(table.store.due((5,), s.after(1000))) == []
    assert len(given) == 1


@pytest.mark.parametrize(
    "write", [w for w in WRITES if w.operation == "TransactWriteItems"], ids=str
)
def test_b65_a_transaction_that_is_applied_twice_changes_nothing_more(
    table: Engine, write: Write
) -> None:
    """moto applies it again under the same token; AWS does not. Ours rest on their conditions: the
    second is refused, or comes to the same."""
    write.before(table.store)
    with calls.logged(table.client) as made:
        assert write.done(write.call(table.store))
    rows = table.rows.all()
    [request] = [params for name, params in made if name == "TransactWriteItems"]
    parts = [part for item in request["TransactItems"] for part in item.values()]
    assert any("ConditionExpression" in part for part in parts)
    with suppress(table.client.exceptions.TransactionCanceledException):
        table.client.transact_write_items(TransactItems=request["TransactItems"])
    assert table.rows.all() == rows


def test_b65_no_call_is_made_that_emulators_bound_otherwise() -> None:
    """Batches of 25 writes, PartiQL: none is used."""
    asked = {
        node.attr
        for path in FUNCTIONS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert not asked & {"batch_write_item", "execute_statement", "batch_execute_statement"}
    assert {"transact_write_items", "update_item"} <= asked


def test_b65_an_index_that_is_behind_is_no_reason_to_run_twice(engine: Engine) -> None:
    """Whatever the index shows, the row's own condition decides."""
    job = s.a_job()
    engine.store.create_job(job, s.a_definition())
    seen = s.due_job(job)
    assert engine.store.advance(seen, Due(s.after(60), s.after(60)), runs_planned=1)
    assert not engine.store.advance(seen, Due(s.after(120), s.after(120)), runs_planned=1)
    assert not engine.store.set_error(seen, "no")
    first = engine.store.claim(s.a_key(), s.a_claim(), now=s.AT)
    again = engine.store.claim(s.a_key(), s.a_claim("owner-2"), now=s.AT)
    assert isinstance(first, Changed)
    assert not isinstance(again, Changed)
