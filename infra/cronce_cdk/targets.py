"""What the worker may reach: each allowed target as the narrowest policy that reaches it."""

from collections.abc import Sequence

from aws_cdk import aws_iam as iam

from cronce.domain.allowed import parse_allowed
from cronce.domain.errors import Invalid
from cronce_cdk.props import InvalidProps, Profile

_ACTIONS = {
    "lambda": "lambda:InvokeFunction",
    "sqs": "sqs:SendMessage",
    "sns": "sns:Publish",
    "events": "events:PutEvents",
    "states": "states:StartExecution",
    "ecs": "ecs:RunTask",
}


def check(allowed: Sequence[str], profile: Profile) -> None:
    """InvalidProps, with all faults, for entries that the API and the worker would not accept."""
    try:
        parse_allowed(allowed, profile=profile)
    except Invalid as invalid:
        shown = "; ".join(f"{f.detail}; must be {f.accepted}" for f in invalid.faults)
        raise InvalidProps(f"allowed_targets: {shown}") from None
    for target in allowed:
        statements(target)


def statements(target: str) -> list[iam.PolicyStatement]:
    """The worker's rights on one entry; none for a URL."""
    if not target.startswith("arn:"):
        return []
    service, resource = target.split(":", 5)[2::3]
    if service == "iam" and resource.startswith("role/"):
        return [_pass_role(target)]
    if service not in _ACTIONS:
        known = ", ".join([*_ACTIONS, "iam (a role that a task takes)"])
        raise InvalidProps(f"allowed_targets {target!r}: the service must be one of {known}")
    resources = [target]
    if _names_no_version(target):
        resources.append(f"{target}:*")
    granted = [iam.PolicyStatement(actions=[_ACTIONS[service]], resources=resources)]
    if service == "states":
        execution = target.replace(":stateMachine:", ":execution:", 1) + ":*"
        granted.append(
            iam.PolicyStatement(actions=["states:DescribeExecution"], resources=[execution])
        )
    return granted


def _names_no_version(target: str) -> bool:
    """IAM is asked for the version or revision that is taken, also where the caller names none."""
    if ":function:" in target:
        return target.count(":") == 6
    return ":task-definition/" in target and target.count(":") == 5


def _pass_role(role: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["iam:PassRole"],
        resources=[role],
        conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
    )
