"""The construct `Cronce`: read it aloud and you have the picture of the design."""

from dataclasses import replace

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce import limits
from cronce_cdk import grants, http, storage, targets
from cronce_cdk.functions import Part, Shape, build_function
from cronce_cdk.props import CronceProps

_API = Shape("ApiFunction", "api", "api", limits.API_TIMEOUT, 1024)
_DISPATCHER = Shape("Dispatcher", "dispatcher", "core", limits.DISPATCHER_TIMEOUT, 1024)
_WORKER = Shape("Worker", "worker", "core", limits.WORKER_TIMEOUT, 1024)


class Cronce(Construct):
    """A job scheduler: REST API, dispatcher, queue, worker and table."""

    def __init__(self, scope: Construct, construct_id: str, props: CronceProps | None = None):
        super().__init__(scope, construct_id)
        self._props = props or CronceProps()
        self._allowed: list[str] = list(self._props.secrets)
        targets.check(self._props.allowed_targets, self._props.profile)
        self.table = storage.build_table(self, self._props.removal_policy)
        self.queue, self.dead_letters = storage.build_queues(
            self, enforce_ssl=self._props.profile == "aws"
        )
        self._api_part = self._build_api_function()
        self._dispatchers = [self._build_dispatcher(n) for n in range(self._props.dispatchers)]
        self._worker = self._build_worker()
        self.api: apigateway.RestApi = http.build_api(self, self._api_part.function)
        for target in self._props.allowed_targets:
            self._allow_target(target)
        self._tell_targets()
        self._build_outputs(construct_id)

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
        stage = self.api.deployment_stage.stage_name
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["execute-api:Invoke"],
            resource_arns=[
                self.api.arn_for_execute_api(method, path, stage) for method, path in calls
            ],
        )

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
            "POWERTOOLS_SERVICE_NAME": "cronce",
            "POWERTOOLS_METRICS_NAMESPACE": "cronce",
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
        age = Duration.seconds(limits.TICK_MAX_EVENT_AGE)
        part.function.configure_async_invoke(retry_attempts=limits.TICK_RETRIES, max_event_age=age)
        events.Rule(
            self,
            f"{name}Tick",
            schedule=events.Schedule.rate(Duration.seconds(limits.TICK_PERIOD)),
            targets=[
                events_targets.LambdaFunction(
                    part.function, retry_attempts=limits.TICK_RETRIES, max_event_age=age
                )
            ],
        )
        return part

    def _build_worker(self) -> Part:
        part = build_function(self, _WORKER, self._props, self._environment())
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
            "Region": stack.region,
            "Deployment": stack.stack_name,
        }
        for name, value in values.items():
            output = CfnOutput(self, f"{name}Output", value=value)
            output.override_logical_id(f"{prefix}{name}")
