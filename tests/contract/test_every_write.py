"""What holds for each write of the store, whichever it is."""

import re
from contextlib import suppress

import pytest

from cronce import ports
from cronce.adapters.items import UnknownVersion
from cronce.adapters.wire import Item
from support import calls
from support.stores import Engine, memory_engine
from support.writes import WRITES, Write

READS = {
    *("read_job", "read_run", "read_runs", "list_runs", "find_missed"),
    *("due", "read_record", "read_lock", "read_backfill", "list_backfills"),
    *("read_group", "list_groups"),
    *("read_calendar", "list_calendars", "list_users"),
}
# Written whatever is there, by a key of its own.
UNCONDITIONAL = {"put_missed", "put_record"}
CREATING = {
    *("create_job", "trigger", "claim", "skip", "miss", "cancel", "acquire_lease"),
    "create_backfill",
}
# Nothing to do is as good as done.
SILENT = {"delete_job", "delete_calendar", "delete_group", "note_claimed", "set_failing"}

each_write = pytest.mark.parametrize("write", WRITES, ids=str)
each_update = pytest.mark.parametrize(
    "write",
    [w for w in WRITES if w.method not in CREATING | UNCONDITIONAL and w.variant != "first"],
    ids=str,
)
each_conditional = pytest.mark.parametrize(
    "write", [w for w in WRITES if w.method not in UNCONDITIONAL], ids=str
)


def rows_of(write: Write) -> list[Item]:
    """As the store in memory leaves them."""
    engine = memory_engine()
    write.before(engine.store)
    write.call(engine.store)
    return engine.rows.all()


def test_each_write_of_the_contract_is_here() -> None:
    parts = (
        ports.JobStore,
        ports.LockStore,
        ports.RunStore,
        ports.BackfillStore,
        ports.GroupStore,
        ports.CalendarStore,
        ports.DispatchStore,
    )
    methods = {name for part in parts for name in vars(part) if not name.startswith("_")}
    assert methods - READS == {w.method for w in WRITES}


@each_write
def test_stores_write_the_same_rows(table: Engine, write: Write) -> None:
    write.before(table.store)
    assert write.done(write.call(table.store))
    assert table.rows.all() == rows_of(write)


@each_write
def test_lost_answer_is_recognised(table: Engine, write: Write) -> None:
    """B01: the SDK repeats a write that was applied; the caller hears that it was."""
    write.before(table.store)
    with calls.lost_answer(table.client) as lost:
        answer = write.call(table.store)
    assert len(lost) == 1
    assert write.done(answer), answer
    assert table.rows.all() == rows_of(write)


@each_write
def test_same_call_twice_changes_nothing_more(engine: Engine, write: Write) -> None:
    write.before(engine.store)
    first = write.call(engine.store)
    rows = engine.rows.all()
    second = write.call(engine.store)
    assert write.done(first), first
    assert write.done(second), second
    assert engine.rows.all() == rows


@each_update
def test_no_update_creates_a_row(engine: Engine, write: Write) -> None:
    answer = write.call(engine.store)
    assert engine.rows.all() == []
    assert write.method in SILENT or not write.done(answer), answer


@each_conditional
@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
def test_row_of_a_newer_release_is_left_alone(
    engine: Engine, write: Write, *, applied: bool
) -> None:
    write.before(engine.store)
    if applied:
        write.call(engine.store)
    for row in engine.rows.all():
        engine.rows.put({**row, "v": 2})
    rows = engine.rows.all()
    with suppress(UnknownVersion):
        write.call(engine.store)
    if rows:
        assert engine.rows.all() == rows


@each_write
def test_every_attribute_goes_through_a_placeholder(table: Engine, write: Write) -> None:
    """B58: a reserved word shows only on AWS, and only when that path is taken."""
    write.before(table.store)
    with calls.logged(table.client) as made:
        write.call(table.store)
    requests = [part for _, params in made for part in flattened(params)]
    expressions = [
        text
        for request in requests
        for name, text in request.items()
        if name.endswith("Expression")
    ]
    assert requests
    for text in expressions:
        assert bare_words(text) == [], text
    for request in requests:
        written = " ".join(v for n, v in request.items() if n.endswith("Expression"))
        assert used(r"#\w+", written) == set(request.get("ExpressionAttributeNames", {}))
        assert used(r":\w+", written) == set(request.get("ExpressionAttributeValues", {}))


WORDS = {"SET", "REMOVE", "AND", "OR", "NOT", "BETWEEN", "IN"}
FUNCTIONS = {
    *("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with"),
    *("if_not_exists", "list_append", "size"),
}


def bare_words(expression: str) -> list[str]:
    found = re.findall(r"(?<![#:\w])[A-Za-z_]\w*", expression)
    return [word for word in found if word not in WORDS | FUNCTIONS]


def used(pattern: str, text: str) -> set[str]:
    return set(re.findall(pattern, text))


def flattened(params: dict[str, object]) -> list[dict[str, object]]:
    """The writes of a transaction, or the call itself."""
    items = params.get("TransactItems")
    if isinstance(items, list):
        return [next(iter(item.values())) for item in items]
    return [params]
