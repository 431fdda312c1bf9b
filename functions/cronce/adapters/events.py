"""Announcements as events of an EventBridge bus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from botocore.config import Config

from cronce.adapters.aws_errors import answered
from cronce.domain.errors import Unavailable
from cronce.domain.outcome import SOURCE, Outcome
from cronce.ports import Observer

BATCH: Final = 10
# Entries that the bus refused are offered once more: it throttles single ones.
ROUNDS: Final = 2
# The run is recorded and its message still hidden: an announcement may take a few seconds of it.
BUS_CONFIG: Final = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 2},
    tcp_keepalive=True,
)


class BusAnnouncer:
    """`cronce.announce.Announcer`. client: boto3's EventBridge client, made with BUS_CONFIG. bus:
    name or ARN. deployment: in the detail of every event."""

    def __init__(self, client: Any, bus: str, deployment: str, observer: Observer) -> None:
        self._client, self._bus, self._deployment = client, bus, deployment
        self._observer = observer

    def announce(self, outcomes: Sequence[Outcome]) -> None:
        entries = [self._entry(outcome) for outcome in outcomes]
        for start in range(0, len(entries), BATCH):
            if not self._put(entries[start : start + BATCH]):
                # The bus does not answer: those that follow would only wait for it as well.
                self._lost(len(entries) - start, "the bus does not answer")
                return

    def _entry(self, outcome: Outcome) -> dict[str, object]:
        detail = {"deployment": self._deployment, **outcome.detail}
        return {
            "Source": SOURCE,
            "DetailType": outcome.kind,
            "Detail": json.dumps(detail, separators=(",", ":")),
            "EventBusName": self._bus,
        }

    def _put(self, entries: list[dict[str, object]]) -> bool:
        """False: no answer; what became of them is not known."""
        left, why = entries, ""
        for _ in range(ROUNDS):
            try:
                with answered("PutEvents"):
                    answer = self._client.put_events(Entries=left)
            except Unavailable as e:
                self._observer.event("announcing_failed", reason=str(e))
                return False
            except Exception as e:
                # A fault of ours must not become one of the run that it is about.
                self._lost(len(left), f"{type(e).__name__}: {e}"[:300])
                return True
            refused = [
                (entry, result)
                for entry, result in zip(left, answer["Entries"], strict=False)
                if "ErrorCode" in result
            ]
            if not refused:
                return True
            left = [entry for entry, _ in refused]
            why = str(refused[0][1]["ErrorCode"])
        self._lost(len(left), why)
        return True

    def _lost(self, count: int, reason: str) -> None:
        self._observer.event("not_announced", count=count, reason=reason)
