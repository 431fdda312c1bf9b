"""What ``cdk deploy`` made: it can be found, it refuses strangers, it can be deployed again."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from cronce.cli import deployment as deployments
from cronce.cli import emulator
from cronce.cli.emulator import Emulator


def test_a_deployment_is_found_by_the_outputs_of_its_stack(deployment: Emulator) -> None:
    found = deployments.find(
        deployment.stack, endpoint_url=deployment.endpoint, session=deployment.session()
    )
    assert found.api_url == deployment.api_url
    assert found.outputs == deployment.outputs
    assert found.region == "us-east-1"


def test_a_stack_that_is_not_there_is_named(deployment: Emulator) -> None:
    with pytest.raises(deployments.DeploymentError, match="there is no stack 'nowhere' at http"):
        deployments.find("nowhere", endpoint_url=deployment.endpoint, session=deployment.session())


def test_a_stack_of_something_else_is_not_taken_for_one(deployment: Emulator) -> None:
    with pytest.raises(deployments.DeploymentError, match="no outputs of a cronce deployment"):
        deployments.find(
            "CDKToolkit", endpoint_url=deployment.endpoint, session=deployment.session()
        )


def test_an_unsigned_request_is_refused_with_a_problem(deployment: Emulator) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as refused:
        opener.open(f"{deployment.api_url}jobs/any", timeout=30)
    with refused.value as answer:
        assert answer.code == 403
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert json.load(answer)["status"] == 403


def test_functions_know_their_deployment(deployment: Emulator, aws: Callable[[str], Any]) -> None:
    for name in ("ApiFunction", "DispatcherFunction", "WorkerFunction"):
        function = aws("lambda").get_function_configuration(FunctionName=deployment.outputs[name])
        variables = function["Environment"]["Variables"]
        assert variables["CRONCE_TABLE"] == deployment.outputs["TableName"]
        assert variables["CRONCE_PROFILE"] == "emulator"
        assert json.loads(variables["CRONCE_ALLOWED_ADDRESSES"]) == ["127.0.0.0/8"]


def test_deploying_again_keeps_resources_and_what_was_allowed(deployment: Emulator) -> None:
    assert emulator.deploy(home=deployment.home) == deployment
