"""``cronce console``: a local web page over the API."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce.cli.connect import connect
from cronce.cli.exits import CommandError


def register(app: typer.Typer) -> None:
    app.command()(console)


def console(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in a browser.")
    ] = False,
) -> None:
    """Serve a page on this machine: what ran, runs, comes and failed, and what to do about it."""
    try:
        from cronce.console.serve import serve
    except ModuleNotFoundError as missing:
        raise CommandError(f"the console needs {missing.name}: install cronce[console]") from None
    client = connect(context.obj)
    name = str(client.health()["deployment"])
    try:
        serve(client, name, port, browser)
    except OSError as error:
        raise CommandError(f"port {port} cannot be listened on: {error.strerror}") from None
