"""Calls to AWS services: clients without retries, and failures told apart by the contract."""

from __future__ import annotations

import math
import re
import threading
from collections import OrderedDict
from typing import Any

import boto3
from botocore.config import Config as BotoConfig
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)

from cronce.targets.contract import Answer, is_retried, refused, retried, timed_out

CONNECT_SECONDS = 5.0
# The read timeout lies this far above the attempt's: not the connection decides when it is over.
READ_SLACK = 1.0
MOST_CLIENTS = 32

# Several services answer 400 for these, though another attempt is just what they ask for.
_RETRIED_CODES = re.compile(
    r"Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|ProvisionedThroughput|KmsThrottled"
    r"|ExpiredToken|RequestExpired|RequestTimeout|ServiceUnavailable|InternalFailure"
    r"|InternalError|InternalException|InternalServerError|InternalServiceError"
    r"|ServerException|PriorRequestNotComplete|EC2Unexpected",
    re.IGNORECASE,
)
_LIMIT_CODES = frozenset({"ExecutionLimitExceeded", "LimitExceededException"})


class BotoClients:
    """The factory of clients. They are kept, the oldest given up first, by service, Region and
    timeout in whole seconds, rounded up: a service slower than that has missed its attempt."""

    def __init__(self, *, session: Any = None, max_pool: int = 20) -> None:
        self._session = session or boto3.session.Session()
        self._kept: OrderedDict[tuple[str, str, int], Any] = OrderedDict()
        self._lock = threading.Lock()
        self._max_pool = max_pool

    def __call__(self, service: str, region: str, read_timeout: float) -> Any:
        key = (service, region, max(1, math.ceil(read_timeout)))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._make(*key)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_CLIENTS:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _make(self, service: str, region: str, read_timeout: int) -> Any:
        config = BotoConfig(
            connect_timeout=min(CONNECT_SECONDS, read_timeout),
            read_timeout=read_timeout,
            retries={"total_max_attempts": 1, "mode": "standard"},
            max_pool_connections=self._max_pool,
            tcp_keepalive=True,
        )
        return self._session.client(service, region_name=region or None, config=config)


def classify(error: Exception) -> Answer:
    """The answer for what a client raised. Only the service's own words get into the detail."""
    if isinstance(error, ClientError):
        fault = error.response.get("Error", {})
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return by_code(fault.get("Code", ""), fault.get("Message", ""), status)
    if isinstance(error, ReadTimeoutError):
        return timed_out("the service did not answer within the attempt's time")
    if isinstance(error, ParamValidationError):
        return refused("bad_request", str(error))
    if isinstance(error, NoCredentialsError):
        return retried("no_credentials", "the worker has no credentials")
    if isinstance(error, BotoCoreError | OSError):
        return retried("connection", type(error).__name__)
    raise error


def by_code(code: str, message: str, status: int = 0) -> Answer:
    """By the error code of a service, and its HTTP status where there is one."""
    word = re.sub(r"[^A-Za-z0-9_.-]", "_", code)[:80] or f"http_{status}"
    if is_retried(status) or _RETRIED_CODES.search(code) or code in _LIMIT_CODES:
        return retried(word, message)
    return refused(word, message)
