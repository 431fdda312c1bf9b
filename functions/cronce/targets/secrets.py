"""Secrets by reference: read from Secrets Manager when needed, kept for a minute, never logged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from cronce.targets.aws import classify
from cronce.targets.fields import region_of
from cronce.targets.kinds import Clients, SecretUnavailable

KEEP_SECONDS = 60.0
MOST_KEPT = 64
READ_SECONDS = 5.0


class SecretsManager:
    """Safe for several threads; two that ask at once may both read.

    monotonic: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        clients: Clients,
        *,
        keep: float = KEEP_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clients, self._keep, self._monotonic = clients, keep, monotonic
        self._kept: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"SecretsManager({len(self._kept)} kept)"

    def get(self, arn: str) -> str:
        with self._lock:
            until, value = self._kept.get(arn, (0.0, ""))
        if self._monotonic() < until:
            return value
        value = self._read(arn)
        with self._lock:
            self._kept.pop(arn, None)
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[arn] = (self._monotonic() + self._keep, value)
        return value

    def forget(self, arn: str) -> None:
        with self._lock:
            self._kept.pop(arn, None)

    def _read(self, arn: str) -> str:
        try:
            client: Any = self._clients("secretsmanager", region_of(arn), READ_SECONDS)
            found = client.get_secret_value(SecretId=arn)
        except Exception as e:
            failure = classify(e)
            raise SecretUnavailable(f"{arn}: {failure.code}", permanent=failure.permanent) from None
        value = found.get("SecretString")
        if not isinstance(value, str):
            raise SecretUnavailable(f"{arn} holds no text", permanent=True)
        return value
