"""Each choice of a deployment, by what it changes in the template."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pytest

from cronce.handlers.api import OPERATIONS
from support.templates import Template, as_list, functions, of_type, shown, statements_of

Stacks = Callable[[Callable[[Any], dict[str, Any]]], Template]


@pytest.fixture(scope="session")
def with_resources(node: None) -> Stacks:
    """(stack → props by name) → template, for props that are resources themselves."""
    import aws_cdk as cdk
    from aws_cdk import assertions

    from cronce_cdk import Cronce, CronceProps

    def template(props_of: Callable[[Any], dict[str, Any]]) -> Template:
        environment = cdk.Environment(account="123456789012", region="eu-central-1")
        stack = cdk.Stack(cdk.App(), "jobs", env=environment)
        Cronce(stack, "Cronce", CronceProps(**props_of(stack)))
        made: Template = assertions.Template.from_stack(stack).to_json()
        return made

    return template


@pytest.fixture(scope="session")
def guarded(with_resources: Stacks) -> Template:
    """In a network, behind an endpoint, under a key of the user's own, with a topic for alarms."""

    def props(stack: Any) -> dict[str, Any]:
        from aws_cdk import aws_ec2 as ec2
        from aws_cdk import aws_kms as kms
        from aws_cdk import aws_logs as logs
        from aws_cdk import aws_sns as sns

        vpc = ec2.Vpc.from_vpc_attributes(
            stack,
            "Vpc",
            vpc_id="vpc-1",
            availability_zones=["eu-central-1a"],
            private_subnet_ids=["subnet-1"],
        )
        group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-1")
        return {
            "vpc": vpc,
            "subnets": ec2.SubnetSelection(subnets=vpc.private_subnets),
            "security_groups": [group],
            "private_api": ["vpce-0a1b2c3d4e5f6a7b8"],
            "encryption_key": kms.Key(stack, "Key"),
            "alarm_topic": sns.Topic(stack, "Topic"),
            "log_retention": logs.RetentionDays.ONE_YEAR,
        }

    return with_resources(props)


def test_only_the_worker_is_in_the_network(guarded: Template) -> None:
    networks = {name: f.get("VpcConfig") for name, f in functions(guarded).items()}
    assert networks.pop("worker") == {"SecurityGroupIds": ["sg-1"], "SubnetIds": ["subnet-1"]}
    assert set(networks.values()) == {None}
    (network,) = (s for s in statements_of(guarded, "worker") if s["Sid"] == "Network")
    assert {action.split(":")[0] for action in network["Action"]} == {"ec2"}
    assert "Network" not in {s["Sid"] for s in statements_of(guarded, "api")}


def test_a_private_api_is_reached_through_its_endpoint_alone(guarded: Template) -> None:
    (api,) = of_type(guarded, "AWS::ApiGateway::RestApi").values()
    assert api["EndpointConfiguration"] == {
        "Types": ["PRIVATE"],
        "VpcEndpointIds": ["vpce-0a1b2c3d4e5f6a7b8"],
    }
    deny, allow = api["Policy"]["Statement"]
    assert (deny["Effect"], deny["Principal"]) == ("Deny", {"AWS": "*"})
    assert deny["Condition"] == {"StringNotEquals": {"aws:SourceVpce": ["vpce-0a1b2c3d4e5f6a7b8"]}}
    assert allow["Effect"] == "Allow"
    assert shown(allow["Principal"]["AWS"]).endswith(":iam::123456789012:root")
    methods = of_type(guarded, "AWS::ApiGateway::Method").values()
    assert {method["AuthorizationType"] for method in methods} == {"AWS_IAM"}


