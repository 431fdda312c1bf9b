"""Calls a Lambda handler in this process, as Lambda would."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass
class Context:
    """The part of Lambda's context that the handlers read. milliseconds: left of the invocation."""

    milliseconds: int = 900_000
    function_name: str = "local"
    log_group_name: str = "/local"
    log_stream_name: str = "local"
    aws_request_id: str = "00000000-0000-0000-0000-000000000000"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:local"

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


def invoke(function: str, event: dict[str, Any], context: Context | None = None) -> Any:
    """function: `api`, `dispatcher` or `worker`. The environment is the function's own."""
    module = importlib.import_module(f"cronce.handlers.{function}")
    return module.handler(event, context or Context())
