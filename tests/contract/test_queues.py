"""The run queue over SQS and in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from moto import mock_aws

from cronce import limits
from cronce.adapters.sqs import BATCH_BYTES, SqsQueue
from cronce.domain.errors import Throttled, Unavailable
from cronce.domain.message import Message
from cronce.ports import Outgoing, RunQueue
from cronce.testing.clock import SettableClock
from cronce.testing.memory import MemoryQueue
from cronce.testing.observer import RecordingObserver
from support import calls
from support import samples as s
from support.calls import error
from support.stores import NOW, moto_client


def message(n: int = 0, job_id: str = "report") -> Message:
    return Message(s.a_key(n, job_id=job_id), 1, s.AT, s.AT)


def outgoing(count: int, delay: int = 0) -> list[Outgoing]:
    return [Outgoing(message(n), delay) for n in range(count)]


@dataclass
class Sqs:
    queue: SqsQueue
    client: Any
    url: str
    dead_url: str
    observer: RecordingObserver

    def received(self, url: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            answer = self.client.receive_message(
                QueueUrl=url or self.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
            )
            if not answer.get("Messages"):
                return found
            found += answer["Messages"]


@pytest.fixture
def sqs() -> Iterator[Sqs]:
    with mock_aws():
        client = moto_client("sqs")
        # Of this test alone: within another mock that goes on, queues outlive this one.
        names = (f"{name}-{uuid4().hex}" for name in ("runs", "dead"))
        url, dead = (client.create_queue(QueueName=name)["QueueUrl"] for name in names)
        observer = RecordingObserver()
        yield Sqs(SqsQueue(client, url, dead, observer), client, url, dead, observer)


@pytest.fixture(params=["memory", "sqs"])
def queue(request: pytest.FixtureRequest) -> RunQueue:
    if request.param == "memory":
        return MemoryQueue(SettableClock(NOW))
    return request.getfixturevalue("sqs").queue  # type: ignore[no-any-return]


class TestEither:
    def test_sends_any_number(self, queue: RunQueue) -> None:
        assert queue.send([]) == []
        assert queue.idle()
        assert queue.send(outgoing(25)) == [True] * 25
        assert not queue.idle()

    def test_what_is_delayed_is_not_visible(self, queue: RunQueue) -> None:
        assert queue.send(outgoing(3, delay=900)) == [True] * 3
        assert queue.idle()

    def test_receipts_of_nobody_are_passed_over(self, queue: RunQueue) -> None:
        queue.hide([f"no-such-receipt-{n}" for n in range(25)], 30)
        queue.hide([], 30)


class TestSqs:
    def test_is_packed_by_count(self, sqs: Sqs) -> None:
        with calls.logged(sqs.client) as made:
            sqs.queue.send(outgoing(25))
        assert [len(p["Entries"]) for n, p in made if n == "SendMessageBatch"] == [10, 10, 5]
        bodies = [m["Body"] for m in sqs.received()]
        assert sorted(bodies) == sorted(message(n).to_body() for n in range(25))

    def test_is_packed_by_bytes(self, sqs: Sqs) -> None:
        """B22: in UTF-8, and no batch is larger than every engine takes."""
        long = [Outgoing(Heavy(n), 0) for n in range(7)]  # type: ignore[arg-type]
        with calls.logged(sqs.client) as made:
            assert sqs.queue.send(long) == [True] * 7
        batches = [[e["MessageBody"] for e in p["Entries"]] for _, p in made]
        assert [len(b) for b in batches] == [2, 2, 2, 1]
        assert all(sum(len(body.encode()) for body in b) <= BATCH_BYTES for b in batches)

    @pytest.mark.parametrize("sender_fault", [False, True])
    def test_refused_entry_is_not_sent(self, sqs: Sqs, *, sender_fault: bool) -> None:
        """B20: the batch was answered 200, and one message in it is not in the queue."""

        def refuse(parsed: dict[str, Any]) -> None:
            taken = [e for e in parsed["Successful"] if e["Id"] != "3"]
            failed = {"Id": "3", "Code": "Broken", "Message": "no", "SenderFault": sender_fault}
            parsed |= {"Successful": taken, "Failed": [failed]}

        with calls.changed_answer(sqs.client, "SendMessageBatch", refuse):
            assert sqs.queue.send(outgoing(5)) == [True, True, True, False, True]
        [event] = sqs.observer.of("send_refused")
        assert event.fields == {"sender_fault": sender_fault, "reason": "Broken: no"}

    def test_batch_without_an_answer_is_not_sent_and_the_others_are(self, sqs: Sqs) -> None:
        trouble = error("ServiceUnavailable")
        with calls.answering(sqs.client, "SendMessageBatch", None, trouble):
            accepted = sqs.queue.send(outgoing(25))
        assert accepted == [True] * 10 + [False] * 10 + [True] * 5
        [event] = sqs.observer.of("send_failed")
        assert event.fields["messages"] == 10

    def test_lost_answer_sends_twice_and_says_once(self, sqs: Sqs) -> None:
        """The worker's claim makes the second copy harmless."""
        with calls.lost_answer(sqs.client, "SendMessageBatch") as lost:
            assert sqs.queue.send(outgoing(1)) == [True]
        assert lost == ["SendMessageBatch"]
        assert len(sqs.received()) == 2

    @pytest.mark.parametrize(("delay", "sent"), [(-5, 0), (0, 0), (900, 900), (901, 900)])
    def test_delay_is_one_that_sqs_takes(self, sqs: Sqs, delay: int, sent: int) -> None:
        """B23: some emulators accept more, and AWS does not."""
        with calls.logged(sqs.client) as made:
            sqs.queue.send([Outgoing(message(), delay)])
        assert made[0][1]["Entries"][0]["DelaySeconds"] == sent

    def test_hides_received_messages_in_batches(self, sqs: Sqs) -> None:
        sqs.queue.send(outgoing(12))
        receipts = [m["ReceiptHandle"] for m in sqs.received()]
        with calls.logged(sqs.client) as made:
            sqs.queue.hide(receipts, 0)
        assert [len(p["Entries"]) for _, p in made] == [10, 2]
        assert len(sqs.received()) == 12

    @pytest.mark.parametrize(("seconds", "sent"), [(-1, 0), (30, 30), (43_200, 42_300)])
    def test_visibility_is_one_that_sqs_takes(self, sqs: Sqs, seconds: int, sent: int) -> None:
        """Its 12 hours count from the receive, up to 900 s ago."""
        with calls.logged(sqs.client) as made:
            sqs.queue.hide(["a-receipt"], seconds)
        assert made[0][1]["Entries"][0]["VisibilityTimeout"] == sent

    def test_trouble_while_hiding_is_told(self, sqs: Sqs) -> None:
        def fail(parsed: dict[str, Any]) -> None:
            parsed["Failed"] = [{"Id": "0", "Code": "InternalError", "SenderFault": False}]

        with (
            calls.changed_answer(sqs.client, "ChangeMessageVisibilityBatch", fail),
            pytest.raises(Unavailable, match="InternalError"),
        ):
            sqs.queue.hide(["a-receipt"], 30)

    @pytest.mark.parametrize("code", ["RequestThrottled", "AWS.SimpleQueueService.OverLimit"])
    def test_throttling_in_our_words(self, sqs: Sqs, code: str) -> None:
        with (
            calls.answering(sqs.client, "GetQueueAttributes", error(code)),
            pytest.raises(Throttled),
        ):
            sqs.queue.idle()

    def test_dead_letter_keeps_the_body_and_says_why(self, sqs: Sqs) -> None:
        sqs.queue.dead_letter("not ours", "not JSON")
        [dead] = sqs.received(sqs.dead_url)
        assert dead["Body"] == "not ours"
        assert dead["MessageAttributes"]["Cronce-Reason"]["StringValue"] == "not JSON"


