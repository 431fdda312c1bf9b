"""Several calls of the API at once, each with its own failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError

from cronce.client import ApiError, BadId, NotSigned, Unreachable

TROUBLE = (ApiError, Unreachable, NotSigned, BadId, BotoCoreError)
AT_ONCE = 6


@dataclass(frozen=True)
class Trouble:
    """What a page says instead. status: of HTTP, as the console answers it."""

    status: int
    title: str
    detail: str


@dataclass(frozen=True)
class Loaded:
    """Each call's answer or trouble, by name."""

    found: Mapping[str, Any]
    trouble: Mapping[str, Trouble]

    def get(self, name: str) -> Any:
        """None where it could not be had."""
        return self.found.get(name)


def load(**calls: Callable[[], Any]) -> Loaded:
    with ThreadPoolExecutor(min(AT_ONCE, len(calls))) as pool:
        futures = {name: pool.submit(_tried, call) for name, call in calls.items()}
        answers = {name: future.result() for name, future in futures.items()}
    return Loaded(
        {name: value for name, value in answers.items() if not isinstance(value, Trouble)},
        {name: value for name, value in answers.items() if isinstance(value, Trouble)},
    )


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TROUBLE as error:
        return trouble_of(error)


def trouble_of(error: Exception) -> Trouble:
    """In words of what can be done about it."""
    if isinstance(error, ApiError):
        if error.status == 403:
            advice = "The console's credentials need the policy Reader to look, Operator to steer."
            return Trouble(403, "Not allowed", f"{error.detail or error.title}. {advice}")
        faults = "; ".join(str(fault.get("detail", "")) for fault in error.errors)
        detail = faults or error.detail
        if error.document.get("state"):
            detail = f"{detail}."
        status = error.status if error.status in (400, 404, 409, 412, 422, 429, 503) else 502
        return Trouble(status, error.title or f"The API answered {error.status}", detail)
    if isinstance(error, BadId):
        return Trouble(404, "There is no such page", str(error))
    return Trouble(502, "The API does not answer", str(error))
