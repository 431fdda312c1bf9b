"""``cronce calendars`` and ``cronce replan``: days on which jobs do not fire, planning again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from cronce.cli.connect import client_of
from cronce.cli.exits import FAILED, complain
from cronce.cli.jobs import read_document
from cronce.cli.options import File, Json, Limit
from cronce.cli.output import print_fields, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Named calendars, which jobs share.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="1 to 64 of A-Z a-z 0-9 . _ -")]
IfMatch = Annotated[
    int | None, typer.Option("--if-match", help="Only if the calendar is at this version.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would move; change nothing.")]


@app.command()
def put(
    choice: typer.Context,
    name: Name,
    file: File,
    if_match: IfMatch = None,
    create: Annotated[
        bool, typer.Option("--create", help="Only if there is no such calendar yet.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create a calendar or replace what it excludes. All its jobs are planned again."""
    client = client_of(choice)
    document = read_document(file)
    stored = client.put_calendar(name, document, if_match=if_match, if_none_match=create)
    pages = [stored["replanned"]] if stored.get("replanned") else []
    if pages and pages[0].get("cursor"):
        pages += client.replan(calendar=name, cursor=pages[0]["cursor"])
    total = _sum(pages)
    if as_json:
        print_json({**stored, "replanned": total if pages else None})
    else:
        _print_calendar(stored)
        _print_moved(total)
    _complain_of_failed(total)


@app.command()
def show(choice: typer.Context, name: Name, as_json: Json = False) -> None:
    """What a calendar excludes, and how many jobs name it."""
    stored = client_of(choice).get_calendar(name)
    print_json(stored) if as_json else _print_calendar(stored)


@app.command("list")
def list_(choice: typer.Context, limit: Limit = 100, as_json: Json = False) -> None:
    """All calendars, by name."""
    found = list(client_of(choice).list_calendars(limit=limit))
    if as_json:
        print_json({"calendars": found})
    else:
        columns = ["calendar", "excludes", "on excluded", "jobs", "version"]
        print_table(columns, [_row(stored) for stored in found])


@app.command()
def delete(choice: typer.Context, name: Name, if_match: IfMatch = None) -> None:
    """Delete a calendar that no job names."""
    client_of(choice).delete_calendar(name, if_match=if_match)
    print(f"{name}  deleted")


def register(cronce: typer.Typer) -> None:
    cronce.add_typer(app, name="calendars")
    cronce.command()(replan)
    cronce.command()(health)


def replan(
    choice: typer.Context,
    dry_run: DryRun = False,
    calendar: Annotated[str | None, typer.Option(help="Only jobs that name it.")] = None,
    as_json: Json = False,
) -> None:
    """Plan jobs again whose time has moved. After an upgrade of the time zone data."""
    total = _sum(client_of(choice).replan(dry_run=dry_run, calendar=calendar))
    if as_json:
        print_json(total)
    else:
        _print_moved(total)
        done = "would move" if dry_run else "moved"
        moved, looked_at = len(total["moved"]), total["looked_at"]
        print(f"tzdata {total['tzdata']}: {moved} of {looked_at} active jobs {done}")
        if total["standing"]:
            print(f"{total['standing']} are too close to move: the tick goes on from there")
    _complain_of_failed(total)


def health(choice: typer.Context, as_json: Json = False) -> None:
    """The deployment and its release. Also that of its time zone data."""
    found = client_of(choice).health()
    print_json(found) if as_json else print_fields(found)


def _sum(pages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Of all pages, as one answer."""
    total: dict[str, Any] = {"tzdata": "", "looked_at": 0, "moved": [], "standing": 0, "failed": []}
    for page in pages:
        total["tzdata"] = page.get("tzdata", "")
        for name in ("looked_at", "moved", "standing", "failed"):
            total[name] += page[name]
    return total


def _print_moved(total: dict[str, Any]) -> None:
    if total["moved"]:
        rows = [[job["id"], job["before"], job["after"] or "ended"] for job in total["moved"]]
        print_table(["job", "next was", "next is"], rows)


def _complain_of_failed(total: dict[str, Any]) -> None:
    if total["failed"]:
        complain(f"not planned again, try once more: {', '.join(total['failed'])}")
        raise typer.Exit(FAILED)


def _print_calendar(stored: dict[str, Any]) -> None:
    state = stored["status"]
    days = state["holiday_dates"]
    print_fields(
        {
            "calendar": stored["name"],
            "excludes": _excludes(stored),
            "on excluded": stored["on_excluded"],
            "holidays known": f"{days[0]} to {days[-1]}" if days else "",
            "jobs": str(state["users"]),
            "version": state["version"],
            "updated at": state["updated_at"],
            "updated by": state["updated_by"],
        }
    )


def _excludes(stored: dict[str, Any]) -> str:
    """
    >>> _excludes({"exclude": {"weekends": True, "dates": ["2026-12-24"], "holidays":
    ...     {"country": "DE", "subdivision": "BY"}}})
    'weekends, holidays of DE-BY, 1 dates'
    """
    exclude = stored["exclude"]
    found = ["weekends"] if exclude.get("weekends") else []
    if of := exclude.get("holidays"):
        found.append(f"holidays of {'-'.join(filter(None, of.values()))}")
    if dates := exclude.get("dates"):
        found.append(f"{len(dates)} dates")
    return ", ".join(found)


def _row(stored: dict[str, Any]) -> list[object]:
    state = stored["status"]
    users = str(state["users"])
    return [stored["name"], _excludes(stored), stored["on_excluded"], users, state["version"]]
