"""Lambda entry point of the tick: once a minute, from the rule."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce import limits
from cronce.dispatch import tick
from cronce.domain.instants import check_aware, seconds
from cronce.handlers import wiring

# Kept back for what is under way when the tick stops.
TO_SPARE = limits.DISPATCHER_TIMEOUT - limits.DISPATCHER_STOP_AFTER


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """event: a scheduled event of EventBridge; its `time` is when the tick was meant to be.

    Returns the tick's counts. Raises what the table or the queue could not answer: the next tick
    meets the same index.
    """
    app = wiring.app()
    now = app.ports.clock.now()
    left = context.get_remaining_time_in_millis() / 1000
    budget = min(limits.DISPATCHER_STOP_AFTER, left - TO_SPARE)
    try:
        report = tick(
            app.ports,
            app.settings,
            event_time=_event_time(event, now),
            deadline=now + seconds(budget),
        )
    finally:
        app.observer.flush()
    return {"led": report.led, "finished": report.finished, "sent": report.sent}


def _event_time(event: dict[str, Any], now: datetime) -> datetime:
    """An emulator, or somebody who invokes by hand, may send none that can be read."""
    try:
        return check_aware(datetime.fromisoformat(event["time"]))
    except (KeyError, TypeError, ValueError):
        return now
