"""B54 and B58: a job's runs, page by page, each seen once, whatever lies between them."""

import base64
import json
from dataclasses import replace

import pytest

from cronce.adapters.items import job_pk, run_sk
from cronce.adapters.run_items import run_to_item
from cronce.adapters.wire import encode_item
from cronce.domain.errors import Invalid
from cronce.domain.identity import RunKey
from cronce.domain.run import Run
from cronce.ports import Store
from support import calls
from support import samples as s
from support.stores import Engine


def put_runs(engine: Engine, count: int, job_id: str = "report") -> list[Run]:
    """Latest occurrence first, as they are listed."""
    runs = [Run(s.a_key(n, job_id=job_id), "pending", due=s.after(60 * n)) for n in range(count)]
    for run in runs:
        engine.rows.put(run_to_item(run))
    return runs[::-1]


def walk(store: Store, limit: int, **bounds: object) -> list[list[object]]:
    pages: list[list[object]] = []
    cursor = None
    for _ in range(100):
        page = store.list_runs("report", limit=limit, cursor=cursor, **bounds)  # type: ignore[arg-type]
        pages.append(list(page.items))
        cursor = page.cursor
        if cursor is None:
            return pages
    raise AssertionError("the listing has no end")


@pytest.mark.parametrize(
    ("count", "limit", "sizes"),
    [(0, 5, [0]), (4, 5, [4]), (5, 5, [5]), (6, 5, [5, 1]), (10, 5, [5, 5]), (3, 1, [1, 1, 1])],
)
def test_pages_end_where_the_runs_end(
    engine: Engine, count: int, limit: int, sizes: list[int]
) -> None:
    """No page is announced that has nothing on it."""
    runs = put_runs(engine, count)
    pages = walk(engine.store, limit)
    assert [len(page) for page in pages] == sizes
    assert [run for page in pages for run in page] == runs


def test_other_rows_of_the_job_and_other_jobs_are_not_runs(engine: Engine) -> None:
    store = engine.store
    store.create_job(s.a_job(), s.a_definition())
    store.create_job(s.a_job("report2"), s.a_definition())
    put_runs(engine, 3, "report2")
    store.trigger(s.a_key(1, trigger="m-1"), triggered_by="somebody", now=s.AT)
    [[run]] = walk(store, 10)
    assert isinstance(run, Run)
    assert run.key == s.a_key(1, trigger="m-1")


def test_runs_of_one_instant_are_told_apart(engine: Engine) -> None:
    keys = [
        s.a_key(),
        s.a_key(trigger="b-may"),
        s.a_key(trigger="m-1"),
        replace(s.a_key(), uid="zzzzzzzz"),
    ]
    for key in keys:
        engine.rows.put(run_to_item(Run(key, "pending", due=s.AT)))
    listed = [run.key for page in walk(engine.store, 1) for run in page if isinstance(run, Run)]
    assert listed == keys[::-1]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(None, None, 10), (3, None, 7), (None, 3, 4), (3, 5, 3), (4, 4, 1), (6, 5, 0), (20, 30, 0)],
)
def test_bounds_are_inclusive(
    engine: Engine, first: int | None, last: int | None, expected: int
) -> None:
    put_runs(engine, 10)
    bounds = {
        "earliest": None if first is None else s.after(60 * first),
        "latest": None if last is None else s.after(60 * last),
    }
    pages = walk(engine.store, 2, **bounds)
    assert sum(map(len, pages)) == expected


def test_unreadable_rows_are_passed_over_page_after_page(engine: Engine) -> None:
    runs = put_runs(engine, 30)
    for run in runs[3:25]:
        item = engine.rows.get(job_pk("report"), run_sk(run.key))
        assert item is not None
        spoilt = {"v": 2} if run.key.scheduled_for.minute % 2 else {"status": "asleep"}
        engine.rows.put({**item, **spoilt})
    pages = walk(engine.store, 4)
    assert [run for page in pages for run in page] == runs[:3] + runs[25:]
    assert [len(page) for page in pages] == [4, 4]


def put_ended(engine: Engine, count: int, failed: set[int]) -> list[Run]:
    """Latest first, of which these (by number) failed and the others succeeded."""
    runs = [
        Run(s.a_key(n), "failed" if n in failed else "succeeded", due=s.after(60 * n))
        for n in range(count)
    ]
    for run in runs:
        engine.rows.put(run_to_item(run))
    return runs[::-1]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_those_of_one_status(engine: Engine, limit: int) -> None:
    """Behind pages that hold none of them, and each once."""
    runs = put_ended(engine, 250, {0, 3, 120})
    pages = walk(engine.store, limit, status="failed")
    assert [run for page in pages for run in page] == [r for r in runs if r.status == "failed"]
    assert all(len(page) <= limit for page in pages)
    assert walk(engine.store, limit, status="running") == [[]]
    bounds = {"earliest": s.after(60), "latest": s.after(60 * 130)}
    within = walk(engine.store, limit, status="failed", **bounds)
    assert [run.key for page in within for run in page] == [s.a_key(120), s.a_key(3)]  # type: ignore[attr-defined]


