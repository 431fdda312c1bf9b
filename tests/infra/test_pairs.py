"""B28 to B31: each queue and the function that reads it, whatever a deployment chose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from support.templates import Template, of_type


@pytest.fixture(params=["default", "chosen"])
def template(request: pytest.FixtureRequest) -> Template:
    found: Template = request.getfixturevalue(request.param)
    return found


def pairs(template: Template) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Mapping, queue and function."""
    resources = template["Resources"]
    for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
        queue = resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        function = resources[mapping["FunctionName"]["Ref"]]["Properties"]
        yield mapping, queue, function


def test_b28_visibility_is_six_timeouts_and_the_window(template: Template) -> None:
    found = list(pairs(template))
    assert found
    for mapping, queue, function in found:
        window = mapping.get("MaximumBatchingWindowInSeconds", 0)
        assert queue["VisibilityTimeout"] >= 6 * function["Timeout"] + window


def test_b28_no_choice_moves_the_one_without_the_other() -> None:
    """Both come from one constant; there is no `timeout` to choose."""
    from cronce_cdk import CronceProps

    assert not [f.name for f in fields(CronceProps) if "timeout" in f.name or "visib" in f.name]


def test_b29_throttling_uses_nothing_up_and_a_dead_message_is_heard(template: Template) -> None:
    for mapping, queue, function in pairs(template):
        assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 2
        assert "ReservedConcurrentExecutions" not in function
        redrive = queue["RedrivePolicy"]
        assert redrive["maxReceiveCount"] >= 5
        dead = redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]
        alarms = of_type(template, "AWS::CloudWatch::Alarm").values()
        heard = [
            (a["Namespace"], a["MetricName"])
            for a in alarms
            for d in a.get("Dimensions", [])
            if d["Value"] == {"Fn::GetAtt": [dead, "QueueName"]}
        ]
        assert heard == [("AWS/SQS", "ApproximateNumberOfMessagesVisible")]


def test_b31_partial_answers_are_listened_to(template: Template) -> None:
    for mapping, _, _ in pairs(template):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
