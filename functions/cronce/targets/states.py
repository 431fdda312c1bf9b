"""The `states` target: one execution of a state machine, `{"machine": ARN, "wait": false}`."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from botocore.exceptions import ClientError

from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.connection import Deadline
from cronce.targets.contract import (
    Answer,
    Call,
    json_body,
    refused,
    retried,
    succeeded,
    timed_out,
)
from cronce.targets.fields import Field, arn, region_of
from cronce.targets.kinds import Config, Kind, Tools

MOST_EARLIER = 20
CALL_SECONDS = 5.0
POLL_SECONDS = (0.5, 5.0)

_STILL_RUNNING = frozenset({"RUNNING", "PENDING_REDRIVE"})
_FAILED = frozenset({"FAILED", "TIMED_OUT"})


FIELDS = {
    "machine": arn(
        "states",
        r"stateMachine:[A-Za-z0-9_-]{1,80}(:[A-Za-z0-9_.-]{1,80})?",
        about="The state machine, or a version or alias of it.",
    ),
    "wait": Field(
        bool,
        default=False,
        about="The run ends as its execution does; for standard machines only.",
    ),
}


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/machine", config["machine"])]


def execution_name(run_id: str, attempt: int = 1) -> str:
    """From the run id, so that a run has one execution: at most 80 of `[A-Za-z0-9_-]`.

    >>> execution_name("20261130T013000Z-k3f9a2qd", 3)
    '20261130T013000Z-k3f9a2qd-3'
    """
    name = run_id
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,74}", run_id, re.ASCII):
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", run_id)[:40]
        name = f"{safe}-{hashlib.sha256(run_id.encode()).hexdigest()[:24]}"
    return name if attempt == 1 else f"{name}-{attempt}"


class StatesTarget:
    """Without `wait`, the run has succeeded once its execution is started, by this attempt or by
    an earlier one whose answer was lost. With it, an attempt follows what an earlier attempt left
    running, and starts another execution, `<name>-<attempt>`, only where the earlier ones failed.
    Express machines keep no executions that could be followed: for standard ones only.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def execute(self, call: Call) -> Answer:
        config = call.target["states"]
        deadline = Deadline(call.timeout, self._tools.monotonic)
        try:
            seconds = min(CALL_SECONDS, call.timeout) + READ_SLACK
            client = self._tools.clients("stepfunctions", region_of(config["machine"]), seconds)
            if not config.get("wait", False):
                _, fresh = _start(client, config["machine"], execution_name(call.run_id), call)
                return succeeded("started" if fresh else "started_before")
            execution = _execution_to_follow(client, config["machine"], call)
            return self._follow(client, execution, deadline)
        except TimeoutError:
            return timed_out("the execution has not ended; it goes on")
        except Exception as e:
            return classify(e)

    def _follow(self, client: Any, execution: str, deadline: Deadline) -> Answer:
        """Raises TimeoutError at the deadline. A failed look is no failure of the execution."""
        pause, longest = POLL_SECONDS
        while True:
            try:
                seen = client.describe_execution(executionArn=execution)
                if seen["status"] not in _STILL_RUNNING:
                    return _judge(seen)
            except Exception as e:
                if (failure := classify(e)).permanent:
                    return failure
            self._tools.sleep(min(pause, deadline.left()))
            pause = min(pause * 2, longest)


def _judge(seen: Any) -> Answer:
    status = seen["status"]
    if status == "SUCCEEDED":
        return succeeded("execution_succeeded", seen.get("output", ""))
    detail = f"{seen.get('error') or status}: {seen.get('cause') or ''}"
    return (retried if status in _FAILED else refused)(f"execution_{status.lower()}", detail)


def _start(client: Any, machine: str, name: str, call: Call) -> tuple[str, bool]:
    """The execution's ARN, and whether it may be new. Raises what the client raises."""
    try:
        started = client.start_execution(stateMachineArn=machine, name=name, input=json_body(call))
    except ClientError as e:
        if e.response["Error"]["Code"] != "ExecutionAlreadyExists":
            raise
        head, _, resource = machine.partition(":stateMachine:")
        return f"{head}:execution:{resource.split(':')[0]}:{name}", False
    return str(started["executionArn"]), True


def _execution_to_follow(client: Any, machine: str, call: Call) -> str:
    """The first of this run's executions that has not failed; otherwise this attempt's own."""
    first = max(2, call.attempt - MOST_EARLIER + 1)
    execution = ""
    for attempt in (1, *range(first, call.attempt + 1)):
        name = execution_name(call.run_id, attempt)
        execution, fresh = _start(client, machine, name, call)
        if fresh or client.describe_execution(executionArn=execution)["status"] not in _FAILED:
            break
    return execution


KIND = Kind(
    name="states",
    about="Starts an execution of a state machine.",
    fields=FIELDS,
    resources=resources,
    build=StatesTarget,
    payload_limit=262_144,
)
