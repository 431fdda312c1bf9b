"""Calls and executors for the tests of targets."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_network
from typing import Any

from cronce.targets.contract import Call
from cronce.targets.http import HttpTarget
from cronce.targets.kinds import SecretUnavailable, Tools

NOW = dt.datetime(2026, 11, 30, 1, 30, tzinfo=dt.UTC)
LOOPBACK = (ip_network("127.0.0.0/8"),)


class FakeSecrets:
    """A secret store held in a dict; `reads` and `forgotten` tell what was asked of it."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.forgotten: list[str] = []

    def get(self, arn: str) -> str:
        if arn not in self.values:
            raise SecretUnavailable(f"{arn}: ResourceNotFoundException", permanent=True)
        return self.values[arn]

    def forget(self, arn: str) -> None:
        self.forgotten.append(arn)


def no_clients(service: str, region: str, read_timeout: float) -> Any:
    raise AssertionError("an http target needs no AWS client")


def http_target(secrets: FakeSecrets | None = None, **tools: Any) -> HttpTarget:
    given: dict[str, Any] = {"allowed_addresses": LOOPBACK, "now": lambda: NOW} | tools
    return HttpTarget(Tools(clients=no_clients, secrets=secrets or FakeSecrets({}), **given))


def call_of(target: dict[str, Any], **changes: Any) -> Call:
    values: dict[str, Any] = {
        "job_id": "billing.invoice",
        "run_id": "20261130T013000Z-k3f9a2qd",
        "scheduled_for": NOW,
        "attempt": 2,
        "deadline": NOW + dt.timedelta(seconds=60),
        "timeout": 10.0,
        "target": target,
    }
    return Call(**(values | changes))
