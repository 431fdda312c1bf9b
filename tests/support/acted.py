"""A whole deployment in virtual time behind cronce's own client: what the client would send over
the wire becomes an event of the gateway, and the API's real handler answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from botocore.credentials import Credentials

from cronce.client import Client
from cronce.control import Control
from cronce.handlers.api import build_app
from cronce.handlers.operations import Parts
from cronce.targets.contract import Answer, Call, refused, retried, succeeded
from cronce.testing.invoke import Context
from support.stage import Stage

T = TypeVar("T")
HOUR = 3_600
CALLER = "arn:aws:sts::123456789012:assumed-role/Operator/alice"


class Acted(Client):
    """The stage lives on a thread of its own, because greenlets do not change threads."""

    def __init__(self, **choices: Any) -> None:
        super().__init__(
            "https://api.example.com/prod/", Credentials("AKID", "SECRET"), "eu-west-1"
        )
        self._thread = ThreadPoolExecutor(1)
        self.requests: list[tuple[str, str]] = []
        self.stage = self.on_stage(lambda: Stage(**choices))

    def on_stage(self, do: Callable[[], T]) -> T:
        return self._thread.submit(do).result()

    def run(self, seconds: float) -> None:
        self.on_stage(lambda: self.stage.run(seconds))

    def instant(self) -> datetime:
        """Now, in virtual time."""
        return self.on_stage(lambda: self.stage.now)

    def close(self) -> None:
        self.on_stage(self.stage.close)
        self._thread.shutdown()

    def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, float | None, str]:
        parts = urlsplit(url)
        path = parts.path.removeprefix("/prod")
        self.requests.append((method, path))
        event = {
            "path": unquote(path),
            "httpMethod": method,
            "body": body.decode() or None,
            "headers": dict(headers),
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "multiValueQueryStringParameters": {
                name: [value] for name, value in parse_qsl(parts.query, keep_blank_values=True)
            }
            or None,
            "pathParameters": {"proxy": path[1:]},
            "requestContext": {"requestId": "r-1", "identity": {"userArn": CALLER}},
        }

        def answer(control: Control) -> Any:
            parts = Parts(control, lambda target: [], lambda *_: [])
            return build_app(parts)(event, Context())

        raw = self.on_stage(lambda: self.stage.api(answer))
        return raw["statusCode"], None, raw["body"] or ""


def answer(call: Call) -> Answer:
    """By the job's id, so that a night has something of everything."""
    if call.job_id.startswith("broken"):
        return refused("http_410", "the invoice service has moved <script>alert(1)</script>")
    if call.job_id.startswith("flaky") and call.attempt == 1:
        return retried("http_503", "upstream unavailable")
    if call.job_id.startswith("down"):
        return retried("http_503", "connection refused")
    return succeeded("http_200")


def takes(call: Call) -> float:
    return 300 if call.job_id.startswith("slow") else 0.4


LONG = "long." + "w" * 123
NIGHT: dict[str, dict[str, Any]] = {
    "invoices.send": {
        "schedule": {"cron": "*/10 * * * *", "timezone": "Europe/Berlin"},
        "description": "Sends what the day's orders owe",
    },
    "orders.poll": {"schedule": {"rate": "30s"}},
    "broken.export": {
        "schedule": {"cron": "*/20 * * * *"},
        "description": "<img src=x onerror=alert(1)> nightly export",
        "payload": {"api_key": "hunter2", "html": "<script>alert(1)</script>", "n": 1.50},
    },
    "flaky.sync": {"schedule": {"cron": "5,35 * * * *"}, "retry": {"backoff": "5s"}},
    "slow.report": {"schedule": {"cron": "2 * * * *"}, "timeout": "10m"},
    "down.mirror": {
        "schedule": {"cron": "*/15 * * * *"},
        "retry": {"max_attempts": 2, "backoff": "20s"},
    },
    "cleanup": {
        "schedule": {"cron": "17 * * * *", "timezone": "America/New_York", "jitter": "90s"}
    },
    LONG: {"schedule": {"cron": "45 * * * *"}},
    "month.end": {"schedule": {"cron": "30 2 L * *", "timezone": "Europe/Berlin"}},
}


def a_night(hours: float = 3, **choices: Any) -> Acted:
    acted = Acted(answer=answer, takes=takes, pollers=2, **choices)
    target = {"http": {"url": "https://hooks.example.com/in?token=hunter2"}}
    for job_id, job in NIGHT.items():
        acted.put_job(job_id, {"target": target, **job})
    acted.put_job("resting", {"schedule": "rate(5 minutes)", "target": target})
    acted.pause("resting", note="until the audit is over")
    acted.run(hours * HOUR)
    acted.run_job("invoices.send", client_id="by-hand")
    acted.run(30)
    return acted
