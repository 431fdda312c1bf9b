"""``cronce up``, ``down``, ``deploy``, ``where`` and ``env``: deployments, here and on AWS."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from cronce.cli.connect import Choice, local_emulator
from cronce.cli.exits import CommandError
from cronce.cli.options import Json
from cronce.cli.output import print_fields, print_json

if TYPE_CHECKING:
    from cronce.cli.emulator import Emulator

AllowTarget = Annotated[
    list[str] | None,
    typer.Option("--allow-target", help="What jobs may reach: a URL origin or an ARN. Repeatable."),
]
AllowAddress = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-address", help="A private CIDR block http targets may reach. Repeatable."
    ),
]
Secret = Annotated[
    list[str] | None, typer.Option("--secret", help="ARN that jobs may name. Repeatable.")
]


EventBus = Annotated[
    str | None,
    typer.Option("--event-bus", help="Announce outcomes: 'own' for a new bus, or a bus's ARN."),
]


def register(app: typer.Typer) -> None:
    for command in (up, down, deploy, where, env):
        app.command()(command)


def up(
    context: typer.Context,
    reset: Annotated[bool, typer.Option("--reset", help="Forget all state first.")] = False,
    allow_target: AllowTarget = None,
    allow_address: AllowAddress = None,
    secret: Secret = None,
    event_bus: EventBus = None,
    as_json: Json = False,
) -> None:
    """Start the emulator in this folder and deploy to it.

    What is not said stays as it was; an empty text takes it away.
    """
    from cronce.cli import emulator

    started = emulator.up(
        reset=reset,
        stack=_choice(context).stack,
        allowed_targets=allow_target,
        allowed_addresses=allow_address,
        secrets=secret,
        event_bus=event_bus,
    )
    _print_emulator(started, as_json)


def down(
    reset: Annotated[bool, typer.Option("--reset", help="Forget all state too.")] = False,
) -> None:
    """Stop the emulator in this folder; its state stays."""
    from cronce.cli import emulator

    if not emulator.down(reset=reset):
        print("no emulator runs in this folder")


def deploy(
    context: typer.Context,
    allow_target: AllowTarget = None,
    allow_address: AllowAddress = None,
    secret: Secret = None,
    event_bus: EventBus = None,
    as_json: Json = False,
) -> None:
    """Deploy to the emulator of this folder, or to AWS.

    To AWS where no emulator runs, or a profile, region or endpoint is named. What is not said
    stays as it was at the last deployment; an empty text takes it away.
    """
    from cronce.cli import cdk, emulator
    from cronce.cli.deployment import chosen_stack, own_outputs
    from cronce.cli.toolchain import say

    choice = _choice(context)
    chosen: cdk.Chosen = {
        "allowed_targets": allow_target,
        "allowed_addresses": allow_address,
        "secrets": secret,
        "event_bus": event_bus,
    }
    if not choice.elsewhere and emulator.status() is not None:
        _print_emulator(emulator.deploy(stack=choice.stack, **chosen), as_json)
        return
    _say_to_tools(choice)
    stack = chosen_stack(choice.stack)
    kept = _kept(stack, {name for name, value in chosen.items() if value is not None})
    for name, text in kept.items():
        say(f"as deployed before: {name} {text}")
    profile = "emulator" if os.environ.get("AWS_ENDPOINT_URL") else "aws"
    choices = {**kept, **cdk.texts_of(chosen), "profile": profile}
    outputs = own_outputs(cdk.deploy(stack, choices))
    print_json(outputs) if as_json else print_fields(outputs)


def _kept(stack: str, chosen: set[str]) -> dict[str, str]:
    """What the deployed stack was chosen with, but for what is said anew. Raises CommandError."""
    import boto3
    from botocore.exceptions import BotoCoreError

    from cronce.cli.deployment import DeploymentError, choices_of

    try:
        before = choices_of(boto3.Session().client("cloudformation"), stack)
    except (DeploymentError, BotoCoreError, ValueError) as error:  # of an endpoint that is no URL
        raise CommandError(str(error)) from None
    anew = chosen | {name for name in before if f"CRONCE_{name.upper()}" in os.environ}
    return {name: text for name, text in before.items() if name not in anew | {"profile"}}


def where(context: typer.Context, as_json: Json = False) -> None:
    """The emulator in this folder and how to reach it."""
    _print_emulator(_running(_choice(context)), as_json)


def env(context: typer.Context, as_json: Json = False) -> None:
    """Print exports by which AWS tools reach the emulator.

    eval "$(cronce env)" sets them.
    """
    exports = _running(_choice(context)).exports()
    if as_json:
        print_json(exports)
    else:
        for name, value in exports.items():
            print(f"export {name}={shlex.quote(value)}")


def _choice(context: typer.Context) -> Choice:
    assert isinstance(context.obj, Choice)
    return context.obj


def _running(choice: Choice) -> Emulator:
    from cronce.cli import emulator

    running = local_emulator(choice) or emulator.status()
    if running is None:
        raise CommandError("no emulator runs in this folder ('cronce up' starts one)")
    return running


def _say_to_tools(choice: Choice) -> None:
    """The CDK command line and boto3 read the choice from AWS's own variables, the Region each from
    another one."""
    region = choice.region or os.environ.get("AWS_REGION")
    said = {
        "AWS_PROFILE": choice.profile,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": choice.endpoint,
    }
    os.environ.update({name: text for name, text in said.items() if text})


def _print_emulator(emulator: Emulator, as_json: bool) -> None:
    shown = {
        "endpoint": emulator.endpoint,
        "api_url": emulator.api_url if emulator.outputs else None,
        "stack": emulator.stack,
        "pid": emulator.pid,
        "home": str(emulator.home),
    }
    choices = emulator.choices()
    lists = {
        name: choices[name].split(",") if choices.get(name) else []
        for name in ("allowed_targets", "allowed_addresses", "secrets")
    }
    if as_json:
        print_json({**shown, **lists, "outputs": emulator.outputs})
        return
    print_fields({**shown, **{name: " ".join(each) for name, each in lists.items()}})
    print('\nother tools reach it after: eval "$(cronce env)"')
