"""``cronce console``: a local web page over the API."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce.cli.connect import client_of
from cronce.cli.exits import CommandError, listening
from cronce.cli.options import Port


def register(app: typer.Typer) -> None:
    app.command()(console)


def console(
    context: typer.Context,
    port: Port = 0,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in a browser.")
    ] = False,
) -> None:
    """Serve a page about the deployment. On this machine: what ran, runs, comes and failed, and
    what to do about it."""
    try:
        from cronce.console.serve import serve
    except ModuleNotFoundError as missing:
        raise CommandError(f"the console needs {missing.name}: install cronce[console]") from None
    client = client_of(context)
    name = str(client.health()["deployment"])
    with listening(port):
        serve(client, name, port, browser)
