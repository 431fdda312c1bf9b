"""``cronce jobs``: what is scheduled."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cronce.cli.connect import client_of
from cronce.cli.exits import USAGE, CommandError
from cronce.cli.options import File, JobId, Json, Limit
from cronce.cli.output import plain, print_fields, print_json, print_table

# What is due within three minutes may be dispatched already, and not have started.
NEXT = "next to dispatch"
NAMES = {"next_run": NEXT, "next_occurrence": "meant for"}

app = typer.Typer(no_args_is_help=True, help="Create, show and steer jobs.")

IfMatch = Annotated[
    int | None, typer.Option("--if-match", help="Only if the job is at this version.")
]


@app.command()
def put(
    choice: typer.Context,
    job_id: JobId,
    file: File,
    if_match: IfMatch = None,
    create: Annotated[
        bool, typer.Option("--create", help="Only if there is no such job yet.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create a job or replace its definition. The same again changes nothing."""
    document = read_document(file)
    job = client_of(choice).put_job(job_id, document, if_match=if_match, if_none_match=create)
    _print_job(job, as_json)


@app.command()
def show(choice: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """The job's state, and its definition as it was written."""
    from cronce import verbatim
    from cronce.cli.edit import definition_of

    text = client_of(choice).get_job_text(job_id)
    _print_job(verbatim.loads(text) if not as_json else json.loads(text), as_json)
    if not as_json:
        print()
        for line in verbatim.dumps(definition_of(text)).splitlines():
            print(plain(line))


@app.command("list")
def list_(
    choice: typer.Context,
    group: Annotated[str | None, typer.Option(help="Only jobs of this group.")] = None,
    status: Annotated[str | None, typer.Option(help="active, paused, error or ended.")] = None,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """All jobs, or those of a group or status."""
    jobs = list(client_of(choice).list_jobs(group=group, status=status, limit=limit))
    if as_json:
        print_json({"jobs": jobs})
    else:
        print_table(["job", "state", "schedule", NEXT], [_row(job) for job in jobs])


@app.command()
def run(
    choice: typer.Context,
    job_id: JobId,
    client_id: Annotated[
        str | None, typer.Option(help="The same id again finds the first run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a job now, whatever its schedule."""
    run = client_of(choice).run_job(job_id, client_id=client_id)
    print_json(run) if as_json else print(f"{run['run_id']}  {run['status']}")


@app.command()
def delete(choice: typer.Context, job_id: JobId, if_match: IfMatch = None) -> None:
    """Delete a job. Its runs stay until their history ends."""
    client_of(choice).delete_job(job_id, if_match=if_match)
    print(f"{job_id}  deleted")


@app.command()
def pause(
    choice: typer.Context,
    job_id: JobId,
    note: Annotated[str, typer.Option(help="Why; shown with the job.")] = "",
    as_json: Json = False,
) -> None:
    """Stop a job's schedule until it is resumed."""
    _print_job(client_of(choice).pause(job_id, note=note), as_json)


@app.command()
def resume(choice: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Go on from now. What fell into the pause is recorded as paused."""
    _print_job(client_of(choice).resume(job_id), as_json)


@app.command()
def edit(choice: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Change a job in $EDITOR. Refused if somebody else changed it in between."""
    from cronce.cli.edit import edited

    client = client_of(choice)
    with edited(client.get_job_text(job_id), job_id) as (document, version):
        job = client.put_job(job_id, document, if_match=version)
    _print_job(job, as_json)


def read_document(file: str) -> bytes:
    """The bytes as they are: the API judges them, numbers stay as written."""
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}", USAGE) from None


def schedule_text(schedule: str | dict[str, Any] | None) -> str:
    """One line: what it was written as, and its zone.

    >>> schedule_text({"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
    'cron 0 9 * * * Europe/Berlin'
    """
    if not isinstance(schedule, dict):
        return schedule or ""
    kind = next((name for name in ("cron", "rate", "at") if name in schedule), None)
    shown = f"{kind} {schedule[kind]}" if kind else ""
    return f"{shown} {schedule.get('timezone') or ''}".strip()


def _row(job: dict[str, Any]) -> list[object]:
    state = job.get("status") or {}
    return [
        job.get("id"),
        state.get("state"),
        schedule_text(job.get("schedule")),
        state.get("next_run"),
    ]


def _print_job(job: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    state = job.get("status") or {}
    target = job.get("target") or {}
    print_fields(
        {
            "job": job.get("id"),
            "description": job.get("description"),
            "schedule": schedule_text(job.get("schedule")),
            "target": " ".join([*target, *(str(c.get("url", "")) for c in target.values())]),
            **{NAMES.get(name, name).replace("_", " "): value for name, value in state.items()},
        }
    )
