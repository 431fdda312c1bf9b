"""The local engine: an AWS emulator of its own, with a deployment of cronce in it.

Everything lies in one folder (``.cronce`` here, or CRONCE_HOME): state, logs, CDK's caches. The
emulator holds a lock on ``alive.lock`` as long as it lives, so nobody takes a stale process id for
it. A clean stop writes its state; the port is kept, because functions hold addresses with it.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import boto3

from cronce.cli import cdk, toolchain
from cronce.cli.deployment import own_outputs, reachable
from cronce.cli.toolchain import Progress, ToolError, say

ACCOUNT = "000000000000"
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

_RECORD = "emulator.json"
_START_SECONDS = 60
_STOP_SECONDS = 30


@dataclass(frozen=True)
class Emulator:
    """A running emulator. outputs: of the deployment, without the construct's name; {} before."""

    home: Path
    port: int
    pid: int
    stack: str = "cronce"
    outputs: dict[str, str] = field(default_factory=dict)
    allowed_targets: tuple[str, ...] = ()
    allowed_addresses: tuple[str, ...] = ()

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
        return self.home / "emulator.log"

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


def home_folder(home: Path | None = None) -> Path:
    """The folder that was asked for, or CRONCE_HOME, or ``.cronce`` here."""
    return (home or Path(os.environ.get("CRONCE_HOME") or ".cronce")).resolve()


def status(home: Path | None = None) -> Emulator | None:
    """The emulator that runs in this folder, or None."""
    folder = home_folder(home)
    if not _alive(folder):
        return None
    recorded = _read(folder)
    if recorded is None:
        raise ToolError(
            f"an emulator runs in {folder} but {folder / _RECORD} is gone: end it by hand"
        )
    return recorded


def up(
    *,
    home: Path | None = None,
    reset: bool = False,
    stack: str | None = None,
    allowed_targets: Sequence[str] | None = None,
    allowed_addresses: Sequence[str] | None = None,
    progress: Progress = say,
) -> Emulator:
    """Start the emulator unless it runs, and deploy to it. Raises ToolError.

    reset: forget everything first. What is None stays as it was at the last deployment here. An
    emulator started by a call that fails, or is interrupted, is stopped again.
    """
    folder = home_folder(home)
    if reset:
        down(home=folder, reset=True, progress=progress)
    was_running = status(folder) is not None
    try:
        start(home=folder, progress=progress)
        return deploy(
            home=folder,
            stack=stack,
            allowed_targets=allowed_targets,
            allowed_addresses=allowed_addresses,
            progress=progress,
        )
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
        port = last.port if last and _is_free(last.port) else _free_port()
        if last and port != last.port:
            progress(f"port {last.port} is taken: this emulator moves to {port}")
        progress(f"starting the emulator on 127.0.0.1:{port}")
        pid = _spawn(folder, python, port)
        started = replace(last, port=port, pid=pid) if last else Emulator(folder, port, pid)
        _write(started)
        try:
            _await_health(started)
        except BaseException:
            _stop(started)
            raise
        return started


def deploy(
    *,
    home: Path | None = None,
    stack: str | None = None,
    allowed_targets: Sequence[str] | None = None,
    allowed_addresses: Sequence[str] | None = None,
    progress: Progress = say,
) -> Emulator:
    """A real ``cdk deploy`` (after ``cdk bootstrap``, once) to the running emulator."""
    folder = home_folder(home)
    running = status(folder)
    if running is None:
        raise ToolError(f"no emulator runs in {folder}; run 'cronce up'")
    targets = running.allowed_targets if allowed_targets is None else tuple(allowed_targets)
    blocks = running.allowed_addresses if allowed_addresses is None else tuple(allowed_addresses)
    choices = cdk.Choices(stack or running.stack, "emulator", targets, blocks)
    env = {**running.exports(), "CDK_HOME": str(folder / "cdk"), "NO_PROXY": "127.0.0.1,localhost"}
    env |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    bootstrapped = folder / "bootstrapped"
    if not bootstrapped.is_file():
        progress("bootstrapping the emulator")
        cdk.bootstrap(ACCOUNT, REGION, env=env, progress=progress)
        bootstrapped.touch()
    progress(f"deploying {choices.stack}")
    outputs = cdk.deploy(choices, env=env, output=folder / "cdk.out", progress=progress)
    deployed = replace(
        running,
        stack=choices.stack,
        outputs=own_outputs(outputs),
        allowed_targets=targets,
        allowed_addresses=blocks,
    )
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
            _stop(running)
        if reset:
            for name in ("state", "s3", "tmp", "cdk", "cdk.out"):
                shutil.rmtree(folder / name, ignore_errors=True)
            for name in ("bootstrapped", _RECORD, "cdk.out.outputs.json", "emulator.log"):
                (folder / name).unlink(missing_ok=True)
    return running is not None


