"""The REST API: every method signed with IAM, the gateway's own answers as problem details."""

import json
from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cronce_cdk.reasons import accept

_PROBLEMS: dict[str, tuple[int | None, str]] = {
    "DEFAULT_4XX": (None, "Request refused"),
    "DEFAULT_5XX": (None, "Request failed"),
    "ACCESS_DENIED": (403, "Forbidden"),
    "EXPIRED_TOKEN": (403, "Forbidden"),
    "INVALID_SIGNATURE": (403, "Forbidden"),
    "MISSING_AUTHENTICATION_TOKEN": (403, "Forbidden"),
    "REQUEST_TOO_LARGE": (413, "Content too large"),
    "THROTTLED": (429, "Too many requests"),
    "QUOTA_EXCEEDED": (429, "Too many requests"),
    "INTEGRATION_FAILURE": (504, "Gateway timeout"),
    "INTEGRATION_TIMEOUT": (504, "Gateway timeout"),
}

_LOGS = (
    "API Gateway writes logs only with a role set for the whole account and Region, which a "
    "deployment must not change; the function logs every change and who made it."
)
_REASONS = {
    "AwsSolutions-APIG1": _LOGS,
    "AwsSolutions-APIG2": "The function checks every body, and tells all faults at once.",
    "AwsSolutions-APIG3": "Every call is signed and authorised by IAM before it reaches anything.",
    "AwsSolutions-APIG6": _LOGS,
    "AwsSolutions-COG4": "IAM authorises every method; callers are roles, not people of a pool.",
}


def _template(status: int | None, title: str) -> str:
    """A problem detail; the gateway fills in its message (quoted by itself) and the request id."""
    known = {"type": "about:blank", "title": title, **({"status": status} if status else {})}
    filled = '"detail": $context.error.messageString, "request_id": "$context.requestId"'
    return f"{json.dumps(known)[:-1]}, {filled}}}"


def build_api(
    scope: Construct, handler: lambda_.Function, endpoints: Sequence[str] = ()
) -> apigateway.RestApi:
    """All paths go to the one function; it routes. endpoints: ids of VPC endpoints, for an API that
    nothing else reaches."""
    api = apigateway.RestApi(
        scope,
        "Api",
        rest_api_name=Stack.of(scope).stack_name,
        description="cronce: jobs and their runs",
        cloud_watch_role=False,
        default_method_options=apigateway.MethodOptions(
            authorization_type=apigateway.AuthorizationType.IAM
        ),
        default_integration=apigateway.LambdaIntegration(handler, allow_test_invoke=False),
        **_reach(scope, endpoints),
    )
    api.node.try_remove_child("Endpoint")
    api.root.add_method("ANY")
    api.root.add_proxy(any_method=True)
    for name, (status, title) in _PROBLEMS.items():
        api.add_gateway_response(
            f"Problem{name.title().replace('_', '')}",
            type=apigateway.ResponseType.of(name),
            status_code=str(status) if status else None,
            response_headers={"Content-Type": "'application/problem+json'"},
            templates={"application/json": _template(status, title)},
        )
    for rule, reason in _REASONS.items():
        accept(api, rule, reason)
    return api


def _reach(scope: Construct, endpoints: Sequence[str]) -> dict[str, Any]:
    if not endpoints:
        return {"endpoint_types": [apigateway.EndpointType.REGIONAL]}
    known = [
        ec2.InterfaceVpcEndpoint.from_interface_vpc_endpoint_attributes(
            scope, f"Endpoint{n}", vpc_endpoint_id=each, port=443
        )
        for n, each in enumerate(endpoints)
    ]
    return {
        "endpoint_configuration": apigateway.EndpointConfiguration(
            types=[apigateway.EndpointType.PRIVATE], vpc_endpoints=known
        ),
        "policy": _only_through(endpoints),
    }


def _only_through(endpoints: Sequence[str]) -> iam.PolicyDocument:
    """Refuses every other way in. Allows the account, which leaves the decision about each caller
    to the caller's own policies; anybody in particular would be let in without any."""
    stage = "execute-api:/*"
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["execute-api:Invoke"],
                resources=[stage],
                conditions={"StringNotEquals": {"aws:SourceVpce": list(endpoints)}},
            ),
            iam.PolicyStatement(
                principals=[iam.AccountRootPrincipal()],
                actions=["execute-api:Invoke"],
                resources=[stage],
            ),
        ]
    )
