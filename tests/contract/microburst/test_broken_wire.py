"""The store, with the client it is deployed with, on a wire that breaks: every conditional write
whose answer is lost is recognised, and throttles and errors are sat out or told."""

from collections.abc import Iterator

import boto3
import pytest

from cronce.adapters.aws_errors import CLIENT_CONFIG
from cronce.domain.errors import Throttled, Unavailable
from cronce.ports import Changed, Refused
from support import samples as s
from support.dynamodb_local import CREDENTIALS, dynamodb_local
from support.dynamodb_local import client as local_client
from support.microburst import Proxy, answer_lost, in_front_of, refused, request_lost
from support.stores import Engine, memory_engine, table_engine
from support.writes import WRITES, Write

__all__ = ["dynamodb_local"]

pytestmark = pytest.mark.faults

each_write = pytest.mark.parametrize("write", WRITES, ids=str)
KEY = s.a_key()


@pytest.fixture(scope="module")
def proxy(dynamodb_local: str) -> Iterator[Proxy]:
    with in_front_of(dynamodb_local) as proxy:
        yield proxy


@pytest.fixture
def broken(proxy: Proxy, dynamodb_local: str) -> Engine:
    """The store goes through the proxy; what lies in the table is looked at past it."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=proxy.endpoint,
        region_name="us-east-1",
        config=CLIENT_CONFIG,
        **CREDENTIALS,
    )
    return table_engine("local", client, local_client(dynamodb_local))


@each_write
def test_write_whose_answer_is_lost(broken: Engine, proxy: Proxy, write: Write) -> None:
    write.before(broken.store)
    before = proxy.fired()
    with proxy.breaking(answer_lost(write.operation)):
        answer = write.call(broken.store)
    assert proxy.fired() == before + 1
    assert write.done(answer), answer
    model = memory_engine()
    write.before(model.store)
    write.call(model.store)
    assert broken.rows.all() == model.rows.all()


@each_write
def test_write_that_is_throttled(broken: Engine, proxy: Proxy, write: Write) -> None:
    write.before(broken.store)
    with proxy.breaking(refused(write.operation, "ThrottlingException")):
        answer = write.call(broken.store)
    assert write.done(answer), answer


@pytest.mark.parametrize(
    "rule",
    [
        request_lost("UpdateItem"),
        refused("UpdateItem", "InternalServerError", 500),
        refused("UpdateItem", "ProvisionedThroughputExceededException"),
        refused("UpdateItem", "TransactionConflictException"),
    ],
    ids=["request lost", "5xx", "throughput", "conflict"],
)
def test_claim_sits_it_out(broken: Engine, proxy: Proxy, rule: dict[str, object]) -> None:
    with proxy.breaking(rule):
        result = broken.store.claim(KEY, s.a_claim(), now=s.AT)
    assert isinstance(result, Changed)
    assert result.run.attempt == 1


@pytest.mark.parametrize(
    ("rule", "kind", "applied"),
    [
        (answer_lost("UpdateItem", 99), Unavailable, True),
        (request_lost("UpdateItem", 99), Unavailable, False),
        (refused("UpdateItem", "ThrottlingException", times=99), Throttled, False),
    ],
    ids=["answers lost", "requests lost", "throttled"],
)
def test_claim_says_that_it_does_not_know(
    broken: Engine, proxy: Proxy, rule: dict[str, object], kind: type[Exception], *, applied: bool
) -> None:
    """And what was applied unheard is found by the same worker's next try."""
    with proxy.breaking(rule), pytest.raises(kind):
        broken.store.claim(KEY, s.a_claim(), now=s.AT)
    found = broken.store.read_run(KEY)
    assert (found is not None) is applied
    again = broken.store.claim(KEY, s.a_claim(), now=s.after(1))
    assert isinstance(again, Changed)
    assert again.run.attempt == 1


def test_somebody_elses_claim_is_not_taken_for_our_own(broken: Engine, proxy: Proxy) -> None:
    held = broken.store.claim(KEY, s.a_claim("owner-2"), now=s.AT)
    with proxy.breaking(answer_lost("UpdateItem")):
        result = broken.store.claim(KEY, s.a_claim("owner-1"), now=s.AT)
    assert result == Refused(held.run)


def test_cancelled_transaction_with_its_reasons(broken: Engine, proxy: Proxy) -> None:
    """B13: a conflict is asked again, over the wire as it comes from AWS."""
    broken.store.create_job(s.a_job(), s.a_definition())
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    rule = refused(
        "TransactWriteItems", "TransactionCanceledException", times=2, CancellationReasons=reasons
    )
    edited = s.a_job(version=2)
    with proxy.breaking(rule):
        assert broken.store.edit_job(s.a_job(), edited, s.a_definition(), replan=False)


def test_tick_behind_a_wire_that_loses_answers(broken: Engine, proxy: Proxy) -> None:
    """Every read of the index comes back, page after page."""
    for n in range(20):
        broken.store.create_job(s.a_job(f"job-{n}"), s.a_definition())
    with proxy.breaking(answer_lost("Query", 3)):
        found = list(broken.store.due(range(s.SHARDS), s.AT))
    assert len(found) == 20
