"""The local engine: an AWS emulator of its own, with a deployment of cronce in it.

Everything lies in one folder (``.cronce`` here, or CRONCE_HOME): state, logs, CDK's caches. The
emulator holds a lock on ``alive.lock`` as long as it lives, so nobody takes a stale process id for
it. A clean stop writes its state; the port is kept, because functions hold addresses with it.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Unpack

import boto3
from botocore.exceptions import ClientError

from cronce.cli import cdk, process, toolchain
from cronce.cli.cdk import Chosen
from cronce.cli.deployment import DEFAULT_STACK, choices_of, own_outputs, reachable
from cronce.cli.toolchain import Progress, ToolError, say

ACCOUNT = "000000000000"
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

_RECORD = "emulator.json"


@dataclass(frozen=True)
class Emulator:
    """A running emulator. outputs: of the deployment, without the construct's name; {} before."""

    home: Path
    port: int
    pid: int
    stack: str = DEFAULT_STACK
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        """What AWS_ENDPOINT_URL takes."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        """Where the API answers, with a slash at the end. ToolError before a deployment."""
        if not self.outputs:
            raise ToolError(f"nothing is deployed in {self.home}; run 'cronce up'")
        return reachable(self.outputs, self.endpoint)

    @property
    def log(self) -> Path:
        return self.home / process.LOG

    def session(self) -> boto3.Session:
        """For clients of it; each still needs ``endpoint_url=emulator.endpoint``."""
        return boto3.Session(
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=REGION,
        )

    def exports(self) -> dict[str, str]:
        """Variables with which any AWS tool, and cronce itself, reaches this emulator."""
        return {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "CRONCE_STACK": self.stack,
        }

    def choices(self) -> dict[str, str]:
        """What the deployment was chosen with, by name; {} before."""
        client = self.session().client("cloudformation", endpoint_url=self.endpoint)
        return choices_of(client, self.stack)


def home_folder(home: Path | None = None) -> Path:
    """The folder that was asked for, or CRONCE_HOME, or ``.cronce`` here."""
    return (home or Path(os.environ.get("CRONCE_HOME") or ".cronce")).resolve()


def status(home: Path | None = None) -> Emulator | None:
    """The emulator that runs in this folder, or None."""
    folder = home_folder(home)
    if not process.is_alive(folder):
        return None
    recorded = _read(folder)
    if recorded is None:
        raise ToolError(
            f"an emulator runs in {folder} but {folder / _RECORD} is not readable: end it by hand"
        )
    return recorded


def up(
    *,
    home: Path | None = None,
    reset: bool = False,
    stack: str | None = None,
    progress: Progress = say,
    **chosen: Unpack[Chosen],
) -> Emulator:
    """Start the emulator unless it runs, and deploy to it. Raises ToolError.

    reset: forget everything first. What is not chosen stays as it was at the last deployment here.
    An emulator started by a call that fails, or is interrupted, is stopped again.
    """
    folder = home_folder(home)
    if reset:
        down(home=folder, reset=True, progress=progress)
    was_running = status(folder) is not None
    try:
        start(home=folder, progress=progress)
        return deploy(home=folder, stack=stack, progress=progress, **chosen)
    except BaseException:
        if not was_running:
            down(home=folder, progress=progress)
        raise


def start(*, home: Path | None = None, progress: Progress = say) -> Emulator:
    """The emulator alone, without a deployment; the running one if there is one."""
    folder = home_folder(home)
    python = toolchain.environment_of("emulator", progress)
    with toolchain.locked(folder / "up.lock"):
        running = status(folder)
        if running is not None:
            return running
        last = _read(folder)
        port = last.port if last and process.is_free(last.port) else process.free_port()
        if last and port != last.port:
            progress(f"port {last.port} is taken: this emulator moves to {port}")
        progress(f"starting the emulator on 127.0.0.1:{port}")
        pid = process.spawn(folder, python, port, ACCOUNT, REGION)
        started = replace(last, port=port, pid=pid) if last else Emulator(folder, port, pid)
        _write(started)
        try:
            process.await_health(folder, port)
        except BaseException:
            process.stop(folder, pid)
            raise
        return started


def deploy(
    *,
    home: Path | None = None,
    stack: str | None = None,
    progress: Progress = say,
    **chosen: Unpack[Chosen],
) -> Emulator:
    """A real ``cdk deploy`` (after ``cdk bootstrap``, once) to the running emulator."""
    folder = home_folder(home)
    running = status(folder)
    if running is None:
        raise ToolError(f"no emulator runs in {folder}; run 'cronce up'")
    running = replace(running, stack=stack or running.stack)
    choices = {**running.choices(), **cdk.texts_of(chosen), "profile": "emulator"}
    env = {**running.exports(), "CDK_HOME": str(folder / "cdk"), "NO_PROXY": "127.0.0.1,localhost"}
    env |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    if not _is_bootstrapped(running):
        progress("bootstrapping the emulator")
        cdk.bootstrap(ACCOUNT, REGION, env=env, progress=progress)
    progress(f"deploying {running.stack}")
    outputs = cdk.deploy(
        running.stack, choices, env=env, output=folder / "cdk.out", progress=progress
    )
    deployed = replace(running, outputs=own_outputs(outputs))
    _write(deployed)
    return deployed


def down(*, home: Path | None = None, reset: bool = False, progress: Progress = say) -> bool:
    """Stop the emulator and all its functions; whether one ran. reset: forget its state too."""
    folder = home_folder(home)
    if not folder.is_dir():
        return False
    with toolchain.locked(folder / "up.lock"):
        running = status(folder)
        if running is not None:
            progress("stopping the emulator")
            process.stop(folder, running.pid, keep=not reset)
        if reset:
            for name in ("state", "s3", "tmp", "cdk", "cdk.out"):
                shutil.rmtree(folder / name, ignore_errors=True)
            for name in (_RECORD, "cdk.out.outputs.json", process.LOG):
                (folder / name).unlink(missing_ok=True)
    return running is not None


def function_processes(emulator: Emulator, function: str) -> list[int]:
    """Process ids of a function's environments (``outputs["WorkerFunction"]`` and the like)."""
    return process.of_group(emulator.pid, f"ministack-lambda-{function}-")


def _is_bootstrapped(running: Emulator) -> bool:
    """Asked of the emulator, for one that was killed has forgotten it."""
    client = running.session().client("cloudformation", endpoint_url=running.endpoint)
    try:
        client.describe_stacks(StackName="CDKToolkit")
    except ClientError:
        return False
    return True


def _read(folder: Path) -> Emulator | None:
    try:
        record = json.loads((folder / _RECORD).read_text())
        return Emulator(folder, record["port"], record["pid"], record["stack"], record["outputs"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(emulator: Emulator) -> None:
    record = {name: value for name, value in asdict(emulator).items() if name != "home"}
    draft = emulator.home / f".{_RECORD}"
    draft.write_text(json.dumps(record, indent=1))
    draft.replace(emulator.home / _RECORD)
