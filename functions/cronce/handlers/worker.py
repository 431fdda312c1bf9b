"""Lambda entry point of the worker: batches of the run queue, with partial responses."""

from __future__ import annotations

import os
from typing import Any

from cronce.domain.instants import seconds
from cronce.domain.run import LogPointer
from cronce.handlers import wiring
from cronce.work import Delivery, Worker, work_batch

VISIBLE_AGAIN = 1


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """event: a batch of the event source mapping. Returns `batchItemFailures`: the messages that go
    back. A job's own failure is recorded on its run and is no failure here."""
    app = wiring.app()
    deliveries = [
        Delivery(r["body"], r["messageId"], r["receiptHandle"]) for r in event.get("Records", [])
    ]
    worker = Worker(
        app.ports,
        app.settings,
        wiring.target(),
        app.ports.clock.now() + seconds(context.get_remaining_time_in_millis() / 1000),
        LogPointer(
            getattr(context, "log_group_name", "") or "",
            getattr(context, "log_stream_name", "") or "",
            getattr(context, "aws_request_id", "") or "",
        ),
    )
    try:
        report = work_batch(worker, deliveries)
    finally:
        app.observer.flush()
    if report.abandoned:
        _end_process(app, deliveries)
    return {"batchItemFailures": [{"itemIdentifier": i} for i in report.returned]}


def _end_process(app: wiring.App, deliveries: list[Delivery]) -> None:
    """A call that could not be stopped must not go on in a later invocation. The batch comes back
    at once, and what has ended is recognised by its row."""
    app.observer.event("process_ended", reason="a target outlived its timeout")
    app.ports.queue.hide([d.receipt for d in deliveries], VISIBLE_AGAIN)
    os._exit(1)
