"""The construct `Cronce`: read it aloud and you have the picture of the design."""

from dataclasses import replace
from typing import Any

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce import limits
from cronce_cdk import (
    alarms,
    announcements,
    callers,
    dashboard,
    grants,
    http,
    keys,
    storage,
    targets,
)
from cronce_cdk.functions import Part, Shape, build_function
from cronce_cdk.metrics import Measured
from cronce_cdk.props import CronceProps, InvalidProps
from cronce_cdk.reasons import accept_wildcards

_API = Shape("ApiFunction", "api", "api", limits.API_TIMEOUT, 1024)
_DISPATCHER = Shape("Dispatcher", "dispatcher", "core", limits.DISPATCHER_TIMEOUT, 1024)
_WORKER = Shape("Worker", "worker", "core", limits.WORKER_TIMEOUT, 1024)
_WATCH = Shape("Watch", "watch", "core", limits.WATCH_TIMEOUT, 256)


class Cronce(Construct):
    """A job scheduler: REST API, dispatcher, queue, worker and table."""

    def __init__(self, scope: Construct, construct_id: str, props: CronceProps | None = None):
        super().__init__(scope, construct_id)
        self._check_alone()
        self._props = props or CronceProps()
        self._allowed: list[str] = list(self._props.secrets)
        targets.check(self._props.allowed_targets, self._props.profile)
        self.table = self._build_table()
        self.queue, self.dead_letters = storage.build_queues(
            self, enforce_ssl=self._props.profile == "aws", key=self._props.encryption_key
        )
        self._ticks: list[events.Rule] = []
        self._api_part = self._build_api_function()
        self._dispatchers = [self._build_dispatcher(n) for n in range(self._props.dispatchers)]
        self._worker = self._build_worker()
        self._watch = self._build_watch()
        self._give_key()
        self.event_bus = self._announce()
        self.api: apigateway.RestApi = http.build_api(
            self, self._api_part.function, self._props.private_api
        )
        self.policies = callers.build_policies(self, self.api)
        self.alarms = self._build_alarms()
        for target in self._props.allowed_targets:
            self._allow_target(target)
        self._tell_targets()
        self._build_outputs(construct_id)

    def _check_alone(self) -> None:
        stack = Stack.of(self)
        others = [
            c
            for c in stack.node.find_all()
            if isinstance(c, Cronce) and c is not self and Stack.of(c).node.path == stack.node.path
        ]
        if others:
            raise InvalidProps(
                f"{self.node.path}: stack {stack.stack_name} holds {others[0].node.path} already; "
                "metrics and logs carry the stack's name, so there is one Cronce for each stack"
            )

    @property
    def api_url(self) -> str:
        """Where the API answers, with the stage and a slash at the end."""
        return self.api.url

    def allow(self, target: lambda_.IFunction | sqs.IQueue) -> None:
        """Let jobs of this deployment reach a function or queue of this app."""
        if hasattr(target, "function_arn"):
            self._allow_arn(target.function_arn, "lambda:InvokeFunction")
        elif hasattr(target, "queue_arn"):
            self._allow_arn(target.queue_arn, "sqs:SendMessage")
        else:
            raise TypeError(f"allow() takes a function or a queue, not {type(target).__name__}")

    def grant_run(self, grantee: iam.IGrantable, job: str = "*") -> iam.Grant:
        """Let a role trigger a job (or those of a pattern) and see how its runs go."""
        return self._grant_calls(grantee, [("POST", f"/jobs/{job}/run"), ("GET", f"/jobs/{job}")])

    def grant_manage(self, grantee: iam.IGrantable, prefix: str = "") -> iam.Grant:
        """Let a role do everything with the jobs whose ids start with a prefix."""
        return self._grant_calls(grantee, [("*", f"/jobs/{prefix}*")])

    def _grant_calls(self, grantee: iam.IGrantable, calls: list[tuple[str, str]]) -> iam.Grant:
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["execute-api:Invoke"],
            resource_arns=callers.arns(self.api, calls),
        )

    def _build_table(self) -> dynamodb.ITable:
        key = self._props.encryption_key
        if self._props.table_arn:
            return storage.attach_table(self, self._props.table_arn, key)
        return storage.build_table(self, self._props.removal_policy, key)

    def _environment(self, **more: str) -> dict[str, str]:
        stack = Stack.of(self)
        return {
            "CRONCE_TABLE": self.table.table_name,
            "CRONCE_QUEUE_URL": self.queue.queue_url,
            "CRONCE_DLQ_URL": self.dead_letters.queue_url,
            "CRONCE_DEPLOYMENT": stack.stack_name,
            "CRONCE_PROFILE": self._props.profile,
            "CRONCE_SHARDS": str(self._props.shards),
            "CRONCE_SLICE": "0",
            "CRONCE_SLICES": str(self._props.dispatchers),
            "CRONCE_ALLOWED_TARGETS": "[]",
            "CRONCE_ALLOWED_ADDRESSES": stack.to_json_string(list(self._props.allowed_addresses)),
            **more,
        }

    def _build_api_function(self) -> Part:
        part = build_function(self, _API, self._props, self._environment())
        grants.to_manage(part.role, self.table, self.queue)
        return part

    def _build_dispatcher(self, slice_: int) -> Part:
        name = "Dispatcher" if slice_ == 0 else f"Dispatcher{slice_}"
        shape = replace(_DISPATCHER, name=name)
        environment = self._environment(CRONCE_SLICE=str(slice_))
        part = build_function(self, shape, self._props, environment)
        grants.to_dispatch(part.role, self.table, self.queue)
        self._invoke_each_minute(part, f"{name}Tick")
        return part

    def _invoke_each_minute(self, part: Part, name: str) -> None:
        age = Duration.seconds(limits.TICK_MAX_EVENT_AGE)
        once = limits.TICK_RETRIES
        part.function.configure_async_invoke(retry_attempts=once, max_event_age=age)
        rule = events.Rule(
            self,
            name,
            schedule=events.Schedule.rate(Duration.seconds(limits.TICK_PERIOD)),
            targets=[
                events_targets.LambdaFunction(part.function, retry_attempts=once, max_event_age=age)
            ],
        )
        self._ticks.append(rule)

    def _build_watch(self) -> Part:
        """Of its own rule, role and log: it must not fall silent together with a dispatcher."""
        part = build_function(self, _WATCH, self._props, self._environment())
        grants.to_watch(part.role, self.table)
        self._invoke_each_minute(part, "WatchTick")
        return part

    def _give_key(self) -> None:
        key = self._props.encryption_key
        if key is None:
            return
        keys.let_logs_use(key)
        for part in (self._api_part, *self._dispatchers, self._worker, self._watch):
            grants.to_use_key(part.role, key)

    def _announce(self) -> events.IEventBus | None:
        """The bus that outcomes are announced to; None where nothing is announced."""
        tellers = [*self._dispatchers, self._worker]
        return announcements.build(self, self._props, tellers) if self._props.announces else None

    def _build_alarms(self) -> list[cloudwatch.Alarm]:
        dispatchers = [part.function for part in self._dispatchers]
        measured = Measured(
            deployment=Stack.of(self).stack_name,
            table=self.table,
            queue=self.queue,
            dead_letters=self.dead_letters,
            dispatchers=dispatchers,
            functions={
                "api": self._api_part.function,
                "dispatcher": dispatchers[0],
                "worker": self._worker.function,
                "watch": self._watch.function,
            },
        )
        made = alarms.build_alarms(self, measured, self._props.alarm_topic)
        alarms.after_a_first_look(self, self._watch.function, self._ticks, made)
        dashboard.build_dashboard(self, measured, made)
        return made

    def _build_worker(self) -> Part:
        network: dict[str, Any] = {}
        if self._props.vpc is not None:
            network = {
                "vpc": self._props.vpc,
                "vpc_subnets": self._props.subnets,
                "security_groups": list(self._props.security_groups) or None,
            }
        part = build_function(self, _WORKER, self._props, self._environment(), **network)
        if network:
            grants.to_join_network(part.role)
        grants.to_work(part.role, self.table, self.queue, self.dead_letters)
        grants.to_read_secrets(part.role, self._props.secrets)
        part.function.add_event_source_mapping(
            "Queue",
            event_source_arn=self.queue.queue_arn,
            batch_size=limits.BATCH_SIZE,
            max_concurrency=self._props.max_concurrency,
            report_batch_item_failures=True,
        )
        return part

    def _allow_target(self, target: str) -> None:
        self._allowed.append(target)
        for statement in targets.statements(target):
            self._worker.role.add_to_policy(statement)
            accept_wildcards(self._worker.role, statement.resources, "As `allowed_targets` says.")

    def _allow_arn(self, arn: str, action: str) -> None:
        self._allowed.append(arn)
        self._worker.role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[arn]))
        self._tell_targets()

    def _tell_targets(self) -> None:
        """The API refuses and the worker stops what is not on the list; both read it from here."""
        listed = Stack.of(self).to_json_string(self._allowed)
        for part in (self._api_part, self._worker):
            part.function.add_environment("CRONCE_ALLOWED_TARGETS", listed)

    def _build_outputs(self, prefix: str) -> None:
        stack = Stack.of(self)
        values = {
            "ApiUrl": self.api.url,
            "ApiId": self.api.rest_api_id,
            "TableName": self.table.table_name,
            "QueueUrl": self.queue.queue_url,
            "DeadLetterQueueUrl": self.dead_letters.queue_url,
            "ApiFunction": self._api_part.function.function_name,
            "DispatcherFunction": self._dispatchers[0].function.function_name,
            "WorkerFunction": self._worker.function.function_name,
            "ApiLogs": self._api_part.logs.log_group_name,
            "DispatcherLogs": self._dispatchers[0].logs.log_group_name,
            "WorkerLogs": self._worker.logs.log_group_name,
            "WatchFunction": self._watch.function.function_name,
            "WatchLogs": self._watch.logs.log_group_name,
            **{f"{level}Policy": each.managed_policy_arn for level, each in self.policies.items()},
            "Region": stack.region,
            "Deployment": stack.stack_name,
            **({"EventBus": self.event_bus.event_bus_arn} if self.event_bus else {}),
        }
        for name, value in values.items():
            output = CfnOutput(self, f"{name}Output", value=value)
            output.override_logical_id(f"{prefix}{name}")
