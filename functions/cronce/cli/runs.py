"""``cronce runs``: what was run, and how it went."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from cronce.cli import explain as explaining
from cronce.cli.connect import client_of
from cronce.cli.options import JobId, Json, Limit, RunId
from cronce.cli.output import print_fields, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="See and steer runs.")
explaining.register(app)

COLUMNS = ["scheduled for", "run", "status", "attempt", "finished at", "code"]
ENDED = ("succeeded", "failed", "skipped", "cancelled", "missed")
POLL_SECONDS = 2.0
TAIL_WINDOW = 50


@app.command("list")
def list_(
    choice: typer.Context,
    job_id: Annotated[
        str | None,
        typer.Argument(metavar="JOB", help="Without: runs of any job that ended badly."),
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only these. Without a job: failed, skipped or missed.")
    ] = None,
    since: Annotated[str | None, typer.Option("--from", help="Without a job: since when.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Without a job: until when.")] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Runs of a job, latest first. Without a job, those that ended badly."""
    client = client_of(choice)
    if job_id is None:
        runs = list(client.attention(status=status, since=since, until=until, limit=limit))
        columns, rows = ["job", *COLUMNS], [[run["job_id"], *_row(run)] for run in runs]
    else:
        if since or until:
            raise typer.BadParameter("--from and --to go without a job")
        runs = list(client.list_runs(job_id, status=status, limit=limit))
        columns, rows = COLUMNS, [_row(run) for run in runs]
    if as_json:
        print_json({"runs": runs})
    else:
        print_table(columns, rows)


@app.command()
def show(choice: typer.Context, job_id: JobId, run_id: RunId, as_json: Json = False) -> None:
    """One run with its attempts."""
    _print_run(client_of(choice).get_run(job_id, run_id), as_json)


@app.command()
def tail(
    choice: typer.Context,
    job_id: JobId,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after this many ended runs; else at Ctrl-C.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Runs of a job as they change. One line each; what had ended before is not shown."""
    client = client_of(choice)
    seen: dict[str, tuple[Any, Any]] = {
        run["run_id"]: _state(run)
        for run in client.list_runs(job_id, limit=TAIL_WINDOW)
        if run["status"] in ENDED
    }
    ended = 0
    while True:
        for run in reversed(list(client.list_runs(job_id, limit=TAIL_WINDOW))):
            if seen.get(run["run_id"]) == _state(run):
                continue
            seen[run["run_id"]] = _state(run)
            _print_line(run, as_json)
            ended += run["status"] in ENDED
            if count is not None and ended >= count:
                return
        time.sleep(POLL_SECONDS)


@app.command()
def redrive(choice: typer.Context, job_id: JobId, run_id: RunId, as_json: Json = False) -> None:
    """Give a failed run new attempts."""
    _print_run(client_of(choice).redrive(job_id, run_id), as_json)


@app.command()
def cancel(choice: typer.Context, job_id: JobId, run_id: RunId, as_json: Json = False) -> None:
    """Cancel a run that has not ended."""
    _print_run(client_of(choice).cancel(job_id, run_id), as_json)


def _state(run: dict[str, Any]) -> tuple[Any, Any]:
    return run["status"], run.get("attempt")


def _row(run: dict[str, Any]) -> list[object]:
    fields = ("scheduled_for", "run_id", "status", "attempt", "finished_at", "code")
    return [run.get(name) for name in fields]


def _print_line(run: dict[str, Any], as_json: bool) -> None:
    import json

    from cronce.cli.output import plain

    if as_json:
        print(json.dumps(run), flush=True)
    else:
        shown = (run.get(name) for name in ("run_id", "status", "attempt", "code", "detail"))
        print("  ".join(plain(each) for each in shown if each not in (None, "")), flush=True)


def _print_run(run: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(run)
        return
    attempts = run.get("attempts") or []
    simple = {
        name.replace("_", " "): value
        for name, value in run.items()
        if not isinstance(value, dict | list)
    }
    print_fields(simple)
    if attempts:
        print()
        names = ["attempt", "outcome", "code", "started_at", "finished_at", "detail"]
        print_table(names, [[each.get(name) for name in names] for each in attempts])
