"""What callers of the API may be given: three managed policies, and grants on single jobs.

Every route about one job lies under ``/jobs/{id}``, so the path of a call says what it is about.
"""

from collections.abc import Sequence
from typing import Literal

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronce_cdk.reasons import accept_wildcards

Call = tuple[str, str]
Level = Literal["Reader", "Operator", "Editor"]

_READ: tuple[Call, ...] = (("GET", "/*"), ("POST", "/schedules/preview"))
_OPERATE: tuple[Call, ...] = (
    ("POST", "/jobs/*/pause"),
    ("POST", "/jobs/*/resume"),
    ("POST", "/jobs/*/run"),
    ("POST", "/jobs/*/runs/*/redrive"),
    ("POST", "/jobs/*/runs/*/cancel"),
    ("POST", "/jobs/*/backfill"),
    ("POST", "/jobs/*/backfills/*/cancel"),
    ("POST", "/groups/*/pause"),
    ("POST", "/groups/*/resume"),
)
_EDIT: tuple[Call, ...] = (
    ("POST", "/jobs"),
    ("PUT", "/jobs/*"),
    ("PATCH", "/jobs/*"),
    ("DELETE", "/jobs/*"),
    ("PUT", "/calendars/*"),
    ("DELETE", "/calendars/*"),
    ("PUT", "/groups/*"),
    ("DELETE", "/groups/*"),
    ("POST", "/replan"),
)
CALLS: dict[Level, tuple[Call, ...]] = {
    "Reader": _READ,
    "Operator": _READ + _OPERATE,
    "Editor": _READ + _OPERATE + _EDIT,
}
_ABOUT: dict[Level, str] = {
    "Reader": "cronce: see jobs, runs and calendars",
    "Operator": "cronce: see, pause, resume, run, backfill, redrive and cancel",
    "Editor": "cronce: everything that the API does",
}


def build_policies(scope: Construct, api: apigateway.RestApi) -> dict[Level, iam.ManagedPolicy]:
    """One policy for each kind of caller, of this API alone; attached to nobody."""
    return {level: _policy(scope, api, level) for level in CALLS}


def _policy(scope: Construct, api: apigateway.RestApi, level: Level) -> iam.ManagedPolicy:
    resources = arns(api, CALLS[level])
    statement = iam.PolicyStatement(sid=level, actions=["execute-api:Invoke"], resources=resources)
    policy = iam.ManagedPolicy(
        scope, f"{level}Policy", description=_ABOUT[level], statements=[statement]
    )
    accept_wildcards(policy, resources, "The star stands for any job; the API is this one.")
    return policy


def arns(api: apigateway.RestApi, calls: Sequence[Call]) -> list[str]:
    """The calls as resources of a policy."""
    stage = api.deployment_stage.stage_name
    return [api.arn_for_execute_api(method, path, stage) for method, path in calls]
