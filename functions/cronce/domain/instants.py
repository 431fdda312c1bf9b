"""Instants: aware UTC datetimes inside, ISO 8601 strings of one width in the table."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_WIRE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_aware(at: datetime) -> datetime:
    """`at` itself in UTC. Raises ValueError for a naive datetime: it names no instant."""
    if at.tzinfo is None:
        raise ValueError(f"naive datetime {at!r}")
    return at.astimezone(UTC)


def to_wire(at: datetime) -> str:
    """`2026-11-29T10:00:00.000Z`: sorts as text in the order of time. Rounded down to 1 ms.

    >>> to_wire(datetime(2026, 11, 29, 10, tzinfo=UTC))
    '2026-11-29T10:00:00.000Z'
    """
    at = check_aware(at)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z".rjust(24, "0")


def from_wire(text: str) -> datetime:
    """Inverse of `to_wire`. Raises ValueError for any other form."""
    if not isinstance(text, str) or not _WIRE.fullmatch(text):
        raise ValueError(f"not an instant of the form 2026-11-29T10:00:00.000Z: {text!r}")
    return datetime.fromisoformat(text)


def to_api(at: datetime) -> str:
    """Shortest ISO 8601 form in UTC: whole seconds where there is nothing behind them.

    >>> to_api(datetime(2026, 11, 29, 10, tzinfo=UTC))
    '2026-11-29T10:00:00Z'
    """
    at = check_aware(at)
    fraction = f".{at.microsecond // 1000:03d}" if at.microsecond >= 1000 else ""
    return f"{at:%Y-%m-%dT%H:%M:%S}{fraction}Z".rjust(20 + len(fraction), "0")


def epoch_seconds(at: datetime) -> int:
    """Whole seconds since 1970, the form of DynamoDB's TTL attribute."""
    return int((at - EPOCH).total_seconds())


def seconds(n: float) -> timedelta:
    return timedelta(seconds=n)
