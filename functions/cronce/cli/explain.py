"""``cronce runs explain``: the story of one run."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from cronce.cli.connect import client_of, local_emulator
from cronce.cli.options import JobId, Json, RunId
from cronce.cli.output import plain, print_columns, print_json


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(context: typer.Context, job_id: JobId, run_id: RunId, as_json: Json = False) -> None:
    """Tell the story of one run. Who dispatched it, what it waits for, how it ended."""
    running = local_emulator(context.obj)
    told = client_of(context).explain(job_id, run_id)
    if as_json:
        print_json(told)
        return
    run = told["run"]
    print(f"{plain(job_id)}  {plain(run_id)}  {heading(told)}\n")
    print_columns([[line["at"] or "", line["what"], line["text"]] for line in told["story"]])
    if running is not None:
        print(f"\nits log: {plain(shlex.join(['grep', run_id, str(running.log)]))}")
    elif run and run["log"]["group"] and run["log"]["stream"]:
        print(f"\nits log: {logs_command(run['log'])}")
    if not told["searched"]:
        print("\nthere were more dispatches than could be looked through")


def heading(told: dict[str, Any]) -> str:
    """What it is by now, in a word or two."""
    if told["run"]:
        return plain(told["run"]["status"])
    return "missed" if told["missed"] else "no record yet"


def logs_command(log: dict[str, str]) -> str:
    """What shows the attempt's lines, to be pasted into a shell."""
    command = ["aws", "logs", "filter-log-events", "--log-group-name", log["group"]]
    command += ["--log-stream-names", log["stream"]]
    if log["request_id"]:
        command += ["--filter-pattern", f'"{log["request_id"]}"']
    return plain(" ".join(map(shlex.quote, command)))
