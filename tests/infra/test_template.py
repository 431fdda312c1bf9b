"""The template that a deployment gets: its limits, what never changes, and what is not there."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cronce import limits
from support.templates import Template, functions, of_type, shown


def only(template: Template, kind: str) -> dict[str, Any]:
    (properties,) = of_type(template, kind).values()
    return properties


def queue(template: Template) -> dict[str, Any]:
    return of_type(template, "AWS::SQS::Queue")["CronceQueueF1534BC7"]


class TestLimits:
    def test_timeouts_are_the_designs(self, default: Template) -> None:
        timeouts = {name: f["Timeout"] for name, f in functions(default).items()}
        assert timeouts == {"worker": 900, "dispatcher": 55, "api": 29, "watch": 240}

    def test_a_message_stays_hidden_for_six_timeouts_of_its_function(
        self, default: Template
    ) -> None:
        mapping = only(default, "AWS::Lambda::EventSourceMapping")
        window = mapping.get("MaximumBatchingWindowInSeconds", 0)
        worker = functions(default)["worker"]["Timeout"]
        assert queue(default)["VisibilityTimeout"] >= 6 * worker + window
        assert limits.QUEUE_VISIBILITY == 6 * limits.WORKER_TIMEOUT

    def test_the_gateway_waits_as_long_as_its_function(self, default: Template) -> None:
        methods = of_type(default, "AWS::ApiGateway::Method").values()
        waits = {m["Integration"].get("TimeoutInMillis", 29_000) for m in methods}
        assert waits == {1000 * functions(default)["api"]["Timeout"]}

    def test_hiding_and_throttling_do_not_send_a_message_to_the_dead_letters(
        self, default: Template
    ) -> None:
        policy = queue(default)["RedrivePolicy"]
        assert policy["maxReceiveCount"] == 1000
        assert shown(policy["deadLetterTargetArn"]) == "CronceDeadLetterQueue14C1A2B2.Arn"

    def test_messages_are_kept_as_long_as_a_queue_can(self, default: Template) -> None:
        for each in of_type(default, "AWS::SQS::Queue").values():
            assert each["MessageRetentionPeriod"] == 1_209_600
            assert each["SqsManagedSseEnabled"] is True

    def test_failed_messages_alone_come_back(self, default: Template) -> None:
        mapping = only(default, "AWS::Lambda::EventSourceMapping")
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["BatchSize"] == 10
        assert mapping["ScalingConfig"] == {"MaximumConcurrency": 20}

    def test_no_concurrency_is_reserved(self, default: Template) -> None:
        for function in functions(default).values():
            assert "ReservedConcurrentExecutions" not in function

    def test_a_tick_is_never_repeated(self, default: Template) -> None:
        rules = of_type(default, "AWS::Events::Rule")
        assert len(rules) == 2  # the dispatcher's and the watch's
        for rule in rules.values():
            assert rule["ScheduleExpression"] == "rate(1 minute)"
            assert [t["RetryPolicy"]["MaximumRetryAttempts"] for t in rule["Targets"]] == [0]
        for config in of_type(default, "AWS::Lambda::EventInvokeConfig").values():
            assert config["MaximumRetryAttempts"] == 0
            assert config["MaximumEventAgeInSeconds"] == 60

    def test_logs_are_kept_for_thirty_days_and_go_with_the_stack(self, default: Template) -> None:
        groups = of_type(default, "AWS::Logs::LogGroup")
        assert [g["RetentionInDays"] for g in groups.values()] == [30, 30, 30, 30]
        for name in groups:
            assert default["Resources"][name]["DeletionPolicy"] == "Delete"


class TestTable:
    def test_is_retained_and_can_be_restored(self, default: Template) -> None:
        (name,) = of_type(default, "AWS::DynamoDB::Table")
        resource = default["Resources"][name]
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
        table = resource["Properties"]
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}

    def test_indexes_are_the_designs(self, default: Template) -> None:
        table = only(default, "AWS::DynamoDB::Table")
        kinds = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
        indexes = {
            index["IndexName"]: (
                [(key["AttributeName"], kinds[key["AttributeName"]]) for key in index["KeySchema"]],
                sorted(index["Projection"].get("NonKeyAttributes", [])),
            )
            for index in table["GlobalSecondaryIndexes"]
        }
        assert indexes == {
            "next_run": (
                [("shard", "N"), ("next_run", "S")],
                ["generation", "group", "next_occurrence", "plan", "runs_planned", "uid", "v"],
            ),
            "by_group": ([("group", "S"), ("job_id", "S")], []),
            "attention": ([("day", "S"), ("finished_at", "S")], ["status", "v"]),
        }


class TestNames:
    """A logical id that changes replaces the resource, and with it the data or the address."""

    def test_of_what_holds_data_or_an_address_never_change(self, default: Template) -> None:
        assert set(of_type(default, "AWS::DynamoDB::Table")) == {"CronceTable4FBA0098"}
        assert set(of_type(default, "AWS::SQS::Queue")) == {
            "CronceQueueF1534BC7",
            "CronceDeadLetterQueue14C1A2B2",
        }
        assert set(of_type(default, "AWS::ApiGateway::RestApi")) == {"CronceApiC82E541F"}

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("AWS::DynamoDB::Table", "TableName"),
            ("AWS::SQS::Queue", "QueueName"),
            ("AWS::Lambda::Function", "FunctionName"),
            ("AWS::IAM::Role", "RoleName"),
            ("AWS::Logs::LogGroup", "LogGroupName"),
            ("AWS::Events::Rule", "Name"),
            ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"),
            ("AWS::CloudWatch::Alarm", "AlarmName"),
            ("AWS::CloudWatch::Dashboard", "DashboardName"),
        ],
    )
    def test_are_left_to_cloudformation(self, default: Template, kind: str, name: str) -> None:
        resources = of_type(default, kind)
        assert resources
        assert not [logical for logical, each in resources.items() if name in each]

    def test_outputs_say_how_to_reach_it(self, default: Template) -> None:
        assert set(default["Outputs"]) == {
            f"Cronce{name}"
            for name in (
                "ApiUrl",
                "ApiId",
                "TableName",
                "QueueUrl",
                "DeadLetterQueueUrl",
                "ApiFunction",
                "DispatcherFunction",
                "WorkerFunction",
                "ApiLogs",
                "DispatcherLogs",
                "WorkerLogs",
                "WatchFunction",
                "WatchLogs",
                "ReaderPolicy",
                "OperatorPolicy",
                "EditorPolicy",
                "Region",
                "Deployment",
            )
        }


class TestApi:
    def test_every_method_is_authorised_by_iam(self, default: Template) -> None:
        methods = of_type(default, "AWS::ApiGateway::Method")
        assert len(methods) == 2
        assert {m["AuthorizationType"] for m in methods.values()} == {"AWS_IAM"}
        assert {m["HttpMethod"] for m in methods.values()} == {"ANY"}

    @pytest.mark.parametrize(
        ("kind", "status"),
        [
            ("DEFAULT_4XX", None),
            ("DEFAULT_5XX", None),
            ("ACCESS_DENIED", "403"),
            ("MISSING_AUTHENTICATION_TOKEN", "403"),
            ("REQUEST_TOO_LARGE", "413"),
            ("THROTTLED", "429"),
            ("QUOTA_EXCEEDED", "429"),
            ("INTEGRATION_TIMEOUT", "504"),
            ("INTEGRATION_FAILURE", "504"),
        ],
    )
    def test_the_gateways_own_answers_are_problem_details(
        self, default: Template, kind: str, status: str | None
    ) -> None:
        (answer,) = (
            each
            for each in of_type(default, "AWS::ApiGateway::GatewayResponse").values()
            if each["ResponseType"] == kind
        )
        assert answer.get("StatusCode") == status
        assert answer["ResponseParameters"] == {
            "gatewayresponse.header.Content-Type": "'application/problem+json'"
        }
        template = answer["ResponseTemplates"]["application/json"]
        filled = template.replace("$context.error.messageString", '"no"')
        problem = json.loads(filled)
        assert problem["type"] == "about:blank"
        assert problem["title"]
        assert problem.get("status") == (int(status) if status else None)


class TestProfile:
    def test_on_aws_functions_are_arm64_and_a_current_python(self, default: Template) -> None:
        for function in functions(default).values():
            assert function["Runtime"] == "python3.13"
            assert function["Architectures"] == ["arm64"]

    def test_queues_refuse_plain_http_on_aws_only(
        self, default: Template, synthesise: Callable[..., Template]
    ) -> None:
        denied = [
            statement["Condition"]
            for policy in of_type(default, "AWS::SQS::QueuePolicy").values()
            for statement in policy["PolicyDocument"]["Statement"]
        ]
        assert denied == [{"Bool": {"aws:SecureTransport": "false"}}] * 2
        assert not of_type(synthesise(profile="emulator"), "AWS::SQS::QueuePolicy")

    def test_only_what_every_engine_implements(self, chosen: Template) -> None:
        assert {resource["Type"] for resource in chosen["Resources"].values()} <= {
            "AWS::ApiGateway::Deployment",
            "AWS::ApiGateway::GatewayResponse",
            "AWS::ApiGateway::Method",
            "AWS::ApiGateway::Resource",
            "AWS::ApiGateway::RestApi",
            "AWS::ApiGateway::Stage",
            "AWS::CloudFormation::CustomResource",
            "AWS::CloudWatch::Alarm",
            "AWS::CloudWatch::Dashboard",
            "AWS::DynamoDB::Table",
            "AWS::Events::Rule",
            "AWS::IAM::ManagedPolicy",
            "AWS::IAM::Policy",
            "AWS::IAM::Role",
            "AWS::Lambda::EventInvokeConfig",
            "AWS::Lambda::EventSourceMapping",
            "AWS::Lambda::Function",
            "AWS::Lambda::Permission",
            "AWS::Logs::LogGroup",
            "AWS::SQS::Queue",
            "AWS::SQS::QueuePolicy",
        }

    def test_more_dispatchers_share_the_shards(self, chosen: Template) -> None:
        slices = {
            f["Environment"]["Variables"]["CRONCE_SLICE"]
            for f in of_type(chosen, "AWS::Lambda::Function").values()
            if f["Handler"] == "cronce.handlers.dispatcher.handler"
        }
        assert slices == {"0", "1"}
        assert len(of_type(chosen, "AWS::Events::Rule")) == 3
        for function in functions(chosen).values():
            assert function["Environment"]["Variables"]["CRONCE_SLICES"] == "2"
