"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from cronce.domain.instants import check_aware


class SettableClock:
    """`cronce.ports.Clock`: sleeping is advancing. Safe to use from many threads."""

    def __init__(self, at: datetime) -> None:
        self._at = check_aware(at)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._at

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.advance(seconds)

    def set(self, at: datetime) -> None:
        """Backwards, too: real clocks are put right."""
        with self._lock:
            self._at = check_aware(at)

    def advance(self, seconds: float) -> datetime:
        """The time that it is then."""
        with self._lock:
            self._at += timedelta(seconds=seconds)
            return self._at


class SkewedClock:
    """Another machine's view of a clock. off: seconds, positive when it runs ahead."""

    def __init__(self, true: SettableClock, off: float) -> None:
        self._true, self.off = true, off

    def now(self) -> datetime:
        return self._true.now() + timedelta(seconds=self.off)

    def sleep(self, seconds: float) -> None:
        self._true.sleep(seconds)
