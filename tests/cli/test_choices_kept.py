"""What a deployed stack was chosen with, and whose stack it is."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from cronce.cli import local
from cronce.cli.deployment import DESCRIPTION, DeploymentError, choices_of

from .conftest import Done

APP = Path(__file__).parents[2] / "infra" / "app.py"
QUEUE = {"Queue": {"Type": "AWS::SQS::Queue"}}
CHOSEN = {"allowed_targets": "https://a,https://b", "shards": "32"}


@pytest.fixture
def cloudformation() -> Iterator[Any]:
    session = boto3.Session("k", "s", region_name="eu-central-1")
    client = session.client("cloudformation")
    with Stubber(client) as stubber:
        client.stubber = stubber
        yield client


def make(cloudformation: Any, template: str) -> None:
    cloudformation.stubber.add_response("get_template", {"TemplateBody": template})


def of_cronce(**more: Any) -> str:
    return json.dumps({"Description": DESCRIPTION, "Resources": QUEUE, **more})


def test_are_found_in_the_stack(cloudformation: Any) -> None:
    make(cloudformation, of_cronce(Metadata={"cronce": CHOSEN}))
    assert choices_of(cloudformation, "jobs") == CHOSEN


def test_none_where_there_is_no_stack_or_it_remembers_none(cloudformation: Any) -> None:
    said = "Stack with id jobs does not exist"
    cloudformation.stubber.add_client_error("get_template", "ValidationError", said)
    assert choices_of(cloudformation, "jobs") == {}
    make(cloudformation, of_cronce())
    assert choices_of(cloudformation, "jobs") == {}
    cloudformation.stubber.add_response("get_template", {})
    assert choices_of(cloudformation, "jobs") == {}


@pytest.mark.parametrize(
    "template",
    [
        json.dumps({"Resources": QUEUE}),
        json.dumps({"Description": "orders", "Resources": QUEUE, "Metadata": {"cronce": CHOSEN}}),
        "Description: 'cronce: a job scheduler'\nResources: {Queue: {Type: 'AWS::SQS::Queue'}}\n",
    ],
)
def test_the_stack_of_another_app_is_not_deployed_over(cloudformation: Any, template: str) -> None:
    make(cloudformation, template)
    with pytest.raises(DeploymentError, match="'jobs' is of another app"):
        choices_of(cloudformation, "jobs")


def test_who_may_not_look_is_told(cloudformation: Any) -> None:
    cloudformation.stubber.add_client_error("get_template", "AccessDenied", "not authorized")
    with pytest.raises(DeploymentError, match="not authorized"):
        choices_of(cloudformation, "jobs")


def test_the_app_describes_its_stack_so() -> None:
    assert re.findall(r'description="(.*)"', APP.read_text()) == [DESCRIPTION]


def test_what_is_said_anew_is_not_kept_be_it_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {**CHOSEN, "profile": "aws", "alarm_topic": "arn:x", "secrets": "arn:y"}
    monkeypatch.setattr("cronce.cli.deployment.choices_of", lambda _client, _stack: before)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("CRONCE_ALARM_TOPIC", "")
    monkeypatch.setenv("CRONCE_SHARDS", "64")
    assert local._kept("jobs", {"allowed_targets"}) == {"secrets": "arn:y"}


def test_are_not_looked_for_at_an_endpoint_that_is_no_url(cronce: Callable[..., Done]) -> None:
    done = cronce("deploy", "--endpoint", "file:///etc", "--region", "eu-central-1")
    assert (done.code, done.err) == (1, "cronce: Invalid endpoint: file:///etc\n")


def test_are_looked_for_in_the_region_that_the_environment_names(
    cronce: Callable[..., Done],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        endpoint = f"http://127.0.0.1:{probe.getsockname()[1]}"
    done = cronce(
        "deploy",
        AWS_ENDPOINT_URL=endpoint,
        AWS_REGION="eu-central-1",
        AWS_ACCESS_KEY_ID="k",
        AWS_SECRET_ACCESS_KEY="s",
        AWS_MAX_ATTEMPTS="1",
    )
    assert done.code == 1
    assert f'Could not connect to the endpoint URL: "{endpoint}/"' in done.err
