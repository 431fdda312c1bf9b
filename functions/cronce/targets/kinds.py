"""What a kind of target is made of, and what all of them are built with."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Protocol

from cronce.adapters.system import SystemClock
from cronce.domain.errors import Fault
from cronce.targets.contract import Target
from cronce.targets.fields import Fields, check_fields

Config = Mapping[str, Any]
Network = IPv4Network | IPv6Network


class Clients(Protocol):
    def __call__(self, service: str, region: str, read_timeout: float) -> Any:
        """A boto3 client with its retries off. region: of the ARN; empty for the worker's own."""
        ...


class SecretUnavailable(Exception):
    """A secret could not be read. The text never holds a value. permanent: trying again is vain."""

    def __init__(self, detail: str, *, permanent: bool) -> None:
        self.permanent = permanent
        super().__init__(detail)


class Secrets(Protocol):
    def get(self, arn: str) -> str:
        """The secret's text. Raises SecretUnavailable."""
        ...

    def forget(self, arn: str) -> None:
        """Read it anew the next time: the other side did not accept it."""
        ...


Resolver = Callable[[str, int], Sequence[str]]
"""(host, port) to its addresses. Raises OSError."""


@dataclass(frozen=True)
class Tools:
    """Everything that executors take from outside.

    allowed_addresses: networks that `http` may reach though they are not public.
    runtime_api: `host:port` of the function's own runtime, which no target may ever be.
    resolve, tls: None for the system's own.
    """

    clients: Clients
    secrets: Secrets
    profile: str = "aws"
    allowed_addresses: tuple[Network, ...] = ()
    runtime_api: str = ""
    now: Callable[[], datetime] = SystemClock().now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    resolve: Resolver | None = None
    tls: ssl.SSLContext | None = None


def _nothing_else(config: Config, profile: str) -> list[Fault]:
    return []


def _any_payload(config: Config, payload: str | None, is_json: bool) -> list[Fault]:
    return []


@dataclass(frozen=True)
class Kind:
    """One row of the table of kinds.

    fields: what its object may hold. rules: further faults of an object, whatever its fields are
    like, for a profile (`aws`, `emulator`). about: of the kind, for people.
    resources: (pointer, URL or ARN) that a valid object reaches; each must be allowed.
    build: the executor. payload_limit: bytes that the other side takes, None for no limit of
    its own. payload_rule: faults of a payload (as written) for a valid object, at pointer "".
    """

    name: str
    about: str
    fields: Fields
    resources: Callable[[Config], list[tuple[str, str]]]
    build: Callable[[Tools], Target]
    rules: Callable[[Config, str], list[Fault]] = _nothing_else
    payload_limit: int | None = None
    payload_rule: Callable[[Config, str | None, bool], list[Fault]] = _any_payload

    def validate(self, config: Config, profile: str) -> list[Fault]:
        """All faults of the kind's object."""
        return check_fields(config, self.fields) + self.rules(config, profile)
