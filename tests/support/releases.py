"""An earlier state of this repository, and how it is deployed by its own code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from cronce.cli import toolchain

# An index cannot be changed in place, so nothing older than its layout can be upgraded.
LAYOUT = "functions/cronce/adapters/layout.py"
MOST_TRIED = 40
LOADS = "import cronce.handlers.api, cronce.handlers.dispatcher, cronce.handlers.worker"
DEPLOY = """
import json, sys
from pathlib import Path
from cronce.cli import emulator
home, choices = Path(sys.argv[1]), json.loads(sys.argv[2])
emulator.up(home=home, **choices)
"""


@dataclass(frozen=True)
class Release:
    """name: tag or commit. folder: its files, without history. is_head: there is nothing older."""

    name: str
    folder: Path
    is_head: bool = False

    def environment(self) -> dict[str, str]:
        """For Python processes that import this release's code."""
        path = f"{self.folder / 'functions'}{os.pathsep}{self.folder / 'infra'}"
        tools = str(toolchain.tools_home())
        return {**os.environ, "PYTHONPATH": path, "CRONCE_TOOLS": tools}

    def python(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )


def previous(where: Path) -> Release:
    """The last tag before HEAD; without one, the first commit with today's indexes whose functions
    load. HEAD itself, with a warning, where the history does not reach back."""
    for name in _candidates():
        release = _unpacked(name, where)
        if release.python(LOADS).returncode == 0:
            return release
    warnings.warn("no earlier release in this history: HEAD is deployed over HEAD", stacklevel=2)
    return Release("HEAD", toolchain.checkout(), is_head=True)


def _candidates() -> list[str]:
    chosen = os.environ.get("CRONCE_UPGRADE_FROM")
    tag = chosen or _git("describe", "--tags", "--abbrev=0", "HEAD^")
    if tag:
        return [tag]
    if _git("rev-parse", "--is-shallow-repository") != "false":
        return []
    changed = _git("log", "-1", "--format=%H", "--", LAYOUT)
    later = _git("rev-list", "--reverse", f"{changed}..HEAD^").split() if changed else []
    return [changed, *later][:MOST_TRIED] if changed else []


def _unpacked(name: str, where: Path) -> Release:
    folder = where / name.replace("/", "-")
    folder.mkdir(parents=True)
    archive = folder.with_name(f"{folder.name}.tar")
    command = ["git", "archive", "--output", str(archive), name]
    subprocess.run(command, cwd=toolchain.checkout(), check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    for shared in ("node_modules", "build"):
        shutil.rmtree(folder / shared, ignore_errors=True)
        (folder / shared).symlink_to(toolchain.checkout() / shared)
    return Release(name, folder)


def _git(*arguments: str) -> str:
    """Its answer, or nothing."""
    done = subprocess.run(
        ["git", *arguments], cwd=toolchain.checkout(), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""
