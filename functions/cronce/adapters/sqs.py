"""The run queue and its dead letters over SQS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from cronce import limits
from cronce.adapters.aws_errors import answered
from cronce.domain.errors import Unavailable
from cronce.ports import Observer, Outgoing

T = TypeVar("T")

# What every SQS and every emulator takes, whatever its limit for one batch is by now.
BATCH_BYTES: Final = min(limits.QUEUE_BATCH_BYTES, 256 * 1024)
REASON_LENGTH: Final = 256


class SqsQueue:
    """`cronce.ports.RunQueue`. client: boto3's SQS client, made with CLIENT_CONFIG."""

    def __init__(
        self, client: Any, queue_url: str, dead_letter_url: str, observer: Observer
    ) -> None:
        self._client, self._url, self._dead = client, queue_url, dead_letter_url
        self._observer = observer

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        entries = [_entry(n, o) for n, o in enumerate(outgoing)]
        accepted: set[str] = set()
        for batch in _packed(entries):
            accepted |= self._send(batch)
        return [entry["Id"] in accepted for entry in entries]

    def _send(self, batch: list[dict[str, Any]]) -> set[str]:
        """The ids that SQS took; none of a batch that was not answered, as far as anybody knows."""
        try:
            with answered("SendMessageBatch"):
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=batch)
        except Unavailable as e:
            self._observer.event("send_failed", messages=len(batch), reason=str(e))
            return set()
        for failed in answer.get("Failed", ()):
            self._observer.event(
                "send_refused",
                sender_fault=bool(failed.get("SenderFault")),
                reason=f"{failed.get('Code')}: {failed.get('Message', '')}"[:REASON_LENGTH],
            )
        return {entry["Id"] for entry in answer.get("Successful", ())}

    def idle(self) -> bool:
        name = "ApproximateNumberOfMessages"
        with answered("GetQueueAttributes"):
            answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=[name])
        return int(answer["Attributes"][name]) == 0

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        hidden = max(0, min(int(seconds), limits.QUEUE_MAX_HIDDEN))
        entries = [
            {"Id": str(n), "ReceiptHandle": receipt, "VisibilityTimeout": hidden}
            for n, receipt in enumerate(receipts)
        ]
        for batch in _counted(entries, limits.QUEUE_BATCH_MESSAGES):
            with answered("ChangeMessageVisibilityBatch"):
                answer = self._client.change_message_visibility_batch(
                    QueueUrl=self._url, Entries=batch
                )
            _check_hidden(answer)

    def dead_letter(self, body: str, reason: str) -> None:
        with answered("SendMessage"):
            self._client.send_message(
                QueueUrl=self._dead,
                MessageBody=body,
                MessageAttributes={
                    "Cronce-Reason": {
                        "DataType": "String",
                        "StringValue": reason[:REASON_LENGTH] or "unreadable",
                    }
                },
            )


def _entry(n: int, o: Outgoing) -> dict[str, Any]:
    delay = max(0, min(int(o.delay), limits.QUEUE_MAX_DELAY))
    return {"Id": str(n), "MessageBody": o.message.to_body(), "DelaySeconds": delay}


def _check_hidden(answer: Mapping[str, Any]) -> None:
    """A receipt that is no longer valid is a fault of the sender's, and passed over."""
    for failed in answer.get("Failed", ()):
        if not failed.get("SenderFault", True):
            raise Unavailable(f"ChangeMessageVisibilityBatch: {failed.get('Code')}"[:REASON_LENGTH])


def _packed(entries: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """By count and by bytes."""
    batch: list[dict[str, Any]] = []
    size = 0
    for entry in entries:
        weight = len(entry["MessageBody"].encode())
        if batch and (len(batch) == limits.QUEUE_BATCH_MESSAGES or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += weight
    if batch:
        yield batch


def _counted(entries: Sequence[T], most: int) -> Iterator[list[T]]:
    for start in range(0, len(entries), most):
        yield list(entries[start : start + most])
