"""The emulator as a process: started apart from this one, found again, and stopped for good.

It holds a lock on ``alive.lock`` in its folder for as long as it lives: a process id that somebody
else got since is never taken for it.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from cronce.cli.toolchain import ToolError

LOG = "emulator.log"

_LOCK = "alive.lock"
_START_SECONDS = 60
_STOP_SECONDS = 30


def spawn(
    folder: Path,
    python: Path,
    port: int,
    account: str,
    region: str,
    settings: Mapping[str, str] | None = None,
) -> int:
    """Start it in a process group of its own, with an environment of its own; the process id.

    settings: further variables of the emulator's own.
    """
    shutil.rmtree(folder / "tmp", ignore_errors=True)
    if not any((folder / "state").glob("*")):
        # Killed before its first clean stop: it kept its buckets' files and forgot the buckets.
        shutil.rmtree(folder / "s3", ignore_errors=True)
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
        "MINISTACK_ACCOUNT_ID": account,
        "MINISTACK_REGION": region,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **(settings or {}),
    }
    with (folder / _LOCK).open("w") as alive, (folder / LOG).open("ab") as log:
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


def await_health(folder: Path, port: int) -> None:
    """Return when it answers; ToolError with the end of its log if it does not."""
    deadline = time.monotonic() + _START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"http://127.0.0.1:{port}/_ministack/health"
    while time.monotonic() < deadline and is_alive(folder):
        with suppress(OSError), opener.open(url, timeout=5):
            return
        time.sleep(0.05)
    tail = "\n".join((folder / LOG).read_text(errors="replace").splitlines()[-15:])
    raise ToolError(f"the emulator did not start ({folder / LOG}):\n{tail}")


def stop(folder: Path, pid: int, *, keep: bool = True) -> None:
    """A clean stop, which writes the state; then whatever is left of its group is killed.
    keep: False where nobody wants the state, which is quicker."""
    if keep:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        _until_dead(folder)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _until_dead(folder)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    shutil.rmtree(folder / "tmp", ignore_errors=True)


def _until_dead(folder: Path) -> None:
    deadline = time.monotonic() + _STOP_SECONDS
    while is_alive(folder) and time.monotonic() < deadline:
        time.sleep(0.05)


def is_alive(folder: Path) -> bool:
    """Whether an emulator holds this folder's lock."""
    try:
        with (folder / _LOCK).open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def of_group(group: int, part: str) -> list[int]:
    """Processes of a group whose command line holds ``part``."""
    found = []
    for pid, command in _commands():
        with suppress(ProcessLookupError, PermissionError):
            if part in command and os.getpgid(pid) == group:
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


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of loopback."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
