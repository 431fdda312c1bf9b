"""After a failed attempt: try again when, or give up. A decision is a value; the shell obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce import limits
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Fault, Invalid

MAX_ATTEMPTS = 20
MAX_BACKOFF = 86_400
MIN_DELAY = 1


@dataclass(frozen=True)
class RetryPolicy:
    """max_attempts: executions in all, the first included; backoff, max_backoff: seconds."""

    max_attempts: int = limits.MAX_ATTEMPTS_DEFAULT
    backoff: int = limits.BACKOFF_DEFAULT
    factor: int = limits.BACKOFF_FACTOR_DEFAULT
    max_backoff: int = limits.MAX_BACKOFF_DEFAULT

    def to_document(self) -> dict[str, object]:
        return {
            "max_attempts": self.max_attempts,
            "backoff": self.backoff,
            "factor": self.factor,
            "max_backoff": self.max_backoff,
        }


@dataclass(frozen=True)
class RetryAt:
    at: datetime


@dataclass(frozen=True)
class GiveUp:
    reason: str


def decide(
    policy: RetryPolicy,
    *,
    attempt: int,
    allowed: int,
    permanent: bool,
    retry_after: int | None,
    now: datetime,
    fraction: float,
) -> RetryAt | GiveUp:
    """What follows a failed attempt.

    attempt: the one that failed, 1, 2, …; allowed: the last attempt that may still be made
    (`max_attempts`, raised by a redrive). retry_after: seconds the target asked for, or None.
    fraction: the draw for full jitter, 0 <= fraction <= 1.
    """
    if permanent:
        return GiveUp("permanent")
    if attempt >= allowed:
        return GiveUp("attempts_exhausted")
    return RetryAt(now + timedelta(seconds=delay(policy, attempt, retry_after, fraction)))


def delay(policy: RetryPolicy, attempt: int, retry_after: int | None, fraction: float) -> int:
    """Whole seconds in [1, max_backoff]: exponential, full jitter, at least what the target asked.

    >>> [delay(RetryPolicy(), n, None, 1.0) for n in (1, 2, 3, 10, 200)]
    [10, 20, 40, 3600, 3600]
    """
    ceiling = policy.backoff
    for _ in range(min(attempt, MAX_ATTEMPTS * 2) - 1):
        ceiling = min(ceiling * policy.factor, policy.max_backoff)
    wished = max(round(min(ceiling, policy.max_backoff) * fraction), retry_after or 0)
    return max(MIN_DELAY, min(wished, max(policy.max_backoff, MIN_DELAY)))


def parse_retry(doc: object, pointer: str = "/retry") -> RetryPolicy:
    """Raises Invalid with every fault found."""
    if not isinstance(doc, Mapping):
        raise Invalid.one(pointer, "wrong_type", "retry is not an object", "an object")
    faults: list[Fault] = []
    values: dict[str, int] = {}
    bounds = {"max_attempts": (1, MAX_ATTEMPTS), "factor": (1, 10)}
    durations = {"backoff": (1, MAX_BACKOFF), "max_backoff": (1, MAX_BACKOFF)}
    for name, value in doc.items():
        at = f"{pointer}/{name}"
        if name in bounds:
            low, high = bounds[name]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                form = f"a whole number from {low} to {high}"
                faults.append(Fault(at, "out_of_range", f"{name} is not {form}", form))
            else:
                values[name] = value
        elif name in durations:
            low, high = durations[name]
            try:
                values[name] = parse_duration(value, pointer=at, low=low, high=high)
            except Invalid as e:
                faults.extend(e.faults)
        else:
            known = ", ".join([*bounds, *durations])
            faults.append(Fault(at, "unknown_field", f"retry has no field {name!r:.60}", known))
    if faults:
        raise Invalid(faults)
    return RetryPolicy(**values)
