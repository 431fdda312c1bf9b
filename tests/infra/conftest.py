"""Templates of the construct, synthesised in process, each once per session."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from cronce.cli import toolchain

Template = dict[str, Any]


@pytest.fixture(scope="session")
def node() -> None:
    """JSII finds a Node that it can use, also where there is none on the PATH."""
    os.environ.update(toolchain.node_environment())


@pytest.fixture(scope="session")
def synthesise(node: None) -> Callable[..., Template]:
    """(props by name) → the CloudFormation template of a stack `jobs` with one `Cronce`."""
    import aws_cdk as cdk
    from aws_cdk import assertions

    from cronce_cdk import Cronce, CronceProps

    def template(**props: Any) -> Template:
        stack = cdk.Stack(cdk.App(), "jobs")
        Cronce(stack, "Cronce", CronceProps(**props))
        made: Template = assertions.Template.from_stack(stack).to_json()
        return made

    return template


@pytest.fixture(scope="session")
def default(synthesise: Callable[..., Template]) -> Template:
    """What a user gets who chooses nothing."""
    return synthesise()


@pytest.fixture(scope="session")
def chosen(synthesise: Callable[..., Template]) -> Template:
    """A deployment with targets of every kind, a secret, and two dispatchers."""
    return synthesise(
        allowed_targets=[
            "https://hooks.example.com",
            "arn:aws:lambda:eu-central-1:123456789012:function:billing-*",
            "arn:aws:sqs:eu-central-1:123456789012:orders",
            "arn:aws:sns:eu-central-1:123456789012:news",
            "arn:aws:events:eu-central-1:123456789012:event-bus/main",
            "arn:aws:states:eu-central-1:123456789012:stateMachine:invoice",
            "arn:aws:ecs:eu-central-1:123456789012:task-definition/report:*",
            "arn:aws:iam::123456789012:role/report-task",
        ],
        allowed_addresses=["10.20.0.0/16"],
        secrets=["arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf"],
        dispatchers=2,
        max_concurrency=50,
    )