def test_a_key_encrypts_table_queues_and_logs_and_each_function_may_use_it(
    guarded: Template,
) -> None:
    (key,) = of_type(guarded, "AWS::KMS::Key")
    arn = {"Fn::GetAtt": [key, "Arn"]}
    (table,) = of_type(guarded, "AWS::DynamoDB::Table").values()
    assert table["SSESpecification"]["KMSMasterKeyId"] == arn
    for queue in of_type(guarded, "AWS::SQS::Queue").values():
        assert queue["KmsMasterKeyId"] == arn
    groups = of_type(guarded, "AWS::Logs::LogGroup").values()
    assert [(g["KmsKeyId"], g["RetentionInDays"]) for g in groups] == [(arn, 365)] * 4
    for name in ("api", "dispatcher", "worker", "watch"):
        (statement,) = (s for s in statements_of(guarded, name) if s["Sid"] == "Key")
        assert statement["Resource"] == arn
        assert not [a for a in statement["Action"] if not a.startswith("kms:") or "*" in a]
    policy = of_type(guarded, "AWS::KMS::Key")[key]["KeyPolicy"]["Statement"]
    (logs,) = (s for s in policy if s.get("Sid") == "Logs")
    assert logs["Principal"] == {"Service": "logs.eu-central-1.amazonaws.com"}


def test_alarms_tell_the_topic_and_nobody_by_default(guarded: Template, default: Template) -> None:
    (topic,) = of_type(guarded, "AWS::SNS::Topic")
    for alarm in of_type(guarded, "AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
    for alarm in of_type(default, "AWS::CloudWatch::Alarm").values():
        assert "AlarmActions" not in alarm


def test_a_retained_table_is_taken_as_it_is(synthesise: Callable[..., Template]) -> None:
    arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/jobs-1"
    template = synthesise(table_arn=arn)
    assert not of_type(template, "AWS::DynamoDB::Table")
    for function in functions(template).values():
        assert function["Environment"]["Variables"]["CRONCE_TABLE"] == "jobs-1"
    (found,) = (s for s in statements_of(template, "dispatcher") if s["Sid"] == "FindDue")
    assert found["Resource"] == f"{arn}/index/next_run"


def test_two_deployments_share_nothing(node: None) -> None:
    import aws_cdk as cdk
    from aws_cdk import assertions

    from cronce_cdk import Cronce, CronceProps

    app = cdk.App()
    both = [cdk.Stack(app, name) for name in ("jobs-a", "jobs-b")]
    for stack in both:
        Cronce(stack, "Cronce", CronceProps())
    names = [
        {
            value
            for resource in assertions.Template.from_stack(stack).to_json()["Resources"].values()
            for name, value in resource.get("Properties", {}).items()
            if name.endswith("Name") and name not in ("MetricName", "PolicyName", "StageName")
            if isinstance(value, str)
        }
        for stack in both
    ]
    assert names[0] & names[1] == set()


# Beside reading (GET) and previews; whatever else changes something is the editor's.
OPERATING = {
    "pauseJob",
    "resumeJob",
    "runNow",
    "redriveRun",
    "cancelRun",
    "createBackfill",
    "cancelBackfill",
    "pauseGroup",
    "resumeGroup",
}
LEVELS = ["Reader", "Operator", "Editor"]


def may(template: Template, level: str, call: str) -> bool:
    """IAM's comparison: a star stands for any characters, a slash among them."""
    (policy,) = (
        policy
        for name, policy in of_type(template, "AWS::IAM::ManagedPolicy").items()
        if name.startswith(f"Cronce{level}")
    )
    (statement,) = policy["PolicyDocument"]["Statement"]
    allowed = [
        re.split(r"/CronceApiDeploymentStageprod\w+/", shown(each))[1]
        for each in as_list(statement["Resource"])
    ]
    return any(fnmatchcase(call, each) for each in allowed)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.id)
def test_each_operation_has_its_least_policy(default: Template, operation: Any) -> None:
    path = re.sub(r"\{\w+\}", "team-a.x", operation.path)
    reading = operation.method == "GET" or operation.id == "preview"
    least = 0 if reading else 1 if operation.id in OPERATING else 2
    allowed = [level for level in LEVELS if may(default, level, operation.method + path)]
    assert allowed == LEVELS[least:]


def test_policies_are_of_this_api_alone(default: Template) -> None:
    for policy in of_type(default, "AWS::IAM::ManagedPolicy").values():
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Action"] == "execute-api:Invoke"
        for resource in statement["Resource"]:
            assert "CronceApiC82E541F" in shown(resource)
        assert not policy.get("Roles")
        assert not policy.get("Users")
