"""B13 and its kin: what the table may answer besides yes and no."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from cronce.adapters.aws_errors import answered
from cronce.adapters.items import job_pk, run_sk
from cronce.adapters.wire import encode_item
from cronce.domain.errors import CronceError, Throttled, Unavailable
from cronce.ports import Changed
from support import calls
from support import samples as s
from support.calls import error
from support.stores import Engine
from support.writes import WRITES, Write

KEY = s.a_key()


def conflict(operation: str) -> dict[str, Any]:
    if operation != "TransactWriteItems":
        return error("TransactionConflictException")
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    return error("TransactionCanceledException", CancellationReasons=reasons)


@pytest.mark.parametrize("write", WRITES, ids=str)
def test_conflict_says_nothing_and_is_asked_again(table: Engine, write: Write) -> None:
    write.before(table.store)
    operation = write.operation
    with calls.answering(table.client, operation, *[conflict(operation)] * 3) as given:
        answer = write.call(table.store)
    assert len(given) == 3
    assert write.done(answer), answer


@pytest.mark.parametrize("operation", ["UpdateItem", "TransactWriteItems"])
def test_conflict_without_end_is_trouble_of_the_table(table: Engine, operation: str) -> None:
    write = next(w for w in WRITES if w.operation == operation)
    write.before(table.store)
    rows = table.rows.all()
    with (
        calls.answering(table.client, operation, *[conflict(operation)] * 99) as given,
        pytest.raises(Throttled),
    ):
        write.call(table.store)
    assert 1 < len(given) < 10
    assert table.rows.all() == rows


@pytest.mark.parametrize(
    ("codes", "outcome"),
    [
        (("TransactionConflict", "None"), "again"),
        (("None", "TransactionConflict"), "again"),
        (("ThrottlingError", "None"), "again"),
        (("ProvisionedThroughputExceeded", "TransactionConflict"), "again"),
        (("ConditionalCheckFailed", "None"), "lost"),
        (("ConditionalCheckFailed", "TransactionConflict"), "lost"),
        (("ItemCollectionSizeLimitExceeded", "None"), "trouble"),
    ],
)
def test_reasons_of_a_cancelled_transaction_one_by_one(
    table: Engine, codes: tuple[str, str], outcome: str
) -> None:
    """Only a failed condition means that somebody else was first."""
    table.store.create_job(s.a_job(), s.a_definition())
    reasons = [{"Code": code} for code in codes]
    cancelled = error("TransactionCanceledException", CancellationReasons=reasons)
    edited = s.a_job(version=2)

    def edit() -> bool:
        return table.store.edit_job(s.a_job(), edited, s.a_definition(), replan=False)

    with calls.answering(table.client, "TransactWriteItems", cancelled) as given:
        if outcome == "trouble":
            with pytest.raises(Unavailable):
                edit()
        else:
            assert edit() is (outcome == "again")
    assert len(given) == 1
    found = table.store.read_job("report")
    assert found is not None
    assert found.job.version == (2 if outcome == "again" else 1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ProvisionedThroughputExceededException", Throttled),
        ("ThrottlingException", Throttled),
        ("RequestLimitExceeded", Throttled),
        ("InternalServerError", Unavailable),
        ("ServiceUnavailable", Unavailable),
        ("AccessDeniedException", Unavailable),
        ("ResourceNotFoundException", Unavailable),
        ("ExpiredTokenException", Unavailable),
        ("ValidationException", ClientError),
        ("SerializationException", ClientError),
    ],
)
def test_what_the_table_answers_in_our_words(
    table: Engine, code: str, kind: type[Exception]
) -> None:
    """What we sent wrongly is seen as what it is; everything else may help to try again."""
    with (
        calls.answering(table.client, "UpdateItem", error(code)),
        pytest.raises(kind) as raised,
    ):
        table.store.claim(KEY, s.a_claim(), now=s.AT)
    assert isinstance(raised.value, CronceError) is (kind is not ClientError)
    assert type(raised.value) is kind or kind is ClientError
    assert code in str(raised.value)


@pytest.mark.parametrize(
    ("operation", "read"),
    [
        ("Query", lambda st: st.read_job("report")),
        ("Query", lambda st: list(st.due(range(16), s.AT))),
        ("Query", lambda st: st.list_runs("report", limit=5)),
        ("Query", lambda st: st.find_missed(KEY)),
        ("GetItem", lambda st: st.read_run(KEY)),
        ("GetItem", lambda st: st.read_record(0, "r")),
        ("GetItem", lambda st: st.read_lock("report")),
        ("BatchGetItem", lambda st: st.read_runs([KEY])),
    ],
)
def test_reads_say_so_too(table: Engine, operation: str, read: Any) -> None:
    with (
        calls.answering(table.client, operation, error("ThrottlingException")),
        pytest.raises(Throttled),
    ):
        read(table.store)


def test_keys_that_are_always_handed_back(table: Engine) -> None:
    keys = [encode_item({"pk": job_pk("report"), "sk": run_sk(KEY)})]
    answer = {"Responses": {}, "UnprocessedKeys": {table.table: {"Keys": keys}}}
    with (
        calls.answering(table.client, "BatchGetItem", *[answer] * 99) as given,
        pytest.raises(Throttled),
    ):
        table.store.read_runs([KEY])
    assert 1 < len(given) < 10


def test_silence_is_trouble_of_the_table() -> None:
    with pytest.raises(Unavailable, match="UpdateItem"), answered("UpdateItem"):
        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")


def test_answer_lost_for_good_is_found_by_the_next_call(table: Engine) -> None:
    """The worker insists on a completion; what it finds is its own."""
    table.store.claim(KEY, s.a_claim(), now=s.AT)

    def complete() -> object:
        return table.store.succeed(KEY, "owner-1", s.an_ending(), now=s.after(1))

    def fail(parsed: dict[str, Any]) -> None:
        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")

    with calls.changed_answer(table.client, "UpdateItem", fail), pytest.raises(Unavailable):
        complete()
    assert isinstance(complete(), Changed)
