"""The `ecs` target: one task, started and not waited for.

`{"cluster": ARN, "task_definition": ARN, "container": name, "subnets": [...]}` with optional
`launch_type`, `security_groups`, `public_ip`. The container gets the payload as `CRONCE_PAYLOAD`
and the run as `CRONCE_JOB`, `CRONCE_RUN` and so on.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from botocore.exceptions import ClientError

from cronce.domain.errors import Fault
from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.contract import (
    Answer,
    Call,
    body,
    environment,
    refused,
    retried,
    succeeded,
)
from cronce.targets.fields import Field, arn, one_of, region_of
from cronce.targets.kinds import Config, Kind, Tools

# ECS takes 8192 characters of overrides; the names and values of the run need a share of it.
PAYLOAD_CHARACTERS = 6144

FIELDS = {
    "cluster": arn("ecs", r"cluster/[A-Za-z0-9_-]{1,255}"),
    "task_definition": arn(
        "ecs",
        r"task-definition/[A-Za-z0-9_-]{1,255}(:[0-9]{1,9})?",
        about="Without a revision the latest.",
    ),
    "container": Field(
        str,
        required=True,
        form=r"[A-Za-z0-9_-]{1,255}",
        accepted="a container's name",
        about="The container that is given the payload and the run.",
    ),
    "launch_type": one_of(("FARGATE", "EC2", "EXTERNAL")),
    "subnets": Field(
        list,
        form="subnet-[0-9a-f]{8,40}",
        most=16,
        about="Needed by what runs in a network of its own (awsvpc), as on Fargate.",
    ),
    "security_groups": Field(list, form="sg-[0-9a-f]{8,40}", most=5, about="With `subnets`."),
    "public_ip": Field(bool, default=False, about="With `subnets`."),
}
_PERMANENT_REASONS = ("MISSING", "INACTIVE", "ATTRIBUTE")


def rules(config: Config, profile: str) -> list[Fault]:
    if "subnets" not in config and ("security_groups" in config or "public_ip" in config):
        return [Fault("/subnets", "missing_field", "a network needs subnets", "an array")]
    return []


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/cluster", config["cluster"]), ("/task_definition", config["task_definition"])]


def payload_rule(config: Config, payload: str | None, is_json: bool) -> list[Fault]:
    """Counted as JSON, in which quotes and line feeds take two characters."""
    size = len(json.dumps(payload or ""))
    if size <= PAYLOAD_CHARACTERS:
        return []
    limit = f"at most {PAYLOAD_CHARACTERS} characters, escaped as JSON"
    return [Fault("", "payload_too_large", f"{size} characters of overrides", limit)]


class EcsTarget:
    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        config = call.target["ecs"]
        try:
            region = region_of(config["cluster"])
            client = self._clients("ecs", region, call.timeout + READ_SLACK)
            started = client.run_task(**_request(call, config))
        except ClientError as e:
            if _token_is_used(e):
                return succeeded("started_before")
            return classify(e)
        except Exception as e:
            return classify(e)
        for failure in started.get("failures", []):
            reason = failure.get("reason", "unknown")
            permanent = reason.startswith(_PERMANENT_REASONS)
            detail = f"{reason}: {failure.get('detail', '')}"
            return (refused if permanent else retried)("task_not_started", detail)
        return succeeded("started", ", ".join(t["taskArn"] for t in started.get("tasks", [])))


def _token_is_used(error: ClientError) -> bool:
    """An earlier attempt started the task, and this one differs in what it told the container."""
    fault = error.response.get("Error", {})
    return fault.get("Code") == "ConflictException" and "token" in fault.get("Message", "").lower()


def _request(call: Call, config: Config) -> dict[str, Any]:
    """The client token goes by the run: an attempt whose answer was lost has started the task."""
    identity = f"{call.job_id}/{call.run_id}".encode()
    told = environment(call) | {"CRONCE_PAYLOAD": body(call)}
    container = {
        "name": config["container"],
        "environment": [{"name": k, "value": v} for k, v in told.items()],
    }
    request: dict[str, Any] = {
        "cluster": config["cluster"],
        "taskDefinition": config["task_definition"],
        "count": 1,
        "startedBy": "cronce",
        "clientToken": hashlib.sha256(identity).hexdigest(),
        "overrides": {"containerOverrides": [container]},
    }
    if "launch_type" in config:
        request["launchType"] = config["launch_type"]
    if "subnets" in config:
        request["networkConfiguration"] = {"awsvpcConfiguration": _network(config)}
    return request


def _network(config: Config) -> dict[str, Any]:
    public = "ENABLED" if config.get("public_ip", False) else "DISABLED"
    network = {"subnets": config["subnets"], "assignPublicIp": public}
    if "security_groups" in config:
        network["securityGroups"] = config["security_groups"]
    return network


KIND = Kind(
    name="ecs",
    about="Starts one task and does not wait for it.",
    fields=FIELDS,
    resources=resources,
    build=EcsTarget,
    rules=rules,
    payload_rule=payload_rule,
)
