"""Lambda, Step Functions and ECS against a server that answers as they do, and AWS's errors."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import boto3
import pytest

from cronce.targets.aws import BotoClients, by_code
from cronce.targets.contract import context
from cronce.targets.ecs import EcsTarget
from cronce.targets.events import EventsTarget
from cronce.targets.kinds import Tools
from cronce.targets.lambda_ import LambdaTarget
from cronce.targets.registry import build_targets
from cronce.targets.states import StatesTarget, execution_name
from support.target_calls import FakeSecrets, call_of

HEAD = "eu-west-1:123456789012"
FUNCTION = f"arn:aws:lambda:{HEAD}:function:report"
MACHINE = f"arn:aws:states:{HEAD}:stateMachine:close"
EXECUTION = f"arn:aws:states:{HEAD}:execution:close:"
RUN = "20261130T013000Z-k3f9a2qd"


# One session: what takes time is reading the models of the services.
SESSION = boto3.session.Session()


@pytest.fixture
def aws(serve: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")

    def start(script: Any) -> Any:
        server = serve(script)
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        return server

    return start


def tools(**more: Any) -> Tools:
    return Tools(clients=BotoClients(session=SESSION), secrets=FakeSecrets({}), **more)


def invoke(**changes: Any) -> Any:
    call = call_of({"lambda": {"function": FUNCTION}}, **changes)
    return LambdaTarget(tools()).execute(call)


def reply(status: int, document: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, headers, json.dumps(document).encode()


def error(status: int, code: str, message: str = "no") -> tuple[int, dict[str, str], bytes]:
    return (
        status,
        {"x-amzn-ErrorType": code},
        json.dumps({"__type": code, "message": message}).encode(),
    )


def test_lambda(aws):
    server = aws(lambda seen: reply(200, {"done": 1}))
    answer = invoke(payload='{"n":1.10}')
    assert (answer.ok, answer.code, answer.result) == (True, "invoked", '{"done": 1}')
    (seen,) = server.calls
    assert "report/invocations" in seen.path
    assert seen.body == b'{"n":1.10}'
    assert seen.headers["x-amz-invocation-type"] == "RequestResponse"
    custom = json.loads(base64.b64decode(seen.headers["x-amz-client-context"]))["custom"]
    assert custom == context(call_of({}))


def test_a_function_error_is_a_failure_that_is_retried(aws):
    fault = {"errorType": "ValueError", "errorMessage": "no such customer"}
    server = aws(lambda seen: reply(200, fault, **{"X-Amz-Function-Error": "Unhandled"}))
    answer = invoke()
    assert (answer.ok, answer.outcome, answer.permanent) == (False, "failed", False)
    assert answer.code == "function_error"
    assert "no such customer" in answer.detail
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("status", "code", "permanent"),
    [
        (429, "TooManyRequestsException", False),
        (500, "ServiceException", False),
        (502, "EC2ThrottledException", False),
        (409, "ResourceConflictException", False),
        (400, "ThrottlingException", False),
        (403, "ExpiredTokenException", False),
        (403, "AccessDeniedException", True),
        (404, "ResourceNotFoundException", True),
        (413, "RequestTooLargeException", True),
    ],
)
def test_errors_of_a_service_are_told_apart_and_asked_once(aws, status, code, permanent):
    server = aws(lambda seen: error(status, code, "why"))
    answer = invoke()
    assert (answer.ok, answer.code, answer.permanent) == (False, code, permanent)
    assert answer.detail == "why"
    assert len(server.calls) == 1


def test_a_function_that_is_too_slow_is_invoked_once(aws):
    release = threading.Event()
    server = aws(lambda seen: release.wait(10) and reply(200, {}))
    answer = invoke(timeout=0.05)
    release.set()
    assert (answer.outcome, answer.code, answer.permanent) == ("timed_out", "timeout", False)
    assert len(server.calls) == 1


def test_the_connection_outlasts_the_longest_attempt():
    client = BotoClients()("lambda", "eu-west-1", 840 + 1.0)
    assert client.meta.config.read_timeout == 841
    assert client.meta.config.retries["total_max_attempts"] == 1
    assert client.meta.region_name == "eu-west-1"


def test_clients_are_shared_and_bounded():
    clients = BotoClients()
    first = clients("sqs", "eu-west-1", 60.2)
    assert clients("sqs", "eu-west-1", 61) is first
    assert clients("sqs", "eu-west-2", 61) is not first


def test_nobody_listens(aws, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert (invoke().code, invoke().permanent) == ("connection", False)


EVENTS = {"events": {"bus": f"arn:aws:events:{HEAD}:event-bus/default"}}


def test_events(aws):
    server = aws(lambda seen: reply(200, {"FailedEntryCount": 0, "Entries": [{"EventId": "7"}]}))
    own = {"events": EVENTS["events"] | {"source": "com.acme", "detail_type": "Invoice due"}}
    answers = [
        EventsTarget(tools()).execute(call_of(target, payload='{"n":1.10}'))
        for target in (EVENTS, own)
    ]
    assert [(a.ok, a.code, a.result) for a in answers] == [(True, "put", "7")] * 2
    plain, named = (json.loads(seen.body)["Entries"] for seen in server.calls)
    entry = {
        "EventBusName": EVENTS["events"]["bus"],
        "Source": "cronce",
        "DetailType": "Job Run",
        "Detail": '{"n":1.10}',
        "Resources": [f"billing.invoice/{RUN}"],
    }
    assert plain == [entry]
    assert named == [entry | {"Source": "com.acme", "DetailType": "Invoice due"}]


def test_an_event_that_the_bus_refused(aws):
    answers = [{"ErrorCode": "InternalFailure"}, {"ErrorCode": "MalformedDetail"}]
    aws(lambda seen: reply(200, {"FailedEntryCount": 1, "Entries": [answers.pop(0)]}))
    first, second = (EventsTarget(tools()).execute(call_of(EVENTS)) for _ in range(2))
    assert (first.code, first.permanent) == ("InternalFailure", False)
    assert (second.code, second.permanent) == ("MalformedDetail", True)


class Machines:
    """Step Functions' memory of executions: name → statuses to show, the last one for ever."""

    def __init__(self, executions: dict[str, list[str]]) -> None:
        self.executions = executions
        self.started: list[str] = []
        self.described: list[str] = []

    def __call__(self, seen: Any) -> tuple[int, dict[str, str], bytes]:
        asked = json.loads(seen.body)
        if seen.headers["x-amz-target"].endswith("StartExecution"):
            return self._start(asked["name"])
        name = asked["executionArn"].removeprefix(EXECUTION)
        self.described.append(name)
        statuses = self.executions[name]
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        told = {"output": '{"sum":7}'} if status == "SUCCEEDED" else {"error": "E", "cause": "bad"}
        ended = {} if status == "RUNNING" else told
        return reply(200, {"executionArn": EXECUTION + name, "status": status, **ended})

    def _start(self, name: str) -> tuple[int, dict[str, str], bytes]:
        if name in self.executions:
            return error(400, "ExecutionAlreadyExists", "there is one")
        self.started.append(name)
        self.executions[name] = ["RUNNING", "RUNNING", "SUCCEEDED"]
        return reply(200, {"executionArn": EXECUTION + name, "startDate": 1.0})


