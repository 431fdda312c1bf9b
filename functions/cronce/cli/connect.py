"""Which deployment a command speaks to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cronce.cli.exits import CommandError

if TYPE_CHECKING:
    import typer

    from cronce.cli.deployment import Deployment
    from cronce.cli.emulator import Emulator
    from cronce.client import Client


@dataclass(frozen=True)
class Choice:
    """The global options; None is: not said."""

    stack: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint: str | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether something other than this folder's emulator was asked for."""
        named = self.profile or self.region or self.endpoint
        return bool(named or os.environ.get("AWS_ENDPOINT_URL"))


def local_emulator(choice: Choice) -> Emulator | None:
    """This folder's emulator, if it runs and nothing else was asked for."""
    if choice.elsewhere:
        return None
    from cronce.cli import emulator
    from cronce.cli.deployment import chosen_stack

    running = emulator.status()
    said = choice.stack or os.environ.get("CRONCE_STACK")
    return running if running and (not said or running.stack == chosen_stack(said)) else None


def connect(choice: Choice) -> Client:
    """A client of the deployment that was asked for, else of this folder's emulator.

    Raises DeploymentError, ToolError, CommandError.
    """
    from cronce.client import Client

    running = local_emulator(choice)
    if running is not None:
        return Client.of_session(running.api_url, running.session())
    found = deployed(choice)
    return Client.of_session(found.api_url, found.session, found.region or None)


def deployed(choice: Choice) -> Deployment:
    """The stack that was asked for, on AWS or at the endpoint. Raises DeploymentError; CommandError
    where nothing but a stack was said, with what there is in this folder."""
    from cronce.cli import deployment, emulator

    try:
        return deployment.find(
            choice.stack,
            endpoint_url=choice.endpoint,
            profile=choice.profile,
            region=choice.region or os.environ.get("AWS_REGION"),
        )
    except deployment.DeploymentError as error:
        if choice.elsewhere:
            raise
        running = emulator.status()
        here = "no emulator runs in this folder ('cronce up' starts one)"
        if running is not None:
            here = f"the stack of this folder's emulator is {running.stack!r}"
        raise CommandError(f"{error}; {here}") from None


def client_of(context: typer.Context) -> Client:
    """As `connect`, by the global options of a command."""
    assert isinstance(context.obj, Choice)
    return connect(context.obj)
