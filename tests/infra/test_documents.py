"""What the documents say about numbers, grants and policies is what the code says."""

import re
from collections import Counter
from typing import Any

import pytest

from cronce import limits
from cronce.targets.registry import KINDS
from cronce_cdk.props import CronceProps
from cronce_cdk.targets import statements
from support.pages import read, rows, section, words


def numbers() -> dict[str, str]:
    """Every limit as the page shows it."""

    def shown(value: object) -> str:
        if isinstance(value, tuple):
            return " to ".join(map(shown, value))
        return f"{value:,}".replace(",", " ")

    return {name: shown(value) for name, value in vars(limits).items() if name.isupper()}


def test_every_limit_stands_on_its_page_with_its_value() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \| [^|]{8,} \|$", read("limits"), re.MULTILINE)
    assert dict(rows) == numbers()
    assert len(rows) == len(numbers())


def test_every_choice_of_a_deployment_is_documented() -> None:
    chosen = set(CronceProps.__dataclass_fields__)
    table = re.findall(r"^\| (`[^|]+) \| ", read("deploying"), re.MULTILINE)
    documented = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert documented == chosen


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_target_needs_is_granted_as_its_page_says(kind: str) -> None:
    facts = dict(row for row in rows(section(read("targets"), kind)) if len(row) == 2)
    entries = words(facts["`allowed_targets`"])
    granted = {
        action
        for entry in entries
        for statement in statements(entry)
        for action in statement.actions
    }
    said = set(words(facts["the worker is granted"])) - {"secrets"}
    assert said - {"secretsmanager:GetSecretValue"} == granted


@pytest.mark.parametrize("named", ["function:report", "task-definition/report"])
def test_who_names_no_version_may_take_any(named: str) -> None:
    service = "lambda" if named.startswith("function") else "ecs"
    entry = f"arn:aws:{service}:eu-central-1:123456789012:{named}"
    (one,) = statements(entry)
    assert one.resources == [entry, f"{entry}:*"]
    (one,) = statements(f"{entry}:7")
    assert one.resources == [f"{entry}:7"]


def test_what_is_charged_for_being_there_is_counted(default: dict[str, Any]) -> None:
    kinds = Counter(resource["Type"] for resource in default["Resources"].values())
    said = {row[0]: row[1] for row in rows(section(read("cost"), "Nothing is due"))}
    assert said["alarms"] == str(kinds["AWS::CloudWatch::Alarm"])
    assert said["dashboard"] == str(kinds["AWS::CloudWatch::Dashboard"])