def follow(aws: Any, executions: dict[str, list[str]], **changes: Any) -> tuple[Any, Machines]:
    machines = Machines(executions)
    aws(machines)
    wait = changes.pop("wait", True)
    call = call_of({"states": {"machine": MACHINE, "wait": wait}}, **changes)
    return StatesTarget(tools(sleep=lambda seconds: None)).execute(call), machines


def test_states_without_wait_starts_one_execution_of_the_runs_name(aws):
    answer, machines = follow(aws, {}, wait=False)
    assert (answer.ok, answer.code, machines.started) == (True, "started", [RUN])
    assert machines.described == []


def test_states_started_by_an_earlier_attempt(aws):
    answer, machines = follow(aws, {RUN: ["FAILED"]}, wait=False)
    assert (answer.ok, answer.code, machines.started) == (True, "started_before", [])


def test_states_with_wait_follows_to_the_end(aws):
    answer, machines = follow(aws, {}, attempt=1)
    assert (answer.ok, answer.code) == (True, "execution_succeeded")
    assert answer.result == '{"sum":7}'
    assert machines.described == [RUN] * 3


@pytest.mark.parametrize(
    ("executions", "started", "code"),
    [
        ({RUN: ["RUNNING", "SUCCEEDED"]}, [], "execution_succeeded"),
        ({RUN: ["SUCCEEDED"]}, [], "execution_succeeded"),
        ({RUN: ["FAILED"]}, [f"{RUN}-2"], "execution_succeeded"),
        ({RUN: ["FAILED"], f"{RUN}-2": ["RUNNING", "SUCCEEDED"]}, [], "execution_succeeded"),
        ({RUN: ["FAILED"], f"{RUN}-2": ["TIMED_OUT"]}, [f"{RUN}-3"], "execution_succeeded"),
        ({RUN: ["ABORTED"]}, [], "execution_aborted"),
    ],
)
def test_a_later_attempt_follows_what_an_earlier_one_left(aws, executions, started, code):
    answer, machines = follow(aws, executions, attempt=3)
    assert (answer.code, machines.started) == (code, started)


