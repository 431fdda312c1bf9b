"""``cronce jobs backfill`` and ``cronce backfills``: running what a schedule has not run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cronce.cli.connect import client_of
from cronce.cli.options import JobId, Json, Limit
from cronce.cli.output import print_fields, print_json, print_table

app = typer.Typer(
    no_args_is_help=True, help="See and cancel backfills; `jobs backfill` asks for one."
)

BackfillId = Annotated[str, typer.Argument(metavar="BACKFILL", help="As it was called.")]
COLUMNS = ["id", "status", "from", "to", "total", "dispatched", "existing"]


def backfill(
    choice: typer.Context,
    job_id: JobId,
    since: Annotated[str, typer.Option("--from", help="The first instant of the range.")],
    until: Annotated[
        str | None, typer.Option("--to", help="The end of the range, not included; now without.")
    ] = None,
    backfill_id: Annotated[
        str | None, typer.Option("--id", help="The same id again finds the first one.")
    ] = None,
    pace: Annotated[int | None, typer.Option(help="Runs a minute; 60 without.")] = None,
    overlap: Annotated[str | None, typer.Option(help="Its own overlap policy.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would look at.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run occurrences of the past. Those that the schedule has not run itself."""
    asked = client_of(choice).backfill(
        job_id,
        since=since,
        until=until,
        backfill_id=backfill_id,
        pace=pace,
        overlap=overlap,
        dry_run=dry_run,
    )
    _print(asked, as_json)


@app.command("list")
def list_(choice: typer.Context, job_id: JobId, limit: Limit = 100, as_json: Json = False) -> None:
    """Backfills of a job."""
    found = list(client_of(choice).list_backfills(job_id, limit=limit))
    if as_json:
        print_json({"backfills": found})
    else:
        fields = [{**each, "dispatched": each.get("started")} for each in found]
        print_table(COLUMNS, [[each.get(name) for name in COLUMNS] for each in fields])


@app.command()
def show(
    choice: typer.Context, job_id: JobId, backfill_id: BackfillId, as_json: Json = False
) -> None:
    """How far a backfill is."""
    _print(client_of(choice).get_backfill(job_id, backfill_id), as_json)


@app.command()
def cancel(
    choice: typer.Context, job_id: JobId, backfill_id: BackfillId, as_json: Json = False
) -> None:
    """Start no more runs of it."""
    _print(client_of(choice).cancel_backfill(job_id, backfill_id), as_json)


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    ended = "cancelled at" if found.get("status") == "cancelled" else "all dispatched at"
    names = {"started": "dispatched", "finished_at": ended}
    print_fields({names.get(n, n).replace("_", " "): value for n, value in found.items()})


def register(root: typer.Typer, jobs: typer.Typer) -> None:
    root.add_typer(app, name="backfills")
    jobs.command()(backfill)
