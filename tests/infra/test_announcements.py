"""Announcing is off until it is asked for, and reaches one bus only."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.templates import Template, functions, grants_of, of_type, shown, statements_of

ROOT = Path(__file__).parents[2]
TELLERS = ("dispatcher", "worker")
VARIABLES = {"CRONCE_EVENT_BUS", "CRONCE_ANNOUNCE_SUCCESS"}


@pytest.fixture(scope="session")
def announcing(synthesise: Callable[..., Template]) -> Template:
    return synthesise(announce=True)


def variables(template: Template, function: str) -> dict[str, Any]:
    found: dict[str, Any] = functions(template)[function]["Environment"]["Variables"]
    return found


def test_by_default_there_is_no_bus_no_grant_and_no_setting(default: Template) -> None:
    assert of_type(default, "AWS::Events::EventBus") == {}
    for name in functions(default):
        assert "Announce" not in {s.get("Sid") for s in statements_of(default, name)}
        assert not VARIABLES & set(variables(default, name))
    assert "CronceEventBus" not in default["Outputs"]


def test_a_bus_is_made_and_two_functions_reach_it(announcing: Template, default: Template) -> None:
    (bus,) = of_type(announcing, "AWS::Events::EventBus")
    assert shown(announcing["Outputs"]["CronceEventBus"]["Value"]) == f"{bus}.Arn"
    for name in TELLERS:
        before = grants_of(default, name)
        assert grants_of(announcing, name) == before | {f"{bus}.Arn": {"events:PutEvents"}}
        assert shown(variables(announcing, name)["CRONCE_EVENT_BUS"]) == f"{bus}.Arn"
        assert "CRONCE_ANNOUNCE_SUCCESS" not in variables(announcing, name)
    for name in set(functions(default)) - set(TELLERS):
        assert grants_of(announcing, name) == grants_of(default, name)
        assert not VARIABLES & set(variables(announcing, name))


def test_a_bus_of_yours_a_topic_and_successes(node: None) -> None:
    import aws_cdk as cdk
    from aws_cdk import assertions
    from aws_cdk import aws_events as events
    from aws_cdk import aws_sns as sns

    from cronce_cdk import Cronce, CronceProps

    stack = cdk.Stack(cdk.App(), "jobs")
    arn = "arn:aws:events:eu-central-1:123456789012:event-bus/ours"
    props = CronceProps(
        event_bus=events.EventBus.from_event_bus_arn(stack, "Bus", arn),
        announce_success=True,
        outcome_topic=sns.Topic(stack, "Topic"),
    )
    Cronce(stack, "Cronce", props)
    template = assertions.Template.from_stack(stack).to_json()
    assert of_type(template, "AWS::Events::EventBus") == {}
    for name in TELLERS:
        assert grants_of(template, name)[arn] == {"events:PutEvents"}
        assert variables(template, name)["CRONCE_ANNOUNCE_SUCCESS"] == "1"
    (rule,) = (r for r in of_type(template, "AWS::Events::Rule").values() if "EventPattern" in r)
    assert rule["EventPattern"] == {
        "source": ["cronce"],
        "detail-type": [{"anything-but": ["Cronce Run Succeeded"]}],
    }
    assert rule["EventBusName"] == "ours"


@pytest.mark.parametrize("prop", ["announce_success", "outcome_topic"])
def test_what_needs_a_bus_says_so(node: None, prop: str) -> None:
    from cronce_cdk import CronceProps
    from cronce_cdk.props import InvalidProps

    given = {"announce_success": True, "outcome_topic": SimpleNamespace(topic_arn="arn:…")}
    with pytest.raises(InvalidProps, match=f"{prop}: needs announce or event_bus"):
        CronceProps(**{prop: given[prop]})


def test_the_example_synthesises_a_rule_that_its_events_match(node: None) -> None:
    import aws_cdk as cdk
    from aws_cdk import assertions

    jobs = runpy.run_path(str(ROOT / "examples" / "failures_to_queue.py"))["Jobs"]
    template = assertions.Template.from_stack(jobs(cdk.App(), "jobs")).to_json()
    (bus,) = of_type(template, "AWS::Events::EventBus")
    (rule,) = (r for r in of_type(template, "AWS::Events::Rule").values() if "EventPattern" in r)
    assert shown(rule["EventBusName"]) == bus
    assert "Failures" in shown(rule["Targets"][0]["Arn"])
    samples = [json.loads(p.read_text()) for p in (ROOT / "events" / "outcomes").iterdir()]
    pattern = rule["EventPattern"]
    matched = {
        e["detail-type"]
        for e in samples
        if e["source"] in pattern["source"]
        and e["detail-type"] in pattern["detail-type"]
        and e["detail"].get("group") in pattern["detail"]["group"]
    }
    assert matched == set(pattern["detail-type"])