@pytest.mark.parametrize(
    ("status", "permanent"), [("FAILED", False), ("TIMED_OUT", False), ("ABORTED", True)]
)
def test_an_execution_that_ends_badly(aws, status, permanent):
    answer, _ = follow(aws, {RUN: ["RUNNING", status]}, attempt=1)
    assert (answer.ok, answer.outcome, answer.permanent) == (False, "failed", permanent)
    assert (answer.code, answer.detail) == (f"execution_{status.lower()}", "E: bad")


def test_an_execution_that_outlasts_the_attempt_goes_on(aws):
    clock = iter(range(10_000))
    machines = Machines({RUN: ["RUNNING"]})
    aws(machines)
    target = StatesTarget(tools(sleep=lambda seconds: None, monotonic=lambda: next(clock)))
    answer = target.execute(call_of({"states": {"machine": MACHINE, "wait": True}}))
    assert (answer.outcome, answer.code) == ("timed_out", "timeout")
    assert 2 <= len(machines.described) <= 20


def test_a_failed_look_is_no_failed_execution(aws):
    machines = Machines({RUN: ["RUNNING"]})
    replies = [error(400, "ThrottlingException"), error(500, "InternalError")]

    def script(seen: Any) -> Any:
        look = seen.headers["x-amz-target"].endswith("DescribeExecution") and machines.described
        if look and replies:
            return replies.pop()
        if look:
            machines.executions[RUN] = ["SUCCEEDED"]
        return machines(seen)

    aws(script)
    target = StatesTarget(tools(sleep=lambda seconds: None))
    answer = target.execute(call_of({"states": {"machine": MACHINE, "wait": True}}))
    assert (answer.code, replies) == ("execution_succeeded", [])


@pytest.mark.parametrize("run_id", [RUN, RUN + "-m-a.b", RUN + "-m-" + "x" * 100, RUN + "-b-é"])
@pytest.mark.parametrize("attempt", [1, 2, 99999])
def test_execution_names(run_id, attempt):
    name = execution_name(run_id, attempt)
    assert 1 <= len(name) <= 80
    assert name.replace("-", "").replace("_", "").isalnum()
    assert name.isascii()
    assert name != execution_name(run_id + "x", attempt)
    assert name.startswith(RUN)


ECS = {
    "cluster": f"arn:aws:ecs:{HEAD}:cluster/main",
    "task_definition": f"arn:aws:ecs:{HEAD}:task-definition/report:3",
    "container": "main",
    "launch_type": "FARGATE",
    "subnets": ["subnet-0123abcd"],
}


