"""Events as log lines and metrics (Powertools), with the deployment as the only dimension."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from datetime import datetime

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from cronce.domain.instants import to_wire

NAMESPACE = "cronce"
DIMENSION = "deployment"

# An attempt's end and the tick are what an operator reads; the rest is trouble, or detail.
_LEVELS = {
    "succeeded": logging.INFO,
    "failed": logging.INFO,
    "retrying": logging.INFO,
    "tick": logging.INFO,
    "job_created": logging.INFO,
    "job_changed": logging.INFO,
    "job_deleted": logging.INFO,
    "run_cancelled": logging.INFO,
    "run_skipped": logging.INFO,
    "run_missed": logging.INFO,
    "run_failed": logging.INFO,
    "missed": logging.INFO,
    "resent": logging.INFO,
    "reclaimed": logging.INFO,
    "claimed": logging.DEBUG,
    "copy_refused": logging.DEBUG,
    "tick_not_leader": logging.DEBUG,
    "watched": logging.DEBUG,
}
_COUNTED = {
    "claimed": "Claimed",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "run_failed": "Failed",
    "retrying": "Retried",
    "reclaimed": "Reclaimed",
    "resent": "Resent",
    "copy_refused": "DuplicatesRefused",
    "completion_refused": "CompletionsRefused",
    "run_cancelled": "Cancelled",
    "run_skipped": "Skipped",
    "job_error": "JobsInError",
    "unreadable": "Unreadable",
}
_OF_A_TICK = {"sent": "Dispatched", "advanced": "Advanced"}
_MISSED = "Missed"
NOT_ANNOUNCED = "NotAnnounced"
LATENESS = "Lateness"
OVERDUE = "OverdueSeconds"
METRICS = frozenset(
    {*_COUNTED.values(), *_OF_A_TICK.values(), _MISSED, NOT_ANNOUNCED, LATENESS, OVERDUE}
)


class PowertoolsObserver:
    """Safe to call from many threads; `flush` writes the metrics of one invocation.

    Lateness is the time from due to started, in milliseconds, of first attempts; OverdueSeconds is
    for how long the oldest row of the to-do index has been due.
    """

    def __init__(self, deployment: str, level: str = "INFO") -> None:
        self._logger = Logger(service=deployment, level=level)
        # Without a service: it would be a second dimension, and each of them makes a metric dearer.
        self._metrics = EphemeralMetrics(namespace=NAMESPACE)
        self._metrics.set_default_dimensions(**{DIMENSION: deployment})
        self._lock = threading.Lock()
        self._counts: dict[str, int] = defaultdict(int)
        self._lateness: list[float] = []
        self._overdue: list[float] = []

    def event(self, action: str, **fields: object) -> None:
        with self._lock:
            self._measure(action, fields)
        shown = {k: _shown(v) for k, v in fields.items() if v is not None}
        write = {logging.INFO: self._logger.info, logging.DEBUG: self._logger.debug}
        log = write.get(_LEVELS.get(action, 0), self._logger.warning)
        log(action, extra={"action": action, **shown})

    def flush(self) -> None:
        with self._lock:
            counts, self._counts = self._counts, defaultdict(int)
            lateness, self._lateness = self._lateness, []
            overdue, self._overdue = self._overdue, []
        for name, count in counts.items():
            self._metrics.add_metric(name, MetricUnit.Count, count)
        for value in lateness:
            self._metrics.add_metric(LATENESS, MetricUnit.Milliseconds, value)
        for value in overdue:
            self._metrics.add_metric(OVERDUE, MetricUnit.Seconds, value)
        if counts or lateness or overdue:
            self._metrics.flush_metrics()

    def _measure(self, action: str, fields: dict[str, object]) -> None:
        if name := _COUNTED.get(action):
            self._counts[name] += 1
        if action == "tick":
            for field, name in _OF_A_TICK.items():
                value = fields.get(field)
                self._counts[name] += value if isinstance(value, int) else 0
        if action == "missed" and isinstance(count := fields.get("count"), int):
            self._counts[_MISSED] += count
        if action == "not_announced" and isinstance(count := fields.get("count"), int):
            self._counts[NOT_ANNOUNCED] += count
        if action == "watched" and isinstance(overdue := fields.get("overdue"), float):
            self._overdue.append(overdue)
        due, started = fields.get("due"), fields.get("started_at")
        first = action == "claimed" and fields.get("attempt") == 1
        if first and isinstance(due, datetime) and isinstance(started, datetime):
            self._lateness.append(max(0.0, (started - due).total_seconds() * 1000))


def _shown(value: object) -> object:
    return to_wire(value) if isinstance(value, datetime) else value
