"""Concurrency without any: everything runs at once, in the caller, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from cronce.ports import Task

T = TypeVar("T")
R = TypeVar("R")


class InlineThreads:
    """`cronce.ports.Threads`: `start` has ended when it returns."""

    def start(self, work: Callable[[], object]) -> Task:
        return _Ended(work)

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        results: list[R] = []
        errors: list[Exception] = []
        for item in items:
            try:
                results.append(work(item))
            except Exception as e:
                errors.append(e)
        if errors:
            raise errors[0]
        return results


class _Ended:
    def __init__(self, work: Callable[[], object]) -> None:
        self._value: object = None
        self._error: Exception | None = None
        try:
            self._value = work()
        except Exception as e:
            self._error = e

    def wait(self, seconds: float) -> bool:
        return True

    def result(self) -> object:
        if self._error is not None:
            raise self._error
        return self._value
