"""A deployment of cronce on its own: one stack, its choices from context or environment.

``-c stack=NAME`` or CRONCE_STACK; in the same way profile (aws, emulator), python, architecture,
shards, dispatchers, max_concurrency, table_arn, alarm_topic (an ARN); and, as lists separated by
commas, allowed_targets, allowed_addresses, secrets and private_api.
"""

import os
import sys
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sns as sns

from cronce_cdk import Cronce, CronceProps
from cronce_cdk.bundling import BundlingError
from cronce_cdk.props import InvalidProps

_TEXTS = ("profile", "python", "architecture", "table_arn", "alarm_topic")
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


def main() -> None:
    app = cdk.App()
    props = choices(app)
    stack = cdk.Stack(app, props.pop("stack", "cronce"), description="cronce: a job scheduler")
    if topic := props.pop("alarm_topic", ""):
        props["alarm_topic"] = sns.Topic.from_topic_arn(stack, "AlarmTopic", topic)
    Cronce(stack, "Cronce", CronceProps(**props))
    app.synth()


try:
    main()
except (BundlingError, InvalidProps) as error:
    sys.exit(f"cronce: {error}")
