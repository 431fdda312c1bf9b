"""A deployment of cronce on its own: one stack, its choices from context or environment.

``-c stack=NAME`` or CRONCE_STACK; in the same way profile (aws, emulator), python, architecture,
shards, dispatchers, max_concurrency, table_arn, alarm_topic (an ARN), event_bus (an ARN, or `own`),
outcome_topic (an ARN), announce_success (any text); and, as lists separated by commas,
allowed_targets, allowed_addresses, secrets and private_api.
"""

import os
import sys
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_sns as sns

from cronce_cdk import Cronce, CronceProps
from cronce_cdk.bundling import BundlingError
from cronce_cdk.props import InvalidProps

_TEXTS = (
    *("profile", "python", "architecture", "table_arn", "alarm_topic", "synthesizer"),
    *("event_bus", "outcome_topic", "announce_success"),
)
_LISTS = ("allowed_targets", "allowed_addresses", "secrets", "private_api")


def choices(app: cdk.App) -> dict[str, Any]:
    """Props that were chosen, by name; what was not chosen is left to the construct."""

    def choice(name: str) -> str:
        return str(app.node.try_get_context(name) or os.environ.get(f"CRONCE_{name.upper()}") or "")

    texts = {name: choice(name) for name in _TEXTS}
    lists = {
        name: [each.strip() for each in choice(name).split(",") if each.strip()] for name in _LISTS
    }
    numbers = {}
    for name in ("shards", "dispatchers", "max_concurrency"):
        text = choice(name)
        if text and not text.isdecimal():
            raise InvalidProps(f"{name} {text!r}: must be a whole number")
        numbers[name] = int(text) if text else None
    chosen = {"stack": choice("stack"), **texts, **lists, **numbers}
    return {name: value for name, value in chosen.items() if value}


def _synthesizer(chosen: str) -> cdk.IReusableStackSynthesizer | None:
    if chosen not in ("", "cli"):
        raise InvalidProps(f"synthesizer {chosen!r}: must be 'cli' or nothing")
    return cdk.CliCredentialsStackSynthesizer() if chosen else None


def main() -> None:
    app = cdk.App()
    props = choices(app)
    stack = cdk.Stack(
        app,
        props.pop("stack", "cronce"),
        description="cronce: a job scheduler",
        synthesizer=_synthesizer(props.pop("synthesizer", "")),
    )
    for name, logical_id in (("alarm_topic", "AlarmTopic"), ("outcome_topic", "OutcomeTopic")):
        if topic := props.pop(name, ""):
            props[name] = sns.Topic.from_topic_arn(stack, logical_id, topic)
    if bus := props.pop("event_bus", ""):
        own = bus == "own"
        props["announce"] = own
        props["event_bus"] = (
            None if own else events.EventBus.from_event_bus_arn(stack, "EventBus", bus)
        )
    props["announce_success"] = bool(props.get("announce_success"))
    Cronce(stack, "Cronce", CronceProps(**props))
    app.synth()


try:
    main()
except (BundlingError, InvalidProps) as error:
    sys.exit(f"cronce: {error}")
