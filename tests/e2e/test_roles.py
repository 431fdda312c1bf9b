"""With the roles enforced everything works; without any one grant exactly its function does not."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronce import limits
from cronce.cli.emulator import Emulator
from cronce.client import ApiError, Client
from support import authorised
from support.emulator import eventually
from support.hooks import Hooks

pytestmark = pytest.mark.slow

FUNCTIONS = {
    "api": "ApiFunction",
    "dispatcher": "DispatcherFunction",
    "worker": "WorkerFunction",
    "watch": "WatchFunction",
}
# The emulator's own actions for calls that on AWS are covered by the action for a single one.
BATCHES = {
    f"sqs:{name}": f"sqs:{name}Batch"
    for name in ("ChangeMessageVisibility", "DeleteMessage", "SendMessage")
}
# Every grant but the one to write its own log, by which the others are seen.
GRANTS = [
    ("api", "Manage"),
    ("api", "List"),
    ("api", "ListAll"),
    ("api", "Send"),
    ("dispatcher", "FindDue"),
    ("dispatcher", "Advance"),
    ("dispatcher", "Send"),
    ("dispatcher", "Announce"),
    ("worker", "Run"),
    ("worker", "Receive"),
    ("worker", "Retry"),
    ("worker", "PutAside"),
    ("worker", "Announce"),
    ("watch", "LookAtDue"),
    ("watch", "CountShards"),
]


@dataclass(frozen=True)
class Stage:
    """The deployment and what a test does with it."""

    running: Emulator
    hooks: Hooks

    def client_of(self, service: str) -> Any:
        return self.running.session().client(service, endpoint_url=self.running.endpoint)

    @property
    def api(self) -> Client:
        return Client.of_session(self.running.api_url, self.running.session())

    def role_of(self, function: str) -> tuple[str, str, dict[str, Any]]:
        """Name of the role, name of its one policy, and the policy."""
        found = self.client_of("lambda").get_function_configuration(
            FunctionName=self.running.outputs[FUNCTIONS[function]]
        )
        role = found["Role"].rsplit("/", 1)[1]
        iam = self.client_of("iam")
        (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        return role, name, document

    def put_policy(self, function: str, document: dict[str, Any]) -> None:
        role, name, _ = self.role_of(function)
        self.client_of("iam").put_role_policy(
            RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document)
        )

    def allow_batches(self) -> None:
        for function in FUNCTIONS:
            _, _, policy = self.role_of(function)
            for statement in policy["Statement"]:
                actions = statement["Action"]
                actions = [actions] if isinstance(actions, str) else actions
                statement["Action"] = actions + [BATCHES[a] for a in actions if a in BATCHES]
            self.put_policy(function, policy)

    @contextmanager
    def without(self, function: str, sid: str) -> Iterator[None]:
        """While it lasts, the function's role lacks the statement."""
        _, _, policy = self.role_of(function)
        rest = [s for s in policy["Statement"] if s["Sid"] != sid]
        assert len(rest) == len(policy["Statement"]) - 1
        self.put_policy(function, {**policy, "Statement": rest})
        try:
            yield
        finally:
            self.put_policy(function, policy)
            time.sleep(1)  # what was under way without it has been logged by then

    def denied(self, since: datetime) -> set[str]:
        """The functions that have been refused something since."""
        logs, found = self.client_of("logs"), set()
        for function, output in FUNCTIONS.items():
            pages = logs.get_paginator("filter_log_events").paginate(
                logGroupName=self.running.outputs[output.replace("Function", "Logs")],
                startTime=int(since.timestamp() * 1000),
            )
            texts = [event["message"] for page in pages for event in page["events"]]
            if any("AccessDenied" in text for text in texts):
                found.add(function)
        return found

    def invoke(self, function: str) -> bool:
        """Whether an invocation by hand ended well."""
        answer = self.client_of("lambda").invoke(
            FunctionName=self.running.outputs[FUNCTIONS[function]], Payload=b"{}"
        )
        return "FunctionError" not in answer

    def use_everything(self) -> dict[str, bool]:
        """Ask every function for everything that it does; which of them did all of it."""
        name = f"e2e.{uuid.uuid4().hex[:8]}"
        ahead = timedelta(seconds=limits.HORIZON)
        later = whole_second(datetime.now(UTC) + ahead + timedelta(seconds=3))
        self.client_of("sqs").send_message(
            QueueUrl=self.running.outputs["QueueUrl"], MessageBody=f"not ours {name}"
        )
        api = [
            self.asked(lambda: self.put(f"{name}.later", later)),
            self.asked(lambda: self.put(f"{name}.broken", later)),
            self.asked(lambda: self.put(name, soon())),
            self.asked(lambda: self.put(f"{name}.fails", soon(), "status/410")),
            self.asked(lambda: list(self.api.list_jobs())),
            self.asked(lambda: list(self.api.list_jobs(group="e2e"))),
        ]
        self.spoil(f"{name}.broken")
        watched = self.invoke("watch")
        wait = (later - ahead - datetime.now(UTC)).total_seconds() + 1
        time.sleep(max(0.0, wait))  # until a tick, and no longer the API, has to dispatch it
        return {"api": all(api), "watch": watched, "dispatcher": self.invoke("dispatcher")}

    def spoil(self, name: str) -> None:
        """The dispatcher cannot plan the job, so it has something to announce."""
        with suppress(ClientError):
            self.client_of("dynamodb").update_item(
                TableName=self.running.outputs["TableName"],
                Key={"pk": {"S": f"JOB#{name}"}, "sk": {"S": "JOB"}},
                UpdateExpression="SET #plan = :text",
                ConditionExpression="attribute_exists(pk)",
                ExpressionAttributeNames={"#plan": "plan"},
                ExpressionAttributeValues={":text": {"S": "nobody can read this"}},
            )

    def put(self, name: str, at: datetime, path: str = "fail-until/2") -> None:
        self.api.put_job(
            name,
            {
                "schedule": {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}"},
                "target": {"http": {"url": f"{self.hooks.url}/{path}"}},
                "retry": {"max_attempts": 2, "backoff": "1s"},
            },
        )

    @staticmethod
    def asked(call: Callable[[], object]) -> bool:
        try:
            call()
        except ApiError:
            return False
        return True


