"""What every target is given, and how its answers are told apart. The kinds differ in nothing else.

A target is called at most once per attempt. It sees the same names everywhere (`context`): as
headers, message attributes, the client context of a function, or environment variables.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from cronce import limits
from cronce.domain.instants import to_api

EXCERPT_BYTES = limits.RESULT_BYTES
RETRY_AFTER_LIMIT = 3600
VALUE_BYTES = 256
RETRIED_STATUSES = frozenset({401, 407, 408, 409, 425, 429})

Outcome = Literal["succeeded", "failed", "timed_out"]


@dataclass(frozen=True)
class Call:
    """One attempt of one run.

    deadline: when the attempt is over; timeout: the same, as seconds left now.
    target: the one-key object of the definition, e.g. `{"http": {...}}`.
    payload: JSON text as written, or the text of `payload_text`; None for a job without either.
    trigger: empty for the schedule's own run.
    """

    job_id: str
    run_id: str
    scheduled_for: datetime
    attempt: int
    deadline: datetime
    timeout: float
    target: Mapping[str, Any]
    payload: str | None = None
    payload_is_json: bool = True
    trigger: str = ""


@dataclass(frozen=True)
class Answer:
    """How an attempt ended, as far as the target is concerned.

    permanent: another attempt cannot help. code: a stable word, e.g. `http_503`, `timeout`.
    detail: for people, at most 512 bytes. retry_after: seconds, 0..3600, if the other side said so.
    result: an excerpt of what a success answered, at most 512 bytes.
    """

    ok: bool
    outcome: Outcome
    permanent: bool
    code: str
    detail: str = ""
    retry_after: int | None = None
    result: str | None = None


class Target(Protocol):
    def execute(self, call: Call) -> Answer:
        """Calls the other side once and says how it went.

        Never raises for what the other side did, never retries, and returns about one second
        after `call.timeout` at the latest.
        """
        ...


def succeeded(code: str, result: str | bytes | None = None) -> Answer:
    shown = None if result is None else excerpt(result)
    return Answer(True, "succeeded", False, code, result=shown)


def retried(code: str, detail: str | bytes, retry_after: int | None = None) -> Answer:
    return Answer(False, "failed", False, code, excerpt(detail), retry_after)


def refused(code: str, detail: str | bytes) -> Answer:
    """A failure that another attempt cannot cure."""
    return Answer(False, "failed", True, code, excerpt(detail))


def timed_out(detail: str) -> Answer:
    return Answer(False, "timed_out", False, "timeout", excerpt(detail))


def is_retried(status: int) -> bool:
    """Whether an HTTP status other than 2xx deserves another attempt."""
    return status in RETRIED_STATUSES or 500 <= status <= 599


def context(call: Call) -> dict[str, str]:
    """The one list of what a target is told about the run, in the spelling of HTTP headers."""
    return {
        "Idempotency-Key": f"{call.job_id}/{call.run_id}",
        "Cronce-Job": call.job_id,
        "Cronce-Run": call.run_id,
        "Cronce-Scheduled-For": to_api(call.scheduled_for),
        "Cronce-Attempt": str(call.attempt),
        "Cronce-Deadline": to_api(call.deadline),
    }


def headers(call: Call) -> dict[str, str]:
    return context(call)


def attributes(call: Call) -> dict[str, dict[str, str]]:
    """Message attributes, the form that SQS and SNS share."""
    return {k: {"DataType": "String", "StringValue": v} for k, v in context(call).items()}


def client_context(call: Call) -> str:
    """Lambda's `ClientContext`: base64 of JSON, the values are flat strings under `custom`."""
    return base64.b64encode(json.dumps({"custom": context(call)}).encode()).decode()


def environment(call: Call) -> dict[str, str]:
    """Environment variables of a container: `CRONCE_JOB`, `CRONCE_RUN`, `IDEMPOTENCY_KEY`, ..."""
    return {k.upper().replace("-", "_"): v for k, v in context(call).items()}


def run_document(call: Call) -> str:
    """The payload of a job that has none: a JSON object that describes the run."""
    document = {
        "job_id": call.job_id,
        "run_id": call.run_id,
        "scheduled_for": to_api(call.scheduled_for),
        "attempt": call.attempt,
        "deadline": to_api(call.deadline),
        "trigger": call.trigger,
    }
    return json.dumps(document, separators=(",", ":"))


# Some JSON writers escape < and >, so a JSON payload may carry a placeholder in that form too.
_NAMES = "run_id|job_id|scheduled_for|attempt|deadline"
_PLAIN = re.compile(rf"<cronce\.({_NAMES})>")
_JSON = re.compile(rf"(?:<|(?<!\\)\\u003[cC])cronce\.({_NAMES})(?:>|\\u003[eE])")


def expand(payload: str, call: Call) -> str:
    """`payload` with `<cronce.run_id>`, job_id, scheduled_for, attempt and deadline filled in.

    In a JSON payload the values are escaped as the inside of a JSON string. One pass: what was
    inserted is not looked at again. Unknown placeholders stay as they are.
    """
    values = {
        "run_id": call.run_id,
        "job_id": call.job_id,
        "scheduled_for": to_api(call.scheduled_for),
        "attempt": str(call.attempt),
        "deadline": to_api(call.deadline),
    }
    if not call.payload_is_json:
        return _PLAIN.sub(lambda m: values[m[1]], payload)
    return _JSON.sub(lambda m: json.dumps(values[m[1]])[1:-1], payload)


def largest(payload: str, is_json: bool) -> int:
    """The most bytes that `payload` can have once its placeholders are filled."""
    placeholders = len((_JSON if is_json else _PLAIN).findall(payload))
    return len(payload.encode("utf-8", "replace")) + placeholders * VALUE_BYTES


def json_body(call: Call) -> str:
    """`body` for a target that takes only JSON: a text becomes a JSON string."""
    text = body(call)
    return text if call.payload is None or call.payload_is_json else json.dumps(text)


def body(call: Call) -> str:
    """What is sent: the payload with its placeholders filled, or the run document."""
    return run_document(call) if call.payload is None else expand(call.payload, call)


def excerpt(data: str | bytes, limit: int = EXCERPT_BYTES) -> str:
    """The beginning of `data` as printable text of at most `limit` bytes of UTF-8.

    Never ends inside a character; control characters become blanks.
    """
    if isinstance(data, str):
        data = data[:limit].encode("utf-8", "replace")
    text = data[: limit + 4].decode("utf-8", "replace")
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    return text.encode("utf-8")[:limit].decode("utf-8", "ignore")
