"""``cronce status``: the last night on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from cronce.cli.connect import client_of
from cronce.cli.exits import USAGE, CommandError
from cronce.cli.options import Json
from cronce.cli.output import plain, print_columns, print_json, print_table

ENDS = ("succeeded", "failed", "skipped", "missed", "cancelled")
ROWS = 10
JOBS = 20
LATE = ("job_id", "run_id", "status", "due", "attempt")
BAD = ("job_id", "run_id", "status", "finished_at", "code", "detail")
MISSED = ("job_id", "count", "first", "last", "reason", "policy")


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(
    context: typer.Context,
    since: Annotated[
        str, typer.Option("--since", help="How far back, such as 12h or 2d; or an instant.")
    ] = "12h",
    as_json: Json = False,
) -> None:
    """The last night on one screen. What ran, failed, was missed, is late, and comes."""
    client = client_of(context)
    start = beginning(since, datetime.now(UTC))
    seen = look(client, start)
    print_json(seen) if as_json else show(seen)


def beginning(since: str, now: datetime) -> str:
    """The instant, as the API takes it. CommandError for what is neither."""
    from cronce.domain.durations import parse_duration
    from cronce.domain.errors import Invalid
    from cronce.domain.instants import to_api

    try:
        return to_api(
            now - timedelta(seconds=parse_duration(since, pointer="", low=60, high=7 * 86_400))
        )
    except Invalid:
        pass
    try:
        at = datetime.fromisoformat(since)
        if at.tzinfo is not None:
            return to_api(at)
    except (ValueError, OverflowError):
        pass
    form = "a duration of 1m to 7d, or an instant such as 2026-11-30T10:00:00Z"
    raise CommandError(f"--since {plain(since)[:60]}: accepted is {form}", USAGE)


def look(client: Any, start: str) -> dict[str, Any]:
    """Everything that is shown, in the API's own words."""
    return {
        "overview": client.overview(since=start),
        "attention": client.attention_page(since=start, limit=ROWS)["runs"],
        "coming": client.coming(),
        "error": client.jobs_page(status="error", limit=JOBS)["jobs"],
        "paused": client.jobs_page(status="paused", limit=JOBS)["jobs"],
    }


def show(seen: dict[str, Any]) -> None:
    view = seen["overview"]
    print(f"{view['from']} to {view['to']}\n")
    print_columns(list(summary(seen)))
    late = [run for run in view["open"] if run["late"]]
    _table("late now: nobody works on these", LATE, late[:ROWS])
    _table("ended badly, the latest first", BAD, seen["attention"])
    _table("nobody ran these occurrences", MISSED, view["missed"][:ROWS])
    if seen["error"]:
        print("\nin error: these do not run until they are put again")
        print_table(
            ("job", "reason"), [[job["id"], job["status"]["reason"]] for job in seen["error"]]
        )
    if not view["complete"]:
        print("\nmore was dispatched than could be counted: look at a shorter time")


def _table(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        print(f"\n{title}")
        names = [name.replace("_", " ").removesuffix(" id") for name in columns]
        print_table(names, [[row[name] for name in columns] for row in rows])


def summary(seen: dict[str, Any]) -> list[tuple[str, str]]:
    """One line each: name and words."""
    view, coming = seen["overview"], seen["coming"]
    outcomes = view["outcomes"]
    now = view["now"]
    due = [run for run in view["open"] if run["status"] != "pending" or run["due"] <= now]
    late = sum(run["late"] for run in view["open"])
    missed = sum(each["count"] for each in view["missed"] if each["reason"] == "missed")
    lines = [
        ("ended", ", ".join(f"{outcomes.get(status, 0)} {status}" for status in ENDS)),
        ("never began", f"{missed} occurrences"),
        ("open now", f"{len(due)}, {late} of them late" if late else str(len(due))),
        ("next hour", _coming(coming)),
        ("jobs", f"{_some(seen['error'])} in error, {_some(seen['paused'])} paused"),
    ]
    if view["lateness"]:
        lines.insert(1, ("started late by", lateness(view["lateness"])))
    if view["resent"]:
        lines.append(("messages lost", f"{view['resent']} sent again"))
    return lines


def lateness(counts: dict[str, int]) -> str:
    """
    >>> lateness({"100": 98, "500": 1, "later": 1})
    'at most 100 ms for half of the runs, at most 500 ms for 99 %'
    """
    return f"{_within(counts, 0.5)} for half of the runs, {_within(counts, 0.99)} for 99 %"


def _within(counts: dict[str, int], share: float) -> str:
    from cronce.operate.story import shown_span

    bounds = sorted((int(bound), n) for bound, n in counts.items() if bound.isdigit())
    left = share * sum(counts.values())
    for bound, n in bounds:
        left -= n
        if left <= 1e-9:
            return f"at most {shown_span(bound / 1000)}"
    return "over a minute"


def _coming(coming: dict[str, Any]) -> str:
    jobs = coming["jobs"]
    if not jobs:
        return "nothing"
    total = sum(job["total"] for job in jobs)
    first = jobs[0]["occurrences"][0]["due"]
    few = "" if coming["complete"] else " or more"
    return f"{total} runs of {len(jobs)} jobs{few}, the first at {first}: {jobs[0]['job_id']}"


def _some(jobs: list[Any]) -> str:
    return f"{len(jobs)} or more" if len(jobs) == JOBS else str(len(jobs))