def function_processes(emulator: Emulator, function: str) -> list[int]:
    """Process ids of a function's environments (``outputs["WorkerFunction"]`` and the like)."""
    found = []
    for pid, command in _commands():
        with suppress(ProcessLookupError, PermissionError):
            if f"ministack-lambda-{function}-" in command and os.getpgid(pid) == emulator.pid:
                found.append(pid)
    return found


def _commands() -> Iterator[tuple[int, str]]:
    """Every process with its command line; from /proc where there is one, as ps may be missing."""
    if Path("/proc/self/cmdline").exists():
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with suppress(OSError):
                    yield int(folder.name), (folder / "cmdline").read_text(errors="replace")
        return
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "args="], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        yield int(pid), command


def _spawn(folder: Path, python: Path, port: int) -> int:
    shutil.rmtree(folder / "tmp", ignore_errors=True)
    for name in ("state", "s3", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    env = {
        "PATH": f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(folder / "tmp"),
        "TMPDIR": str(folder / "tmp"),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "STATE_DIR": str(folder / "state"),
        "S3_DATA_DIR": str(folder / "s3"),
        "PERSIST_STATE": "1",
        "S3_PERSIST": "1",
        "IOT_MTLS_ENABLED": "0",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    with (folder / "alive.lock").open("w") as alive, (folder / "emulator.log").open("ab") as log:
        fcntl.flock(alive, fcntl.LOCK_EX)
        child = subprocess.Popen(
            [str(python), "-m", "ministack"],
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[alive.fileno()],
        )
    child.returncode = 0  # it outlives this process: nobody waits for it here
    return child.pid


def _await_health(emulator: Emulator) -> None:
    deadline = time.monotonic() + _START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and _alive(emulator.home):
        with suppress(OSError), opener.open(f"{emulator.endpoint}/_ministack/health", timeout=5):
            return
        time.sleep(0.05)
    tail = "\n".join(emulator.log.read_text(errors="replace").splitlines()[-15:])
    raise ToolError(f"the emulator did not start ({emulator.log}):\n{tail}")


def _stop(emulator: Emulator) -> None:
    """A clean stop, which writes the state; then whatever is left of its group is killed."""
    with suppress(ProcessLookupError):
        os.kill(emulator.pid, signal.SIGTERM)
    _until_dead(emulator.home)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(emulator.pid, signal.SIGKILL)
    _until_dead(emulator.home)
    with suppress(ChildProcessError):
        os.waitpid(emulator.pid, 0)
    shutil.rmtree(emulator.home / "tmp", ignore_errors=True)


def _until_dead(folder: Path) -> None:
    deadline = time.monotonic() + _STOP_SECONDS
    while _alive(folder) and time.monotonic() < deadline:
        time.sleep(0.05)


def _alive(folder: Path) -> bool:
    """Whether an emulator holds this folder's lock."""
    try:
        with (folder / "alive.lock").open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _read(folder: Path) -> Emulator | None:
    try:
        record = json.loads((folder / _RECORD).read_text())
        for name in ("allowed_targets", "allowed_addresses"):
            record[name] = tuple(record[name])
        return Emulator(home=folder, **record)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(emulator: Emulator) -> None:
    record = {name: value for name, value in asdict(emulator).items() if name != "home"}
    draft = emulator.home / f".{_RECORD}"
    draft.write_text(json.dumps(record, indent=1))
    draft.replace(emulator.home / _RECORD)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
