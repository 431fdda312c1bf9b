"""The functions: role, log group, code and environment of each."""

from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce_cdk import bundling, grants
from cronce_cdk.props import CronceProps
from cronce_cdk.reasons import accept


@dataclass(frozen=True)
class Shape:
    """What tells one function from another. timeout in seconds, memory in MiB."""

    name: str
    module: str
    asset: bundling.AssetName
    timeout: int
    memory: int


@dataclass(frozen=True)
class Part:
    """A function with the role that its grants go to and the group that it logs to."""

    function: lambda_.Function
    role: iam.Role
    logs: logs.LogGroup


def build_function(
    scope: Construct,
    shape: Shape,
    props: CronceProps,
    environment: dict[str, str],
    **more: Any,
) -> Part:
    """A function that may write its own log and nothing else; callers add its grants.

    more: further properties of the function, such as its network.
    """
    group = logs.LogGroup(
        scope,
        f"{shape.name}Logs",
        retention=props.log_retention,
        removal_policy=RemovalPolicy.DESTROY,
        encryption_key=props.encryption_key,
    )
    role = iam.Role(
        scope, f"{shape.name}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    grants.to_log(role, group)
    key, folder = bundling.build(shape.asset, bundling.platform_of(props))
    function = lambda_.Function(
        scope,
        shape.name,
        runtime=lambda_.Runtime(f"python{props.python}", lambda_.RuntimeFamily.PYTHON),
        architecture=(
            lambda_.Architecture.ARM_64
            if props.architecture == "arm64"
            else lambda_.Architecture.X86_64
        ),
        handler=f"cronce.handlers.{shape.module}.handler",
        code=lambda_.Code.from_asset(str(folder), asset_hash=key),
        timeout=Duration.seconds(shape.timeout),
        memory_size=shape.memory,
        role=role,
        log_group=group,
        environment=environment,
        **more,
    )
    accept(
        function,
        "AwsSolutions-L1",
        "The runtime that the pinned dependencies are built for; `python` chooses another.",
    )
    return Part(function, role, group)
