"""Who may do what: exactly this, on exactly that."""

import json
from collections.abc import Callable

import pytest

from support.templates import Template, as_list, functions, grants_of, of_type, shown, statements_of

TABLE = "CronceTable4FBA0098.Arn"
QUEUE = "CronceQueueF1534BC7.Arn"
DEAD_LETTERS = "CronceDeadLetterQueue14C1A2B2.Arn"
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
SEND = {"sqs:SendMessage", "sqs:GetQueueAttributes"}


def dynamodb(*names: str) -> set[str]:
    return {f"dynamodb:{name}" for name in names}


def test_the_dispatcher_finds_advances_and_sends(default: Template) -> None:
    assert grants_of(default, "dispatcher") == {
        f"{TABLE}/index/next_run": dynamodb("Query"),
        TABLE: dynamodb("BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
        QUEUE: SEND,
        "CronceDispatcherLogs80AD8354.Arn": LOG,
    }


def test_the_worker_receives_runs_and_reaches_nothing(default: Template) -> None:
    assert grants_of(default, "worker") == {
        TABLE: dynamodb("DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
        QUEUE: SEND | {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"},
        DEAD_LETTERS: {"sqs:SendMessage"},
        "CronceWorkerLogs1C49BBCA.Arn": LOG,
    }


def test_the_watch_sees_what_is_due_and_nothing_else(default: Template) -> None:
    assert grants_of(default, "watch") == {
        f"{TABLE}/index/next_run": dynamodb("Query"),
        TABLE: dynamodb("GetItem"),
        "CronceWatchLogsC7550423.Arn": LOG,
    }
    (reading,) = (s for s in statements_of(default, "watch") if s["Sid"] == "CountShards")
    leases = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DISPATCHER#*"]}}
    assert reading["Condition"] == leases


def test_the_api_manages_jobs_and_dispatches(default: Template) -> None:
    assert grants_of(default, "api") == {
        TABLE: dynamodb(
            "BatchGetItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
            "UpdateItem",
        ),
        f"{TABLE}/index/next_run": dynamodb("Query"),
        f"{TABLE}/index/by_group": dynamodb("Query", "Scan"),
        f"{TABLE}/index/attention": dynamodb("Query"),
        QUEUE: SEND,
        "CronceApiFunctionLogs47FD3F7A.Arn": LOG,
    }


@pytest.mark.parametrize("name", ["default", "chosen"])
def test_nothing_is_granted_on_everything(name: str, request: pytest.FixtureRequest) -> None:
    template: Template = request.getfixturevalue(name)
    policies = of_type(template, "AWS::IAM::Policy")
    assert policies
    for policy in policies.values():
        for statement in policy["PolicyDocument"]["Statement"]:
            assert "NotAction" not in statement
            assert "NotResource" not in statement
            assert not [a for a in as_list(statement["Action"]) if "*" in a]
            assert not [r for r in as_list(statement["Resource"]) if shown(r) in ("*", "")]
    for role in of_type(template, "AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role
        assert "Policies" not in role


def test_each_function_has_a_role_of_its_own(default: Template) -> None:
    assert len({shown(f["Role"]) for f in functions(default).values()}) == 4


def test_every_own_grant_can_be_found_by_its_sid(default: Template) -> None:
    sids = {
        name: {s["Sid"] for s in statements_of(default, name)}
        for name in ("api", "dispatcher", "worker", "watch")
    }
    assert sids == {
        "api": {"Log", "Manage", "List", "ListAll", "Send"},
        "dispatcher": {"Log", "FindDue", "Advance", "Send"},
        "worker": {"Log", "Run", "Receive", "Retry", "PutAside"},
        "watch": {"Log", "LookAtDue", "CountShards"},
    }


def test_allowed_targets_are_empty_by_default(default: Template) -> None:
    for name in ("api", "worker"):
        assert (
            functions(default)[name]["Environment"]["Variables"]["CRONCE_ALLOWED_TARGETS"] == "[]"
        )


def test_an_allowed_target_is_told_to_both_and_granted_to_the_worker_alone(
    chosen: Template, default: Template
) -> None:
    base = "arn:aws:{}:eu-central-1:123456789012:{}"
    function = base.format("lambda", "function:billing-*")
    without = grants_of(default, "worker")
    new = {on: actions for on, actions in grants_of(chosen, "worker").items() if on not in without}
    assert new == {
        function: {"lambda:InvokeFunction"},
        f"{function}:*": {"lambda:InvokeFunction"},
        base.format("sqs", "orders"): {"sqs:SendMessage"},
        base.format("sns", "news"): {"sns:Publish"},
        base.format("events", "event-bus/main"): {"events:PutEvents"},
        base.format("states", "stateMachine:invoice"): {"states:StartExecution"},
        base.format("states", "execution:invoice:*"): {"states:DescribeExecution"},
        base.format("ecs", "task-definition/report:*"): {"ecs:RunTask"},
        "arn:aws:iam::123456789012:role/report-task": {"iam:PassRole"},
        base.format("secretsmanager", "secret:hook-AbCdEf"): {"secretsmanager:GetSecretValue"},
    }
    assert grants_of(chosen, "api") == grants_of(default, "api")
    for name in ("api", "worker"):
        variables = functions(chosen)[name]["Environment"]["Variables"]
        told = json.loads(variables["CRONCE_ALLOWED_TARGETS"])
        assert {"https://hooks.example.com", function} <= set(told)
        assert json.loads(variables["CRONCE_ALLOWED_ADDRESSES"]) == ["10.20.0.0/16"]


@pytest.mark.parametrize(
    ("props", "said"),
    [
        ({"allowed_targets": ["http://hooks.example.com"]}, "only https"),
        ({"allowed_targets": ["*"]}, "allowed_targets"),
        ({"allowed_targets": ["arn:aws:s3:::bucket"]}, "the service must be one of lambda, sqs"),
        ({"allowed_addresses": ["10.0.0.1/8"]}, "allowed_addresses"),
        ({"max_concurrency": 1}, "max_concurrency 1: must be 2 to 1000"),
        ({"dispatchers": 17}, "dispatchers 17: must be 1 to the number of shards"),
        ({"python": "3.10"}, "python '3.10'"),
        ({"profile": "local"}, "profile 'local'"),
        ({"table_arn": "jobs"}, "table_arn 'jobs': must be the ARN of a table"),
        ({"private_api": ["vpc-1"]}, "private_api 'vpc-1': must be the id of a VPC endpoint"),
        ({"private_api": "vpce-0a1b2c3d"}, "private_api 'vpce-0a1b2c3d': must be a list"),
        ({"allowed_targets": "https://x"}, "allowed_targets 'https://x': must be a list"),
        ({"secrets": ["mysecret"]}, "secrets 'mysecret': must be the ARN of a secret"),
        ({"log_retention": "1 month"}, "log_retention '1 month': must be one of RetentionDays"),
        ({"alarm_topic": "arn:aws:sns:x"}, "alarm_topic 'arn:aws:sns:x': must be an SNS topic"),
        ({"vpc": "vpc-1"}, "vpc 'vpc-1': must be a VPC"),
        ({"security_groups": ["sg-1"]}, "security_groups: needs vpc"),
        ({"subnets": "private"}, "subnets: needs vpc"),
    ],
)
def test_a_choice_that_cannot_work_is_refused_at_synth(
    synthesise: Callable[..., Template], props: dict[str, object], said: str
) -> None:
    from cronce_cdk.props import InvalidProps

    with pytest.raises(InvalidProps, match=said.replace("*", r"\*")):
        synthesise(**props)


def test_one_for_each_stack(node: None) -> None:
    import aws_cdk as cdk

    from cronce_cdk import Cronce
    from cronce_cdk.props import InvalidProps

    app = cdk.App()
    stack = cdk.Stack(app, "jobs")
    Cronce(stack, "Cronce")
    with pytest.raises(InvalidProps, match="jobs/Second: stack jobs holds jobs/Cronce already"):
        Cronce(stack, "Second")
    Cronce(cdk.Stack(app, "others"), "Cronce")
    inner = cdk.Stack(stack, "inner")
    Cronce(inner, "Cronce")
    with pytest.raises(InvalidProps, match="holds jobs/inner/Cronce already"):
        Cronce(inner, "Second")


def test_a_stack_that_stands_inside_of_another_is_one_of_its_own(node: None) -> None:
    import aws_cdk as cdk

    from cronce_cdk import Cronce

    stack = cdk.Stack(cdk.App(), "jobs")
    Cronce(cdk.Stack(stack, "inner"), "Cronce")
    Cronce(stack, "Cronce")


def test_allow_and_grants_to_others(node: None) -> None:
    import aws_cdk as cdk
    from aws_cdk import assertions
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_sqs as sqs

    from cronce_cdk import Cronce

    stack = cdk.Stack(cdk.App(), "jobs")
    cronce = Cronce(stack, "Cronce")
    cronce.allow(sqs.Queue(stack, "Orders"))
    user = iam.Role(stack, "User", assumed_by=iam.AccountRootPrincipal())
    cronce.grant_manage(user, "team-a.")
    template = assertions.Template.from_stack(stack).to_json()

    (orders,) = (name for name in of_type(template, "AWS::SQS::Queue") if name.startswith("Orders"))
    assert grants_of(template, "worker")[f"{orders}.Arn"] == {"sqs:SendMessage"}
    told = functions(template)["api"]["Environment"]["Variables"]["CRONCE_ALLOWED_TARGETS"]
    assert shown(told) == f'["{orders}.Arn"]'
    (policy,) = (
        p for name, p in of_type(template, "AWS::IAM::Policy").items() if name.startswith("User")
    )
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert shown(statement["Resource"]).endswith("/*/jobs/team-a.*")
