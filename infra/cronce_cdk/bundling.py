"""The code of the functions, built without Docker.

An asset is the package ``cronce`` without what the function never imports, and its pinned
dependencies for the platform that it runs on. Its name carries the hash of everything that went
in, so the same inputs give the same asset on every machine; a folder under that name is complete,
because it is built beside and then renamed.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

import cronce
from cronce_cdk.props import CronceProps, host_python

AssetName = Literal["core", "api"]

_FORMAT = "1"  # changes when the same inputs would give another content
_KEPT = 3600.0  # seconds since an asset was last used
_KEPT_DEPENDENCIES = 30 * 86_400.0
_LEFT_OUT = ("cli/*", "console/*", "testing/*", "client*.py", "verbatim.py")
_HANDLERS_OF_THE_CORE = ("__init__.py", "dispatcher.py", "watch.py", "wiring.py", "worker.py")


class BundlingError(Exception):
    """An asset could not be built; the message holds the installer's last lines."""


@dataclass(frozen=True)
class Platform:
    """Where an asset runs. None: on this machine, by this Python."""

    machine: str
    python: str
    native: bool = False

    @property
    def manylinux(self) -> list[str]:
        """Wheel tags that Lambda's image can load; Amazon Linux 2023 comes with Python 3.12."""
        glibc = ["2_17"] if self.python == "3.11" else ["2_28", "2_17"]
        return [
            *(f"manylinux_{each}_{self.machine}" for each in glibc),
            f"manylinux2014_{self.machine}",
        ]


def platform_of(props: CronceProps) -> Platform:
    """The platform that a deployment's functions run on."""
    machine = "aarch64" if props.architecture == "arm64" else "x86_64"
    return Platform(machine, props.python, native=props.profile == "emulator")


def build(asset: AssetName, platform: Platform) -> tuple[str, Path]:
    """The hash of the asset's inputs and the folder with its content, built unless it is there."""
    pins = _requirements(asset)
    deps_key = _digest([_FORMAT, repr(platform), pins.read_text()])
    sources = list(_sources(asset))
    content = [part for path, data in sources for part in (path, data)]
    key = _digest([_FORMAT, deps_key, str(_compiles(platform)), *content])

    def fill(folder: Path) -> None:
        dependencies = _once(f"deps-{asset}-{deps_key}", lambda to: _install(pins, platform, to))
        shutil.copytree(dependencies, folder, dirs_exist_ok=True)
        for path, data in sources:
            file = folder / "cronce" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        if _compiles(platform):
            _compile(folder / "cronce")

    return key, _once(f"{asset}-{key}", fill)


def _requirements(asset: AssetName) -> Path:
    """The pins: beside this file in a wheel, in the checkout's own folder otherwise."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "requirements", here.parents[2] / "requirements"):
        if (folder / f"{asset}.txt").is_file():
            return folder / f"{asset}.txt"
    raise BundlingError(f"requirements/{asset}.txt is missing from this installation of cronce")


def _home() -> Path:
    """Where assets are kept: the checkout's build folder, or the user's cache for a wheel."""
    root = Path(__file__).resolve().parents[2]
    if (root / "requirements").is_dir():
        return root / "build" / "assets"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "cronce" / "assets"


def _sources(asset: AssetName) -> Iterator[tuple[str, bytes]]:
    assert cronce.__file__ is not None
    root = Path(cronce.__file__).parent
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.is_file() and "__pycache__" not in path and _belongs(path, asset):
            yield path, file.read_bytes()


def _belongs(path: str, asset: AssetName) -> bool:
    """Whether a function of the asset may import the file.

    >>> [_belongs(p, "core") for p in ("work.py", "cli/main.py", "handlers/api.py")]
    [True, False, False]
    """
    if any(fnmatch(path, pattern) for pattern in _LEFT_OUT):
        return False
    folder, _, name = path.rpartition("/")
    return asset == "api" or folder != "handlers" or name in _HANDLERS_OF_THE_CORE


def _digest(parts: list[str | bytes] | list[str]) -> str:
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:32]


def _once(name: str, fill: Callable[[Path], None]) -> Path:
    """The finished folder of this name; whoever builds second throws the copy away."""
    home = _home()
    done = home / name
    if done.is_dir():
        os.utime(done)
        return done
    home.mkdir(parents=True, exist_ok=True)
    _forget_unused(home)
    draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=home))
    try:
        fill(draft)
        draft.chmod(0o755)
        try:
            draft.rename(done)
        except OSError:
            if not done.is_dir():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return done


def _forget_unused(home: Path) -> None:
    """Every edit of the sources makes a new asset: those that nobody used lately go."""
    for folder in home.iterdir():
        kept = _KEPT_DEPENDENCIES if folder.name.startswith("deps-") else _KEPT
        with suppress(FileNotFoundError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > kept:
                shutil.rmtree(folder, ignore_errors=True)


def _install(pins: Path, platform: Platform, folder: Path) -> None:
    command = _pip(platform) if importlib.util.find_spec("pip") else _uv(platform)
    command += ["--require-hashes", "--no-deps", "--target", str(folder), "-r", str(pins)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise BundlingError(f"dependencies of the functions cannot be installed:\n{tail}")
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for record in folder.glob("*.dist-info/RECORD"):
        record.unlink()
    if _compiles(platform):
        _compile(folder)


def _pip(platform: Platform) -> list[str]:
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command += ["--no-compile", "--only-binary", ":all:"]
    if not platform.native:
        command += ["--implementation", "cp", "--python-version", platform.python]
        command += [part for tag in platform.manylinux for part in ("--platform", tag)]
    return command


def _uv(platform: Platform) -> list[str]:
    uv = shutil.which("uv")
    if uv is None:
        raise BundlingError("neither pip (python -m ensurepip) nor uv is here: one is needed")
    command = [uv, "pip", "install", "--quiet", "--only-binary", ":all:"]
    if platform.native:
        return [*command, "--python", sys.executable]
    glibc = platform.manylinux[0].split("_", 1)[1].removesuffix(f"_{platform.machine}")
    image = f"{platform.machine}-manylinux_{glibc}"
    return [*command, "--python-platform", image, "--python-version", platform.python]


def _compiles(platform: Platform) -> bool:
    """Byte code is worth having at a cold start, and only this Python's own can be made here."""
    return platform.python == host_python()


def _compile(folder: Path) -> None:
    command = [sys.executable, "-m", "compileall", "-q", "-s", str(folder), "-p", "/var/task"]
    subprocess.run(
        [*command, "--invalidation-mode", "unchecked-hash", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
