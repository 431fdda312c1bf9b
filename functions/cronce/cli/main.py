"""The command ``cronce``. What a command needs is imported when it runs: ``--help`` and
``preview`` load neither boto3 nor Rich."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from cronce import __version__
from cronce.cli import (
    backfills,
    calendars,
    console,
    doctor,
    groups,
    jobs,
    local,
    runs,
    status,
    transfer,
)
from cronce.cli.connect import Choice, client_of
from cronce.cli.exits import FAILED, USAGE, CommandError, complain, listening, of_answer
from cronce.cli.options import JobId, Json, Port

if TYPE_CHECKING:
    from cronce.client import Client

GLOBAL_OPTIONS = ("--stack", "--profile", "--region", "--endpoint")

app = typer.Typer(
    name="cronce",
    help="A distributed job scheduler in your own AWS account.",
    epilog="--stack, --profile, --region and --endpoint may stand anywhere in a command.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(jobs.app, name="jobs")
app.add_typer(runs.app, name="runs")
app.add_typer(groups.app, name="groups")
backfills.register(app, jobs.app)
calendars.register(app)
transfer.register(jobs.app)
local.register(app)
for part in (status, doctor, console):
    part.register(app)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"cronce {__version__}")
        raise typer.Exit


@app.callback()
def choose(
    context: typer.Context,
    stack: Annotated[
        str | None, typer.Option(envvar="CRONCE_STACK", help="The deployment's stack.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="AWS profile to sign with.")] = None,
    region: Annotated[str | None, typer.Option(help="AWS Region of the deployment.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="An emulator's address; also AWS_ENDPOINT_URL.")
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_say_version, help="Print the release and end."
        ),
    ] = False,
) -> None:
    context.obj = Choice(stack or None, profile, region, endpoint)


@app.command()
def preview(
    context: typer.Context,
    schedule: Annotated[
        str,
        typer.Argument(
            metavar="SCHEDULE",
            help="'*/5 * * * *', 'rate(5 minutes)', 'at(…)' or a JSON schedule.",
        ),
    ],
    timezone: Annotated[str | None, typer.Option(help="IANA zone; UTC without.")] = None,
    after: Annotated[str | None, typer.Option(help="An instant; now without.")] = None,
    count: Annotated[int, typer.Option(help="How many occurrences.")] = 10,
    as_json: Json = False,
) -> None:
    """When a schedule would fire. Needs no deployment, except for a calendar that is named."""
    from cronce.cli import preview as previewing

    def connected() -> Client:
        return client_of(context)

    asked = previewing.Asked(schedule, timezone, after, count)
    code = previewing.run(asked, as_json, sys.stdout, sys.stderr, connected)
    if code:
        raise typer.Exit(code)


@app.command()
def upcoming(
    context: typer.Context,
    job_id: JobId,
    count: Annotated[int, typer.Option(help="How many occurrences.")] = 10,
    after: Annotated[str | None, typer.Option(help="An instant; now without.")] = None,
    as_json: Json = False,
) -> None:
    """The next occurrences of a job."""
    from cronce.cli.output import plain, print_json, print_table

    found = client_of(context).upcoming(job_id, count=count, after=after)
    if as_json:
        print_json(found)
        return
    names = ["scheduled_for", "due", "local", "note"]
    rows = [[each.get(name) for name in names] for each in found["details"]]
    print_table([name.replace("_", " ") for name in names], rows)
    for warning in found["warnings"]:
        print(f"warning: {plain(warning)}")


@app.command()
def demo(
    seconds: Annotated[
        int, typer.Option(min=75, max=3600, help="How long runs are shown before judging.")
    ] = 90,
    keep: Annotated[bool, typer.Option(help="Keep the emulator's folder, to look at it.")] = False,
) -> None:
    """Deploy to an emulator, run jobs, judge. The emulator is its own; a worker is killed."""
    from cronce.cli.demo import play

    code = play.run(seconds, keep)
    if code:
        raise typer.Exit(code)


@app.command()
def docs(
    context: typer.Context,
    port: Port = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Serve the API's documentation. On this machine: the deployment's, else the checkout's."""
    from cronce.cli import docs as serving
    from cronce.cli.deployment import DeploymentError

    try:
        document = client_of(context).openapi()
    except (CommandError, DeploymentError):
        copy = serving.of_checkout()
        if copy is None:
            raise
        document = copy
    with listening(port):
        serving.serve(document, port, browser)


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a shell's completion script. Such as: eval "$(cronce completion bash)"."""
    if shell not in ("bash", "zsh", "fish"):
        raise typer.BadParameter("must be bash, zsh or fish", param_hint="shell")
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="cronce", complete_var="_CRONCE_COMPLETE", shell=shell))


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The global options first, wherever they stood.

    >>> hoisted(["jobs", "show", "a", "--stack", "s", "--region=r"])
    ['--stack', 's', '--region=r', 'jobs', 'show', 'a']
    """
    first: list[str] = []
    rest: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            rest += [argument, *left]
        elif argument in GLOBAL_OPTIONS:
            if (value := next(left, None)) is None:
                return [argument]  # for it to be told that its value is missing
            first += [argument, value]
        elif argument.startswith(tuple(f"{name}=" for name in GLOBAL_OPTIONS)):
            first.append(argument)
        else:
            rest.append(argument)
    return first + rest


def run(arguments: Sequence[str]) -> int:
    """The exit code. What went wrong was said on standard error."""
    try:
        "".join(arguments).encode()
    except UnicodeEncodeError:
        complain("an argument is not UTF-8 text")
        return USAGE
    try:
        app(hoisted(arguments), prog_name="cronce")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED if end.code else 0
    except KeyboardInterrupt as stop:
        _say_notes(stop)
        return 130
    except BrokenPipeError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        code = explain(error)
        _say_notes(error)
        return code
    return 0


def _say_notes(error: BaseException) -> None:
    """What whoever it passed through had to add."""
    for note in getattr(error, "__notes__", ()):
        complain(note)


def explain(error: Exception) -> int:
    """Says what a user can do something about, and of a defect where it is."""
    if isinstance(error, CommandError):
        complain(str(error))
        return error.code
    from botocore.exceptions import BotoCoreError, ClientError

    from cronce.cli.deployment import DeploymentError
    from cronce.cli.toolchain import ToolError
    from cronce.client import ApiError, BadId, NotSigned, Unreachable

    if isinstance(error, ApiError):
        return of_answer(error.status, error.title, error.detail, error.errors)
    if isinstance(error, BadId):
        complain(str(error))
        return USAGE
    known = (Unreachable, NotSigned, DeploymentError, ToolError, BotoCoreError, ClientError)
    if isinstance(error, known):
        complain(str(error))
        return FAILED
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
    complain(f"a defect of this command, or an answer of another release: {where}")
    return FAILED


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
