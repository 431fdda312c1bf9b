"""Running the pinned CDK command line: bootstrap and deploy, on AWS or on an emulator."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from cronce.cli import toolchain
from cronce.cli.toolchain import Progress, ToolError, say

_OF_THE_USER = ("AWS_", "CDK_", "CRONCE_", "JSII_")
_HEADLINES = ("✅", "✨", "❌", "⏳")
_QUIET = {"CDK_DISABLE_CLI_TELEMETRY": "true", "CDK_DISABLE_VERSION_CHECK": "1"}


class Chosen(TypedDict, total=False):
    """What may be chosen for a deployment; what is None or absent was not."""

    allowed_targets: Sequence[str] | None
    allowed_addresses: Sequence[str] | None
    secrets: Sequence[str] | None
    event_bus: str | None


def texts_of(chosen: Chosen) -> dict[str, str]:
    """As ``infra/app.py`` reads them.

    >>> texts_of({"allowed_targets": ["https://a", "https://b"], "secrets": None, "event_bus": ""})
    {'allowed_targets': 'https://a,https://b', 'event_bus': ''}
    """
    texts = {}
    for name, value in chosen.items():
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, Sequence):
            texts[name] = ",".join(str(each) for each in value)
    return texts


def deploy(
    stack: str,
    choices: Mapping[str, str],
    *,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
    progress: Progress = say,
) -> dict[str, str]:
    """``cdk deploy``; the stack's outputs by their keys. Raises ToolError if it fails.

    choices: what ``infra/app.py`` is told, by name; what is absent is left to its defaults.
    env: variables over this process's own (an emulator's); output: where the assembly is written.
    """
    assembly = output or toolchain.checkout() / "build" / "cdk.out"
    assembly.mkdir(parents=True, exist_ok=True)
    outputs = assembly.with_name(f"{assembly.name}.outputs.json")
    command = ["deploy", "--require-approval", "never", "--progress", "events", "--no-notices"]
    command += ["--output", str(assembly), "--outputs-file", str(outputs)]
    for name, text in {**choices, "stack": stack}.items():
        command += ["-c", f"{name}={text}"]
    command += ["--app", f"{shlex.quote(sys.executable)} app.py", stack]
    _cdk(command, env, toolchain.checkout() / "infra", progress)
    found: dict[str, dict[str, str]] = json.loads(outputs.read_text())
    return found[stack]


def bootstrap(
    account: str, region: str, *, env: Mapping[str, str] | None = None, progress: Progress = say
) -> None:
    """``cdk bootstrap`` of one account and Region. Raises ToolError if it fails."""
    command = ["bootstrap", f"aws://{account}/{region}", "--no-notices"]
    _cdk(command, env, toolchain.tools_home(), progress)  # there, no app is synthesised for it


def _cdk(
    arguments: Sequence[str], env: Mapping[str, str] | None, cwd: Path, progress: Progress
) -> None:
    command = [str(toolchain.cdk(progress)), *arguments]
    stream(command, env=_environment(env, progress), cwd=cwd, progress=progress)


def _environment(env: Mapping[str, str] | None, progress: Progress) -> dict[str, str]:
    """This process's own; for an emulator without what the user's shell says about AWS."""
    hidden = () if env is None else _OF_THE_USER
    kept = {name: text for name, text in os.environ.items() if not name.startswith(hidden)}
    cache = {"JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(toolchain.tools_home() / "jsii")}
    return {**kept, **toolchain.node_environment(progress), **_QUIET, **cache, **(env or {})}


def stream(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, progress: Progress
) -> None:
    """Run to its end, what matters of it as progress; it and its children end with this call.

    Raises ToolError with the last lines, all of them, if it fails.
    """
    child = subprocess.Popen(
        command,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    tail: deque[str] = deque(maxlen=40)
    try:
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                tail.append(line.rstrip())
                if told := _worth_telling(line):
                    progress(told)
        if child.wait() != 0:
            shown = "\n".join(tail)
            raise ToolError(f"cdk {command[1]} failed ({child.returncode}):\n{shown}")
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _worth_telling(line: str) -> str:
    """The line for people: every tenth resource, the last, a failed one, a headline; "" else.

    >>> _worth_telling("cronce | 20/41 | 4:53:47 PM | CREATE_COMPLETE | AWS::SQS::Queue | Queue")
    '20/41 CREATE_COMPLETE AWS::SQS::Queue'
    >>> _worth_telling("cronce | 12/41 | 4:53:47 PM | CREATE_FAILED | AWS::SQS::Queue | Queue")
    '12/41 CREATE_FAILED AWS::SQS::Queue'
    >>> _worth_telling("cronce | 12/41 | 4:53:47 PM | CREATE_COMPLETE | AWS::SQS::Queue | Queue")
    ''
    """
    cells = [cell.strip() for cell in line.split(" | ")]
    if len(cells) < 5:
        return line.strip() if line.lstrip().startswith(_HEADLINES) else ""
    count, state, kind = cells[1], cells[3], cells[4]
    done, _, total = count.partition("/")
    mark = state.endswith("_COMPLETE") and (done == total or done.endswith("0"))
    return f"{count} {state} {kind}" if mark or "FAILED" in state or "ROLLBACK" in state else ""
