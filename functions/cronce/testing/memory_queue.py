"""A queue as careless as SQS: delays, visibility, receipts per receive, copies, losses."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cronce import limits
from cronce.ports import Clock, Outgoing

# Of one receive, from its beginning. What would go beyond is refused in silence.
MAX_HIDDEN = timedelta(hours=12)


@dataclass
class Waiting:
    """A message in the queue. receipt, received_at: of the last receive."""

    number: int
    message_id: str
    body: str
    visible_at: datetime
    receive_count: int = 0
    receipt: str = ""
    received_at: datetime | None = None


@dataclass(frozen=True)
class Received:
    body: str
    message_id: str
    receipt: str
    receive_count: int


class MemoryQueue:
    """`cronce.ports.RunQueue`, and what a driver needs to play SQS and its event source mapping.

    clock: the queue's own, true time. visibility: seconds that a received message is hidden.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        visibility: int = limits.QUEUE_VISIBILITY,
        max_receive_count: int = limits.QUEUE_MAX_RECEIVE_COUNT,
    ) -> None:
        self._clock, self._visibility, self._most = clock, visibility, max_receive_count
        self._lock = threading.RLock()
        self._numbers = 0
        self.waiting: list[Waiting] = []
        self.dead_letters: list[tuple[str, str]] = []

    # --- the port

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        with self._lock:
            for o in outgoing:
                if not 0 <= o.delay <= limits.QUEUE_MAX_DELAY or o.delay != int(o.delay):
                    raise ValueError(f"a delay of {o.delay} s; SQS takes whole seconds, 0 to 900")
                number = self._next()
                at = self._clock.now() + timedelta(seconds=o.delay)
                body = o.message.to_body()
                self.waiting.append(Waiting(number, f"message-{number}", body, at))
            return [True] * len(outgoing)

    def idle(self) -> bool:
        with self._lock:
            return not self._visible(self._clock.now())

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        if not 0 <= seconds <= limits.QUEUE_MAX_HIDDEN:
            raise ValueError(f"a visibility timeout of {seconds} s")
        with self._lock:
            now = self._clock.now()
            until = now + timedelta(seconds=seconds)
            for message in self.waiting:
                held = message.receipt and message.receipt in receipts and message.visible_at > now
                if held and until - (message.received_at or now) <= MAX_HIDDEN:
                    message.visible_at = until

    def dead_letter(self, body: str, reason: str) -> None:
        with self._lock:
            self.dead_letters.append((body, reason))

    # --- the driver

    def receive(
        self, most: int = limits.BATCH_SIZE, rng: random.Random | None = None
    ) -> list[Received]:
        """Up to so many visible messages, now hidden. In order of their visibility; with `rng` in
        any order, as a standard queue may."""
        with self._lock:
            now = self._clock.now()
            visible = self._visible(now)
            if rng is not None:
                rng.shuffle(visible)
            return [r for r in (self._hand_out(m, now) for m in visible[:most]) if r is not None]

    def _hand_out(self, message: Waiting, now: datetime) -> Received | None:
        if message.receive_count >= self._most:
            self.waiting.remove(message)
            self.dead_letters.append((message.body, "received too often"))
            return None
        message.receive_count += 1
        message.receipt = f"receipt-{self._next()}"
        message.received_at = now
        message.visible_at = now + timedelta(seconds=self._visibility)
        return Received(message.body, message.message_id, message.receipt, message.receive_count)

    def delete(self, receipt: str) -> bool:
        """Acknowledged. False with a receipt of an earlier receive: the message stays."""
        with self._lock:
            for message in self.waiting:
                if receipt and message.receipt == receipt:
                    self.waiting.remove(message)
                    return True
            return False

    def next_visible_at(self) -> datetime | None:
        with self._lock:
            return min((m.visible_at for m in self.waiting), default=None)

    # --- what SQS may do

    def duplicate(self, message: Waiting) -> None:
        """A second delivery of the same message, under the same message id."""
        with self._lock:
            self.waiting.append(replace(message, number=self._next(), receipt=""))

    def lose(self, message: Waiting) -> None:
        with self._lock:
            self.waiting.remove(message)

    def purge(self) -> int:
        """How many there were."""
        with self._lock:
            count = len(self.waiting)
            self.waiting.clear()
            return count

    def _visible(self, now: datetime) -> list[Waiting]:
        visible = [m for m in self.waiting if m.visible_at <= now]
        return sorted(visible, key=lambda m: (m.visible_at, m.number))

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers
