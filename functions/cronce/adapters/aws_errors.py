"""From what botocore raises to our errors, and how long its calls may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from cronce.domain.errors import Throttled, Unavailable

# A call that has not been answered in a few seconds is not worth waiting for: a lease is 30 s.
CLIENT_CONFIG: Final = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=50,
    tcp_keepalive=True,
)

_THROTTLED: Final = frozenset(
    {
        "OverLimit",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# What we sent is wrong, and will be wrong the next time: a fault of ours, to be seen as one.
_OURS: Final = frozenset(
    {
        "InvalidParameterCombination",
        "InvalidParameterValue",
        "MissingParameter",
        "SerializationException",
        "ValidationError",
        "ValidationException",
    }
)


def code_of(e: ClientError) -> str:
    """Without the prefixes that SQS puts before it."""
    return str(e.response.get("Error", {}).get("Code", "")).rsplit(".", 1)[-1]


def reasons_of(e: ClientError) -> list[dict[str, Any]]:
    """Of a cancelled transaction, one per write in it."""
    return list(e.response.get("CancellationReasons") or [])


def translated(e: ClientError | BotoCoreError, call: str) -> Unavailable | None:
    """Throttled or Unavailable; None for what is our own fault."""
    if isinstance(e, ClientError):
        code = code_of(e)
        if code in _OURS:
            return None
        kind = Throttled if code in _THROTTLED else Unavailable
        return kind(f"{call}: {code}: {e.response.get('Error', {}).get('Message', '')}"[:300])
    if isinstance(e, ParamValidationError):
        return None
    return Unavailable(f"{call}: {type(e).__name__}: {e}"[:300])


@contextmanager
def answered(call: str) -> Iterator[None]:
    """Around one call of a client. Raises Throttled, Unavailable; our own faults as they are."""
    try:
        yield
    except (ClientError, BotoCoreError) as e:
        error = translated(e, call)
        if error is None:
            raise
        raise error from e
