"""What `sqs` and `sns` share: FIFO ordering and deduplication, and what a message may contain."""

from __future__ import annotations

import hashlib
import re

from cronce.domain.errors import Fault
from cronce.targets.contract import Call
from cronce.targets.fields import Field
from cronce.targets.kinds import Config

NAME = r"[A-Za-z0-9_-]{1,75}(\.fifo)?"
GROUP = Field(
    str,
    form=r"[\x21-\x7e]{1,128}",
    accepted="1 to 128 visible ASCII characters",
    about="Of FIFO only: orders messages; the job's id by default.",
)

_UNSENDABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def group_rule(config: Config, arn: object) -> list[Fault]:
    """`group` means nothing but for a FIFO queue or topic."""
    if "group" in config and isinstance(arn, str) and not arn.endswith(".fifo"):
        return [Fault("/group", "bad_value", "only FIFO has groups", "an ARN ending in .fifo")]
    return []


def fifo(call: Call, config: Config, arn: str) -> dict[str, str]:
    """The group is the job's own unless the target names one. Deduplication goes by the run and
    not by the attempt: an attempt whose answer was lost has been accepted."""
    if not arn.endswith(".fifo"):
        return {}
    identity = f"{call.job_id}/{call.run_id}".encode()
    return {
        "MessageGroupId": config.get("group", call.job_id),
        "MessageDeduplicationId": hashlib.sha256(identity).hexdigest(),
    }


def payload_rule(config: Config, payload: str | None, is_json: bool) -> list[Fault]:
    if payload is None:
        return []
    if payload == "":
        return [Fault("", "empty_payload", "a message is not empty", "at least one character")]
    if _UNSENDABLE.search(payload):
        accepted = "no control characters but tab, line feed, carriage return; no U+FFFE, U+FFFF"
        return [Fault("", "bad_payload", "a character cannot be in a message", accepted)]
    return []