def run_task(**changes: Any) -> Any:
    return EcsTarget(tools()).execute(call_of({"ecs": ECS}, **changes))


def test_ecs(aws):
    task = f"arn:aws:ecs:{HEAD}:task/main/1"
    server = aws(lambda seen: reply(200, {"tasks": [{"taskArn": task}], "failures": []}))
    answers = [run_task(payload='{"a":"<cronce.attempt>"}', attempt=n) for n in (1, 2)]
    assert [(a.ok, a.code, a.result) for a in answers] == [(True, "started", task)] * 2
    first, second = (json.loads(seen.body) for seen in server.calls)
    assert first["clientToken"] == second["clientToken"]
    assert len(first["clientToken"]) <= 64
    (container,) = first["overrides"]["containerOverrides"]
    environment = {e["name"]: e["value"] for e in container["environment"]}
    assert environment["CRONCE_PAYLOAD"] == '{"a":"1"}'
    assert environment["CRONCE_JOB"] == "billing.invoice"
    assert environment["IDEMPOTENCY_KEY"] == f"billing.invoice/{RUN}"
    network = first["networkConfiguration"]["awsvpcConfiguration"]
    assert network == {"subnets": ["subnet-0123abcd"], "assignPublicIp": "DISABLED"}


@pytest.mark.parametrize(
    ("reason", "permanent"),
    [("RESOURCE:MEMORY", False), ("Capacity is unavailable", False), ("MISSING", True)],
)
def test_ecs_could_not_place_the_task(aws, reason, permanent):
    aws(lambda seen: reply(200, {"tasks": [], "failures": [{"reason": reason}]}))
    answer = run_task()
    assert (answer.code, answer.permanent) == ("task_not_started", permanent)
    assert reason in answer.detail


def test_ecs_was_started_by_an_earlier_attempt(aws):
    aws(lambda seen: error(400, "ConflictException", "clientToken is already in use"))
    answer = run_task(attempt=2)
    assert (answer.ok, answer.code) == (True, "started_before")


def test_the_code_of_an_error_is_a_word():
    assert by_code("AWS.Simple Queue\n<x>", "m").code == "AWS.Simple_Queue__x_"
    assert by_code("", "m", 503).code == "http_503"


def test_a_deployment_of_an_emulator_reaches_loopback_but_not_its_own_runtime(serve):
    server, runtime = (serve(lambda seen: (200, {}, b"")) for _ in range(2))
    target = build_targets(
        profile="emulator",
        allowed=["http://127.0.0.1:*"],
        allowed_addresses=[ip_network("127.0.0.0/8")],
        runtime_api=f"127.0.0.1:{runtime.port}",
        clients=BotoClients(session=SESSION),
    )
    assert target.execute(call_of({"http": {"url": server.url}})).ok
    assert target.execute(call_of({"http": {"url": runtime.url}})).code == "address_refused"
    assert runtime.calls == []


def test_the_kind_is_chosen_and_what_is_allowed_is_checked_when_it_runs(aws):
    server = aws(lambda seen: reply(200, {}))
    target = build_targets(profile="aws", allowed=[FUNCTION], clients=BotoClients(session=SESSION))
    assert target.execute(call_of({"lambda": {"function": FUNCTION}})).ok
    assert len(server.calls) == 1
    refused = [
        ({"lambda": {"function": FUNCTION + "2"}}, "target_not_allowed"),
        ({"http": {"url": "https://hooks.example.com"}}, "target_not_allowed"),
        ({"http": {"url": server.url}}, "bad_url"),
        ({"smtp": {}}, "unknown_target_kind"),
        ({}, "bad_target"),
    ]
    for stored, code in refused:
        answer = target.execute(call_of(stored))
        assert (answer.ok, answer.permanent, answer.code) == (False, True, code)
    assert len(server.calls) == 1
