"""The kinds that moto speaks: messages and secrets arrive as the contract says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cronce.targets.aws import BotoClients
from cronce.targets.contract import context
from cronce.targets.kinds import SecretUnavailable, Tools
from cronce.targets.secrets import MOST_KEPT, SecretsManager
from cronce.targets.sns import SnsTarget
from cronce.targets.sqs import SqsTarget
from support.target_calls import FakeSecrets, call_of

REGION = "eu-west-1"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


def tools() -> Tools:
    return Tools(clients=BotoClients(), secrets=FakeSecrets({}))


def make_queue(name: str, **attributes: str) -> tuple[Any, str, str]:
    sqs = boto3.client("sqs", REGION)
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    return sqs, url, arn["QueueArn"]


def received(sqs: Any, url: str) -> list[Any]:
    return sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        MessageAttributeNames=["All"],
        AttributeNames=["All"],
    ).get("Messages", [])


def test_sqs():
    sqs, url, arn = make_queue("in")
    call = call_of({"sqs": {"queue": arn}}, payload='{"n":1.10,"run":"<cronce.run_id>"}')
    answer = SqsTarget(tools()).execute(call)
    (message,) = received(sqs, url)
    assert (answer.ok, answer.code, answer.result) == (True, "sent", message["MessageId"])
    assert message["Body"] == '{"n":1.10,"run":"20261130T013000Z-k3f9a2qd"}'
    told = {k: v["StringValue"] for k, v in message["MessageAttributes"].items()}
    assert told == context(call)


def test_fifo_keeps_one_message_of_a_run_whatever_the_attempt():
    sqs, url, arn = make_queue("in.fifo", FifoQueue="true")
    target = SqsTarget(tools())
    for attempt in (1, 2):
        call = call_of({"sqs": {"queue": arn}}, payload="<cronce.attempt>", attempt=attempt)
        assert target.execute(call).ok
    grouped = {"sqs": {"queue": arn, "group": "g-7"}}
    assert target.execute(call_of(grouped, run_id="20261130T014500Z-k3f9a2qd")).ok
    found = received(sqs, url)
    assert [m["Attributes"]["MessageGroupId"] for m in found] == ["billing.invoice", "g-7"]
    assert found[0]["Body"] == "1"


def test_a_queue_that_is_gone_fails_at_once():
    call = call_of({"sqs": {"queue": f"arn:aws:sqs:{REGION}:123456789012:gone"}})
    answer = SqsTarget(tools()).execute(call)
    assert (answer.ok, answer.outcome, answer.permanent) == (False, "failed", True)
    assert "NonExistentQueue" in answer.code


def test_sns():
    sqs, url, queue = make_queue("subscriber")
    sns = boto3.client("sns", REGION)
    topic = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(
        TopicArn=topic,
        Protocol="sqs",
        Endpoint=queue,
        Attributes={"RawMessageDelivery": "true"},
    )
    call = call_of({"sns": {"topic": topic, "subject": "Hello"}}, payload='{"a":1}')
    answer = SnsTarget(tools()).execute(call)
    assert (answer.ok, answer.code) == (True, "published")
    (message,) = received(sqs, url)
    assert message["Body"] == '{"a":1}'
    told = {k: v["StringValue"] for k, v in message["MessageAttributes"].items()}
    assert told == context(call)


class Ticking:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_secrets_are_kept_for_a_while():
    manager = boto3.client("secretsmanager", REGION)
    arn = manager.create_secret(Name="hook", SecretString="one")["ARN"]
    clock = Ticking()
    secrets = SecretsManager(BotoClients(), keep=60, monotonic=clock)
    assert secrets.get(arn) == "one"
    manager.put_secret_value(SecretId=arn, SecretString="two")
    clock.now = 59.9
    assert secrets.get(arn) == "one"
    clock.now = 60.0
    assert secrets.get(arn) == "two"
    manager.put_secret_value(SecretId=arn, SecretString="three")
    secrets.forget(arn)
    assert secrets.get(arn) == "three"
    assert "three" not in repr(secrets)


def test_no_more_than_a_bounded_number_of_secrets_is_kept():
    class Counting:
        calls = 0

        def get_secret_value(self, SecretId: str) -> dict[str, str]:
            self.calls += 1
            return {"SecretString": SecretId}

    client = Counting()
    secrets = SecretsManager(lambda service, region, timeout: client, monotonic=Ticking())
    names = [f"arn:aws:secretsmanager:{REGION}:123456789012:secret:s{n}" for n in range(100)]
    assert [secrets.get(name) for name in names] == names
    assert client.calls == 100
    assert repr(secrets) == f"SecretsManager({MOST_KEPT} kept)"
    secrets.get(names[-1])
    assert client.calls == 100
    secrets.get(names[0])
    assert client.calls == 101


def test_secrets_that_cannot_be_read():
    manager = boto3.client("secretsmanager", REGION)
    binary = manager.create_secret(Name="binary", SecretBinary=b"\x00")["ARN"]
    secrets = SecretsManager(BotoClients())
    gone = f"arn:aws:secretsmanager:{REGION}:123456789012:secret:gone-AbCdEf"
    for arn in (binary, gone):
        with pytest.raises(SecretUnavailable) as caught:
            secrets.get(arn)
        assert caught.value.permanent
        assert caught.value.__cause__ is None
