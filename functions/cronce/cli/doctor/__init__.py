"""``cronce doctor``: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from cronce.cli.connect import Choice
from cronce.cli.doctor.findings import Finding
from cronce.cli.options import Json
from cronce.cli.output import plain, print_json

TROUBLE = 1
MARKS = {"ok": "ok", "trouble": "TROUBLE", "note": "note", "unknown": "not seen"}


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Look at what a deployment needs. Exit code 1 if something is wrong."""
    found: list[Finding] = []
    for finding in examine(context.obj):
        found.append(finding)
        if not as_json:
            say(finding)
    bad = [finding for finding in found if finding.state == "trouble"]
    if as_json:
        status = "trouble" if bad else "ok"
        print_json({"status": status, "findings": [vars(finding) for finding in found]})
    else:
        print(f"\n{verdict(len(bad))}")
    if bad:
        raise typer.Exit(TROUBLE)


def verdict(bad: int) -> str:
    """
    >>> verdict(0), verdict(1)
    ('nothing is wrong', '1 thing is wrong')
    """
    things = "1 thing is" if bad == 1 else f"{bad} things are"
    return f"{things} wrong" if bad else "nothing is wrong"


def examine(choice: Choice) -> Iterator[Finding]:
    """One finding after the other, as they are found."""
    from cronce.cli.doctor import of_api, of_aws, place

    where = place.find(choice)
    if isinstance(where, Finding):
        yield where
        return
    yield where.finding()
    yield from of_api.examine(where)
    yield from of_aws.examine(where)


def say(finding: Finding) -> None:
    print(f"{MARKS[finding.state]:<9} {finding.name:<12} {plain(finding.text)}", flush=True)
    if finding.advice and finding.state != "ok":
        print(f"{'':<22} {plain(finding.advice)}", flush=True)
