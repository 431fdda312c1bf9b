"""Alarms and dashboard: what they look at is really written, and silence is heard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cronce import limits
from cronce.adapters import observer
from support.templates import Template, of_type, shown

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"
OF_AWS = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
    ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"),
    ("AWS/SQS", "ApproximateNumberOfMessagesDelayed"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
    ("AWS/Lambda", "Invocations"),
    ("AWS/Lambda", "Duration"),
    ("AWS/Lambda", "Errors"),
    ("AWS/Lambda", "Throttles"),
    ("AWS/DynamoDB", "ConsumedWriteCapacityUnits"),
}
KNOWN = OF_AWS | {(observer.NAMESPACE, name) for name in observer.METRICS}


def alarms(template: Template) -> dict[str, dict[str, Any]]:
    """By the name of the runbook's section."""
    found = of_type(template, "AWS::CloudWatch::Alarm")
    return {re.sub(r"^Cronce(\w+)Alarm\w{8}$", r"\1", name): a for name, a in found.items()}


def widgets(template: Template) -> list[dict[str, Any]]:
    (dashboard,) = of_type(template, "AWS::CloudWatch::Dashboard").values()
    listed: list[dict[str, Any]] = json.loads(shown(dashboard["DashboardBody"]))["widgets"]
    return listed


def drawn(template: Template) -> Iterator[tuple[str, str, list[str]]]:
    """Namespace, name and dimensions of every line of the dashboard."""
    for widget in widgets(template):
        for namespace, name, *rest in widget["properties"].get("metrics", []):
            yield namespace, name, [part for part in rest if isinstance(part, str)][::2]


def test_every_alarm_looks_at_something_that_is_written(chosen: Template) -> None:
    looked_at = {(a["Namespace"], a["MetricName"]) for a in alarms(chosen).values()}
    assert looked_at <= KNOWN


def test_every_line_of_the_dashboard_is_written(default: Template) -> None:
    lines = list(drawn(default))
    assert {(namespace, name) for namespace, name, _ in lines} <= KNOWN
    for namespace, name, dimensions in lines:
        if namespace == observer.NAMESPACE:
            assert dimensions == [observer.DIMENSION], name


def test_the_dashboard_shows_what_an_operator_asks(default: Template) -> None:
    names = {name for _, name, _ in drawn(default)}
    assert names >= {
        "Lateness",
        "Succeeded",
        "Failed",
        "Missed",
        "Reclaimed",
        "DuplicatesRefused",
        "OverdueSeconds",
        "ApproximateNumberOfMessagesVisible",
        "ConsumedWriteCapacityUnits",
        "Duration",
    }
    stats = {
        line[-1].get("stat")
        for widget in widgets(default)
        for line in widget["properties"].get("metrics", [])
        if line[1] == "Lateness"
    }
    assert stats == {"p50", "p99"}


def test_there_is_a_tick_alarm_for_each_dispatcher(default: Template, chosen: Template) -> None:
    assert set(alarms(default)) == {"DeadLetters", "FailedRuns", "OldestMessage", "Tick", "Overdue"}
    assert set(alarms(chosen)) == set(alarms(default)) | {"Tick1"}


def test_silence_is_alarming_where_a_number_comes_every_minute(chosen: Template) -> None:
    silent = {name for name, a in alarms(chosen).items() if a["TreatMissingData"] == "breaching"}
    assert silent == {"Tick", "Tick1", "Overdue"}
    for name in silent:
        alarm = alarms(chosen)[name]
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == (60, limits.ALARM_PERIODS)


def test_the_overdue_alarm_does_not_hang_on_the_dispatcher(default: Template) -> None:
    assert alarms(default)["Overdue"]["Dimensions"] == [{"Name": "deployment", "Value": "jobs"}]
    rules = of_type(default, "AWS::Events::Rule").values()
    targets = {shown(t["Arn"]) for rule in rules for t in rule["Targets"]}
    assert len(targets) == len(rules) == 2


def test_alarms_are_made_after_the_first_numbers_are_there(default: Template) -> None:
    (look,) = of_type(default, "AWS::CloudFormation::CustomResource")
    resources = default["Resources"]
    assert resources[look]["Properties"]["ServiceTimeout"] > limits.FIRST_LOOK_WAIT
    rules = set(of_type(default, "AWS::Events::Rule"))
    assert rules <= set(resources[look]["DependsOn"])
    for alarm in of_type(default, "AWS::CloudWatch::Alarm"):
        assert resources[alarm]["DependsOn"] == [look]


def test_every_alarm_has_its_section_in_the_runbook(chosen: Template) -> None:
    sections = set(re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE))
    assert {name.rstrip("0123456789") for name in alarms(chosen)} <= sections


def test_thresholds_are_the_limits(default: Template) -> None:
    thresholds = {name: a["Threshold"] for name, a in alarms(default).items()}
    assert thresholds == {
        "DeadLetters": 1,
        "FailedRuns": 1,
        "OldestMessage": limits.OLDEST_MESSAGE_ALARM,
        "Tick": 1,
        "Overdue": limits.OVERDUE_ALARM,
    }
