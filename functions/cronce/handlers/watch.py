"""Lambda entry point of the watch: once a minute, how long the oldest due row has been waiting.

It shares no lease, no function and no rule with the dispatcher, so that it still speaks when that
one has died; and when it is silent itself, its alarm takes that for the worst.
"""

from __future__ import annotations

import json
import urllib.request
from contextlib import suppress
from typing import Any

from cronce import limits
from cronce.handlers import wiring

ANSWER_TIMEOUT = 20


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """event: a scheduled event, or CloudFormation's request for the custom resource that lets the
    alarms wait for the first measurements. Returns `overdue`, in seconds.

    Raises what the table could not answer; no number is written then.
    """
    if "ResponseURL" in event:
        return _first_look(event)
    return {"overdue": _look()}


def _look() -> float:
    lookout = wiring.lookout()
    try:
        oldest = lookout.oldest.read()
    except Exception as error:
        lookout.observer.event("watch_failed", reason=str(error))
        raise
    now = lookout.clock.now()
    overdue = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
    lookout.observer.event("watched", overdue=overdue)
    lookout.observer.flush()
    return overdue


def _first_look(event: dict[str, Any]) -> dict[str, Any]:
    """Answers success whatever was seen: a deployment does not fail by being looked at."""
    lookout = wiring.lookout()
    if event["RequestType"] == "Create":
        with suppress(Exception):
            _look()
        if lookout.profile == "aws":
            lookout.clock.sleep(limits.FIRST_LOOK_WAIT)
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": event.get("PhysicalResourceId") or event["LogicalResourceId"],
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    request = urllib.request.Request(
        event["ResponseURL"],
        data=json.dumps(answer).encode(),
        headers={"Content-Type": ""},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT):
        return {"answered": answer["Status"]}
