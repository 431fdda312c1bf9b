"""``cronce jobs export`` and ``apply``: every job as one line of a file, and back.

A line is ``{"id": …, "job": the document as it may be PUT, "paused": why}``; `paused` only of a
paused job. Numbers, key order and payloads stay as their authors wrote them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from cronce import verbatim
from cronce.cli.connect import client_of
from cronce.cli.exits import FAILED, CommandError, complain, of_answer
from cronce.cli.output import plain

if TYPE_CHECKING:
    from cronce.client import Client

Outcome = Literal["created", "changed", "unchanged", "failed"]
OUTCOMES: Final[Sequence[Outcome]] = ("created", "changed", "unchanged", "failed")
FIELDS: Final = frozenset({"id", "job", "paused"})
NOT_WRITTEN: Final = frozenset({"id", "status"})


def register(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("apply")(apply)


def export(
    choice: typer.Context,
    group: Annotated[str | None, typer.Option(help="Only jobs of this group.")] = None,
    ended: Annotated[bool, typer.Option(help="Also jobs that have ended.")] = False,
) -> None:
    """Print all jobs, one on each line. Such as: cronce jobs export > jobs.jsonl"""
    from cronce.client import ApiError

    client, failed = client_of(choice), 0
    listed = client.list_jobs(group=group)
    # By id, so that two exports can be compared.
    for job_id in sorted(j["id"] for j in listed if ended or j["status"]["state"] != "ended"):
        try:
            print(exported(client.get_job_text(job_id)))
        except ApiError as error:
            # Not found: deleted since it was listed.
            if error.status != 404:
                failed += 1
                _say_refused(job_id, error)
    if failed:
        raise CommandError(f"{failed} jobs could not be read; the rest was written")


def apply(
    choice: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `export` wrote; - reads standard input.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change.")] = False,
) -> None:
    """PUT each job of an export. Others are left alone, a bad one keeps no other waiting; again is
    harmless. Exit code 1 when any failed."""
    from cronce.cli.jobs import read_document

    text = read_document(file)
    client, counts = client_of(choice), dict.fromkeys(OUTCOMES, 0)
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip():
            continue
        outcome = _apply_line(client, number, raw, dry_run)
        counts[outcome] += 1
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)
    print(f"would be: {told}" if dry_run else told)
    if counts["failed"]:
        raise typer.Exit(FAILED)


def exported(text: str) -> str:
    """The line of a job. text: the job as the API shows it.

    >>> exported('{"id": "a", "schedule": "* * * * *", "status": {"state": "paused"}}')
    '{"id":"a","job":{"schedule":"* * * * *"},"paused":""}'
    """
    job = verbatim.loads(text)
    state = job["status"]
    kept: dict[str, Any] = {"id": job["id"], "job": _written(job)}
    if state["state"] == "paused":
        kept["paused"] = state.get("reason") or ""
    return verbatim.line(kept)


def _written(job: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in job.items() if name not in NOT_WRITTEN}


def _apply_line(client: Client, number: int, raw: bytes, dry_run: bool) -> Outcome:
    from cronce.client import ApiError, BadId

    job_id = f"line {number}"
    try:
        entry = _read_line(raw)
        job_id = entry["id"]
        outcome = _apply_job(client, entry, dry_run)
    except ApiError as error:
        _say_refused(job_id, error)
        return "failed"
    except (ValueError, BadId) as error:
        complain(f"line {number}: {error}")
        return "failed"
    print(f"{outcome:<9}  {plain(job_id)}")
    return outcome


def _read_line(raw: bytes) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        entry = verbatim.loads(raw.decode())
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    named = isinstance(entry, dict) and isinstance(entry.get("id"), str)
    if not named or not isinstance(entry.get("job"), dict):
        raise ValueError('must be an object such as {"id": "report", "job": {…}}')
    if unknown := sorted(entry.keys() - FIELDS):
        raise ValueError(f"{unknown[0]!r} is not a field (accepted: id, job, paused)")
    if not isinstance(entry.get("paused", ""), str):
        raise ValueError("paused: must be a text, the reason")
    return dict(entry)


def _apply_job(client: Client, entry: dict[str, Any], dry_run: bool) -> Outcome:
    """Raises ApiError."""
    before = _found(client, entry["id"])
    pause = "paused" in entry and (before is None or before["status"]["state"] == "active")
    if dry_run:
        same = before is not None and _written(before) == entry["job"] and not pause
        return "created" if before is None else "unchanged" if same else "changed"
    after = client.put_job(entry["id"], verbatim.line(entry["job"]))
    if pause:
        after = client.pause(entry["id"], note=entry["paused"])
    if before is None:
        return "created"
    same = str(before["status"]["version"]) == str(after["status"]["version"])
    return "unchanged" if same else "changed"


def _found(client: Client, job_id: str) -> dict[str, Any] | None:
    from cronce.client import ApiError

    try:
        return dict(verbatim.loads(client.get_job_text(job_id)))
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def _say_refused(job_id: str, error: Any) -> None:
    print(f"{plain(job_id)}:", file=sys.stderr)
    of_answer(error.status, error.title, error.detail, error.errors)