class Heavy:
    """A message of 129,000 bytes in 43,000 characters."""

    def __init__(self, n: int) -> None:
        self.n = n

    def to_body(self) -> str:
        return "€" * 43_000


class TestMemory:
    @pytest.fixture
    def clock(self) -> SettableClock:
        return SettableClock(NOW)

    @pytest.fixture
    def memory(self, clock: SettableClock) -> MemoryQueue:
        return MemoryQueue(clock, visibility=60, max_receive_count=3)

    def test_hands_out_when_the_delay_is_over(
        self, memory: MemoryQueue, clock: SettableClock
    ) -> None:
        memory.send([Outgoing(message(0), 5), Outgoing(message(1), 2)])
        clock.advance(1.999)
        assert memory.receive() == []
        clock.advance(0.001)
        [first] = memory.receive()
        assert first.body == message(1).to_body()
        clock.advance(3)
        [second] = memory.receive()
        assert second.body == message(0).to_body()

    def test_received_message_is_hidden_and_comes_back(
        self, memory: MemoryQueue, clock: SettableClock
    ) -> None:
        memory.send(outgoing(1))
        [first] = memory.receive()
        assert memory.receive() == []
        assert memory.idle()
        clock.advance(60)
        [second] = memory.receive()
        assert (second.message_id, second.receive_count) == (first.message_id, 2)
        assert second.receipt != first.receipt

    def test_hiding_counts_from_now_and_by_the_latest_receipt(
        self, memory: MemoryQueue, clock: SettableClock
    ) -> None:
        memory.send(outgoing(1))
        [first] = memory.receive()
        clock.advance(50)
        memory.hide([first.receipt], 30)
        clock.advance(29)
        assert memory.receive() == []
        clock.advance(1)
        memory.hide([first.receipt], 500)
        [second] = memory.receive()
        memory.hide([first.receipt], 0)
        assert memory.receive() == []
        memory.hide([second.receipt], 0)
        assert len(memory.receive()) == 1

    def test_acknowledged_by_the_latest_receipt_only(
        self, memory: MemoryQueue, clock: SettableClock
    ) -> None:
        memory.send(outgoing(1))
        [first] = memory.receive()
        clock.advance(60)
        [second] = memory.receive()
        assert not memory.delete(first.receipt)
        assert memory.delete(second.receipt)
        assert memory.waiting == []

    def test_batch_is_ten_at_most(self, memory: MemoryQueue) -> None:
        memory.send(outgoing(25))
        assert [len(memory.receive()) for _ in range(4)] == [10, 10, 5, 0]

    def test_received_too_often_is_a_dead_letter(
        self, memory: MemoryQueue, clock: SettableClock
    ) -> None:
        memory.send(outgoing(1))
        for _ in range(3):
            assert len(memory.receive()) == 1
            clock.advance(60)
        assert memory.receive() == []
        assert memory.dead_letters == [(message(0).to_body(), "received too often")]

    def test_copies_losses_and_a_purge(self, memory: MemoryQueue) -> None:
        memory.send(outgoing(3))
        memory.duplicate(memory.waiting[0])
        memory.lose(memory.waiting[1])
        received = memory.receive()
        assert [r.message_id for r in received].count(received[0].message_id) == 2
        assert memory.purge() == 3
        assert memory.next_visible_at() is None

    @pytest.mark.parametrize("delay", [-1, 901, 0.5])
    def test_is_as_strict_as_aws(self, memory: MemoryQueue, delay: int) -> None:
        with pytest.raises(ValueError, match="delay"):
            memory.send([replace(outgoing(1)[0], delay=delay)])
        with pytest.raises(ValueError, match="visibility"):
            memory.hide([], 43_201)


def test_limits_are_those_of_the_design() -> None:
    assert BATCH_BYTES <= limits.QUEUE_BATCH_BYTES
