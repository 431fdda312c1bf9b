"""The same draws for the same seed."""

from __future__ import annotations

import random
import threading

from cronce.domain.identity import uid_from


class SeededRandom:
    """`cronce.ports.Random`. Tokens are unique within one instance."""

    def __init__(self, seed: int = 0) -> None:
        self._draw = random.Random(seed)
        self._lock = threading.Lock()

    def token(self) -> str:
        with self._lock:
            return f"{self._draw.getrandbits(128):032x}"

    def uid(self) -> str:
        with self._lock:
            return uid_from(self._draw.randbytes(16))

    def fraction(self) -> float:
        with self._lock:
            return self._draw.random()
