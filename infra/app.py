"""A deployment of cronce on its own: one stack, its choices from context or environment.

``-c stack=NAME`` or CRONCE_STACK; in the same way profile (aws, emulator), python, architecture,
shards, dispatchers, max_concurrency, table_arn, alarm_topic (an ARN), event_bus (an ARN, or `own`),
outcome_topic (an ARN), announce_success (any text); and, as lists separated by commas,
allowed_targets, allowed_addresses, secrets and private_api.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_sns as sns

from cronce_cdk import Cronce, CronceProps
from cronce_cdk.bundling import BundlingError
from cronce_cdk.props import InvalidProps

_TEXTS = (
    *("profile", "python", "architecture", "table_arn", "alarm_topic"),
    *("event_bus", "outcome_topic", "announce_success"),
)
_LISTS = ("allowed_targets", "allowed_addresses", "secrets", "private_api")
_NUMBERS = ("shards", "dispatchers", "max_concurrency")


def choice(app: cdk.App, name: str) -> str:
    """Of the context, where an empty text is said too; else of the environment."""
    said = app.node.try_get_context(name)
    return str(os.environ.get(f"CRONCE_{name.upper()}", "") if said is None else said)


def props_of(chosen: Mapping[str, str]) -> dict[str, Any]:
    """Props by name; what was not chosen is left to the construct."""
    props: dict[str, Any] = dict(chosen)
    for name in _LISTS:
        if name in props:
            props[name] = [each.strip() for each in chosen[name].split(",") if each.strip()]
    for name in _NUMBERS:
        if name in props:
            if not chosen[name].isdecimal():
                raise InvalidProps(f"{name} {chosen[name]!r}: must be a whole number")
            props[name] = int(chosen[name])
    return props


def _synthesizer(chosen: str) -> cdk.IReusableStackSynthesizer | None:
    if chosen not in ("", "cli"):
        raise InvalidProps(f"synthesizer {chosen!r}: must be 'cli' or nothing")
    return cdk.CliCredentialsStackSynthesizer() if chosen else None


def main() -> None:
    app = cdk.App()
    stack = cdk.Stack(
        app,
        choice(app, "stack") or "cronce",
        description="cronce: a job scheduler",
        synthesizer=_synthesizer(choice(app, "synthesizer")),
    )
    named = {name: choice(app, name) for name in (*_TEXTS, *_LISTS, *_NUMBERS)}
    chosen = {name: text for name, text in named.items() if text}
    # Where `cronce deploy` finds them again: what is not said the next time stays as it is.
    stack.template_options.metadata = {"cronce": chosen}
    props = props_of(chosen)
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
