"""What the command line needs besides Python: Node, the CDK command line, the emulator.

Everything is installed from pinned hashes into folders of its own under ``build/tools`` and
``node_modules`` of the checkout, once: a folder is ready when its stamp is there, and its name or
stamp carries the hash of the pins, so that a changed pin installs anew.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

Progress = Callable[[str], None]

NODE_MINIMUM = 20


class ToolError(Exception):
    """A tool is missing or could not be installed; the message says what to do."""


def say(line: str) -> None:
    """Progress on standard error, so that standard output stays the answer."""
    print(line, file=sys.stderr, flush=True)


def checkout() -> Path:
    """The folder of the checkout (where ``infra/app.py`` and the pins lie), or ToolError."""
    for base in (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]):
        if (base / "infra" / "app.py").is_file() and (base / "requirements").is_dir():
            return base
    raise ToolError("not in a checkout of cronce: infra/app.py and requirements/ are needed here")


def tools_home() -> Path:
    """Where tools are installed; ``CRONCE_TOOLS`` moves it."""
    chosen = os.environ.get("CRONCE_TOOLS")
    return Path(chosen).resolve() if chosen else checkout() / "build" / "tools"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time inside; the lock ends with the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> None:
    """Run to its end; on failure ToolError with the last lines that it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        env=dict(env) if env is not None else None,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise ToolError(f"{Path(str(command[0])).name} failed ({done.returncode}):\n{tail}")


def environment_of(name: str, progress: Progress = say) -> Path:
    """The Python of an environment that holds ``requirements/<name>.txt`` and nothing else."""
    pins = checkout() / "requirements" / f"{name}.txt"
    version = "{}.{}".format(*sys.version_info)
    key = hashlib.sha256(pins.read_bytes() + version.encode()).hexdigest()[:12]
    home = tools_home() / f"{name}-{key}"
    python = home / "bin" / "python"
    stamp = home / ".installed"
    if stamp.is_file():
        return python
    with locked(tools_home() / f"{name}.lock"):
        if stamp.is_file():
            return python
        progress(f"installing {name} (requirements/{name}.txt)")
        shutil.rmtree(home, ignore_errors=True)
        run([sys.executable, "-m", "venv", home])
        quiet = ["-qq", "--disable-pip-version-check"]
        run([python, "-m", "pip", "install", *quiet, "--require-hashes", "-r", pins])
        run([python, "-m", "compileall", "-q", home / "lib"])
        stamp.touch()
    return python


def _major(node: str) -> int:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    match = re.match(r"v(\d+)\.", said.stdout)
    return int(match.group(1)) if match else 0


def node_bin(progress: Progress = say) -> Path | None:
    """The folder to put before PATH so that ``node`` and ``npm`` are new enough; None: PATH is."""
    found = shutil.which("node")
    if found and shutil.which("npm") and _major(found) >= NODE_MINIMUM:
        return None
    return environment_of("node", progress).parent


def node_environment(progress: Progress = say) -> dict[str, str]:
    """Variables under which node, npm, the CDK command line and the construct's JSII run."""
    env = {
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20,21,23",
        "NODE_NO_WARNINGS": "1",
        "PATH": os.environ["PATH"],
    }
    folder = node_bin(progress)
    if folder is not None:
        env["PATH"] = f"{folder}{os.pathsep}{env['PATH']}"
        env["JSII_NODE"] = str(folder / "node")
    return env


def node_modules(progress: Progress = say) -> Path:
    """``node_modules`` as ``package-lock.json`` has it: the CDK command line, DynamoDB Local."""
    root = checkout()
    lock = root / "package-lock.json"
    modules = root / "node_modules"
    stamp = modules / ".installed"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()

    def ready() -> bool:
        return stamp.is_file() and stamp.read_text() == wanted

    if ready():
        return modules
    with locked(tools_home() / "npm.lock"):
        if ready():
            return modules
        progress("installing the CDK command line (package-lock.json)")
        env = {**os.environ, **node_environment(progress)}
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        npm = shutil.which("npm", path=env["PATH"]) or "npm"
        run([npm, "ci", *quiet], cwd=root, env=env)
        stamp.write_text(wanted)
    return modules


def cdk(progress: Progress = say) -> Path:
    """The pinned CDK command line; run it under ``node_environment``."""
    return node_modules(progress) / ".bin" / "cdk"


def main() -> int:
    """Install what tests and deployments need, unless it is there."""
    try:
        node_modules()
        environment_of("emulator")
    except ToolError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
