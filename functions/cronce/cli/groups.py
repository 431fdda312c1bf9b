"""``cronce groups``: limits, and all jobs of a group at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from cronce.cli.connect import client_of
from cronce.cli.exits import FAILED, NOT_FOUND, USAGE, CommandError, complain
from cronce.cli.options import Json, Limit
from cronce.cli.output import print_fields, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Limit, pause and resume the jobs of a group.")

Name = Annotated[str, typer.Argument(metavar="GROUP", help="1 to 64 of A-Z a-z 0-9 . _ -")]
# As JSON and the API read it.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
COLUMNS = ["group", "max_starts_per_second", "changed_at", "changed_by"]


@app.command("list")
def list_(choice: typer.Context, limit: Limit = 100, as_json: Json = False) -> None:
    """Groups that have a limit."""
    found = list(client_of(choice).list_groups(limit=limit))
    if as_json:
        print_json({"groups": found})
    else:
        print_table(
            ["group", "starts per second", "changed at", "changed by"],
            [[each.get(name) for name in COLUMNS] for each in found],
        )


@app.command()
def show(choice: typer.Context, group: Name, as_json: Json = False) -> None:
    """The limit of a group."""
    client = client_of(choice)
    found = client.get_group(group)
    if found["max_starts_per_second"] is None:
        if next(client.list_jobs(group=group, limit=1), None) is None:
            detail = f"there is no group {group!r}: no job names it, and it has no limit"
            raise CommandError(detail, NOT_FOUND)
        found = found if as_json else {"group": group, "limit": "none"}
    _print(found, as_json)


@app.command()
def limit(
    choice: typer.Context,
    group: Name,
    starts_per_second: Annotated[str, typer.Argument(metavar="RATE", help="Such as 50 or 0.5.")],
    as_json: Json = False,
) -> None:
    """Limit how many runs start in a second. Those that are due together wait in order."""
    if not _NUMBER.fullmatch(starts_per_second):
        raise CommandError(f"{starts_per_second!r} is not a number such as 50 or 0.5", USAGE)
    _print(client_of(choice).limit_group(group, starts_per_second), as_json)


@app.command()
def unlimit(choice: typer.Context, group: Name) -> None:
    """Take the limit off."""
    client_of(choice).unlimit_group(group)
    print(f"{group}  has no limit")


@app.command()
def pause(
    choice: typer.Context,
    group: Name,
    note: Annotated[str, typer.Option(help="Why; shown with each job.")] = "",
    as_json: Json = False,
) -> None:
    """Pause the active jobs of a group."""
    _print_moved(client_of(choice).pause_group(group, note=note), "paused", as_json)


@app.command()
def resume(choice: typer.Context, group: Name, as_json: Json = False) -> None:
    """Resume the paused jobs of a group, from now on."""
    _print_moved(client_of(choice).resume_group(group), "resumed", as_json)


def _print(group: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(group)
    else:
        print_fields({name.replace("_", " "): value for name, value in group.items()})


def _print_moved(pages: Iterable[dict[str, Any]], done: str, as_json: bool) -> None:
    changed: list[str] = []
    failed: list[dict[str, Any]] = []
    for page in pages:
        changed += page["changed"]
        failed += page["failed"]
    if as_json:
        print_json({"changed": changed, "failed": failed})
    else:
        print(f"{len(changed)} {done}")
    for each in failed:
        complain(f"{each['job_id']}: {each['reason']}")
    if failed:
        raise typer.Exit(FAILED)