def whole_second(at: datetime) -> datetime:
    return (at + timedelta(seconds=2)).replace(microsecond=0)


def soon() -> datetime:
    return whole_second(datetime.now(UTC))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, hooks: Hooks) -> Iterator[Stage]:
    with authorised.deployed(tmp_path_factory.mktemp("roles")) as running:
        made = Stage(running, hooks)
        made.allow_batches()
        yield made


def test_the_table_names_every_grant(stage: Stage) -> None:
    deployed = {
        (function, statement["Sid"])
        for function in FUNCTIONS
        for statement in stage.role_of(function)[2]["Statement"]
    }
    assert {grant for grant in deployed if grant[1] != "Log"} == set(GRANTS)


def test_with_its_grants_every_function_does_its_part(stage: Stage) -> None:
    since = datetime.now(UTC)
    assert stage.use_everything() == {"api": True, "watch": True, "dispatcher": True}
    eventually(lambda: [hit for hit in stage.hooks.hits if hit.attempt == 2], 60)
    assert stage.denied(since) == set()


@pytest.mark.parametrize(("function", "sid"), GRANTS)
def test_without_a_grant_exactly_its_function_is_refused(
    stage: Stage, function: str, sid: str
) -> None:
    since = datetime.now(UTC)
    with stage.without(function, sid):
        done = stage.use_everything()
        eventually(lambda: stage.denied(since), 60)
    assert stage.denied(since) == {function}
    done.pop(function, None)
    assert all(done.values()), done