def test_one_call_for_a_status_looks_at_so_much_and_no_more(
    table: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronce.adapters.dynamodb_runs.KEYS", 10)
    monkeypatch.setattr("cronce.adapters.dynamodb_runs.MOST_KEY_PAGES", 3)
    runs = put_ended(table, 75, {0, 60})
    first = table.store.list_runs("report", limit=5, status="failed")
    assert [run.key for run in first.items if isinstance(run, Run)] == [s.a_key(60)]
    assert first.cursor is not None
    second = table.store.list_runs("report", limit=5, cursor=first.cursor, status="failed")
    assert second.items == ()
    assert second.cursor is not None
    pages = walk(table.store, 5, status="failed")
    assert [len(page) for page in pages] == [1, 0, 1]
    assert pages[-1] == [runs[-1]]


def test_it_looks_at_no_more_where_nothing_can_be_read(
    table: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronce.adapters.dynamodb_runs.KEYS", 10)
    monkeypatch.setattr("cronce.adapters.dynamodb_runs.MOST_KEY_PAGES", 3)
    runs = put_ended(table, 75, {0, 60})
    for run in runs[:50]:
        item = table.rows.get(job_pk("report"), run_sk(run.key))
        assert item is not None
        table.rows.put({**item, "v": 2})
    pages = walk(table.store, 5, status="failed")
    assert [len(page) for page in pages] == [0, 0, 1]


def test_empty_page_with_a_key_goes_on(table: Engine) -> None:
    runs = put_runs(table, 5)
    key = {"pk": job_pk("report"), "sk": run_sk(runs[1].key)}
    empty = {"Items": [], "LastEvaluatedKey": encode_item(key)}
    with calls.answering(table.client, "Query", empty) as given:
        page = table.store.list_runs("report", limit=10)
    assert len(given) == 1
    assert (list(page.items), page.cursor) == (runs[2:], None)


class TestCursors:
    def cursor(self, engine: Engine) -> str:
        put_runs(engine, 4)
        cursor = engine.store.list_runs("report", limit=2).cursor
        assert cursor is not None
        return cursor

    def test_of_a_row_that_has_gone_still_goes_on(self, engine: Engine) -> None:
        cursor = self.cursor(engine)
        fewer = engine.store.list_runs("report", limit=2, cursor=cursor)
        assert [run.key for run in fewer.items if isinstance(run, Run)] == [s.a_key(1), s.a_key(0)]

    def test_is_of_one_job(self, engine: Engine) -> None:
        cursor = self.cursor(engine)
        with pytest.raises(Invalid, match="cursor"):
            engine.store.list_runs("other", limit=2, cursor=cursor)

    def test_is_of_one_range(self, engine: Engine) -> None:
        cursor = self.cursor(engine)
        with pytest.raises(Invalid, match="cursor"):
            engine.store.list_runs("report", limit=2, cursor=cursor, latest=s.after(0))

    @pytest.mark.parametrize(
        "cursor",
        [
            "x",
            "not base64!",
            "é",
            "A" * 5000,
            base64.urlsafe_b64encode(b"\xff\xfe").decode(),
            base64.urlsafe_b64encode(b"{}").decode(),
            base64.urlsafe_b64encode(b"[" * 700).decode(),
            *(
                base64.urlsafe_b64encode(json.dumps(content).encode()).decode()
                for content in (
                    None,
                    [],
                    ["report"],
                    ["report", 5],
                    ["report", "JOB"],
                    ["report", "RUN#"],
                    ["report", "RUN#now#k3f9a2qd#"],
                    ["report", "RUN#2026-11-30T10:00:00.000Z#k3f9a2qd"],
                    ["report", "RUN#2026-11-30T10:00:00.001Z#k3f9a2qd#"],
                    ["report", "RUN#2026-11-30T10:00:00.000Z#k3f9a2qd#", "more"],
                    [["report"], "RUN#2026-11-30T10:00:00.000Z#k3f9a2qd#"],
                )
            ),
        ],
        ids=lambda c: c[:12],
    )
    def test_of_anybody_else_is_refused(self, engine: Engine, cursor: str) -> None:
        put_runs(engine, 3)
        with pytest.raises(Invalid) as refused:
            engine.store.list_runs("report", limit=2, cursor=cursor)
        assert refused.value.faults[0].code == "bad_cursor"


class TestReadRuns:
    def test_of_a_hundred_keys(self, engine: Engine) -> None:
        runs = put_runs(engine, 60)
        keys = [s.a_key(n) for n in range(100)]
        assert engine.store.read_runs(keys) == {run.key: run for run in runs}

    def test_of_none_and_of_one_twice(self, engine: Engine) -> None:
        [run] = put_runs(engine, 1)
        assert engine.store.read_runs([]) == {}
        assert engine.store.read_runs([run.key, run.key]) == {run.key: run}

    def test_unreadable_ones_are_absent(self, engine: Engine) -> None:
        runs = put_runs(engine, 3)
        for run, spoilt in zip(runs, ({"v": 2}, {"due": "now"}), strict=False):
            engine.rows.put({**run_to_item(run), **spoilt})
        keys = [run.key for run in runs]
        assert engine.store.read_runs(keys) == {runs[2].key: runs[2]}

    def test_keys_handed_back_are_asked_for_again(self, table: Engine) -> None:
        runs = put_runs(table, 3)
        handed_back = {
            "Responses": {},
            "UnprocessedKeys": {
                table.table: {
                    "Keys": [
                        encode_item({"pk": job_pk("report"), "sk": run_sk(run.key)}) for run in runs
                    ]
                }
            },
        }
        with calls.answering(table.client, "BatchGetItem", handed_back, handed_back) as given:
            found = table.store.read_runs([run.key for run in runs])
        assert len(given) == 2
        assert set(found) == {run.key for run in runs}


def test_no_row_grows_with_the_runs(engine: Engine) -> None:
    """B58: history is rows of its own."""
    store = engine.store
    store.create_job(s.a_job(), s.a_definition())
    job, spec = (engine.rows.get("JOB#report", sk) for sk in ("JOB", "JOB#SPEC"))
    for n in range(60):
        key = RunKey("report", s.UID, s.after(n))
        store.claim(key, s.a_claim(), now=s.AT)
        store.succeed(key, "owner-1", s.an_ending(), now=s.AT)
    assert [engine.rows.get("JOB#report", sk) for sk in ("JOB", "JOB#SPEC")] == [job, spec]
