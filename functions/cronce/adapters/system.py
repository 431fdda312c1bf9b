"""The machine: its clock, its threads, its entropy. The only place that reads any of them."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import SystemRandom as Entropy
from typing import Final, TypeVar

from cronce.domain.identity import uid_from
from cronce.ports import Task

T = TypeVar("T")
R = TypeVar("R")

WIDTH: Final = 16


class SystemClock:
    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class SystemRandom:
    def __init__(self) -> None:
        self._entropy = Entropy()

    def token(self) -> str:
        return secrets.token_urlsafe(16)

    def uid(self) -> str:
        return uid_from(secrets.token_bytes(16))

    def fraction(self) -> float:
        return self._entropy.random()


class SystemThreads:
    """Daemon threads, and no pool: what hangs is abandoned, and never keeps the process alive.

    width: how many items of one `each` run at a time.
    """

    def __init__(self, width: int = WIDTH) -> None:
        self._width = width

    def start(self, work: Callable[[], object]) -> Task:
        return _Thread(work)

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        waiting = list(items)
        results: dict[int, R] = {}
        errors: dict[int, BaseException] = {}
        turns = iter(range(len(waiting)))
        lock = threading.Lock()

        def take_turns() -> None:
            while True:
                with lock:
                    turn = next(turns, None)
                if turn is None:
                    return
                try:
                    results[turn] = work(waiting[turn])
                except BaseException as e:
                    errors[turn] = e

        helpers = [_Thread(take_turns) for _ in range(min(self._width, len(waiting)) - 1)]
        take_turns()
        for helper in helpers:
            helper.join()
        if errors:
            raise errors[min(errors)]
        return [results[turn] for turn in range(len(waiting))]


class _Thread:
    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._value: object = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as e:
            self._error = e

    def wait(self, seconds: float) -> bool:
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()

    def result(self) -> object:
        if self._error is not None:
            raise self._error
        return self._value
