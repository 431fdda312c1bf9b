"""Killing the one process that made a call: the worker whose connection the server still holds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_ESTABLISHED = "01"


class NotFound(Exception):
    """The caller's process was not found, or is none of the emulator's."""


def kill_caller(client_port: int, server_port: int, group: int) -> int:
    """SIGKILL to the caller; its pid. A process outside the group, and its leader, are never
    killed."""
    pid = find_caller(client_port, server_port, group)
    os.kill(pid, signal.SIGKILL)
    return pid


def find_caller(client_port: int, server_port: int, group: int) -> int:
    """The process at the client's end of a loopback connection. Raises NotFound.

    group: the emulator's process group; its leader is never found.
    """
    pids = [pid for pid in _holders(client_port, server_port) if _is_of_group(pid, group)]
    if len(pids) != 1:
        raise NotFound(f"{len(pids)} processes of the emulator hold port {client_port}")
    return pids[0]


def _is_of_group(pid: int, group: int) -> bool:
    with suppress(ProcessLookupError):
        return pid != group and os.getpgid(pid) == group
    return False


def _holders(client_port: int, server_port: int) -> list[int]:
    if (_PROC / "net" / "tcp").is_file():
        return list(_by_proc(client_port, server_port))
    if shutil.which("lsof"):
        return list(_by_lsof(client_port, server_port))
    raise NotFound("neither /proc nor lsof is here to find the caller's process with")


def _by_proc(client_port: int, server_port: int) -> Iterator[int]:
    wanted = {f"socket:[{inode}]" for inode in _inodes(client_port, server_port)}
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and not wanted.isdisjoint(_open_files(folder / "fd")):
            yield int(folder.name)


def _inodes(client_port: int, server_port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                field = line.split()
                ports = [int(field[n].rpartition(":")[2], 16) for n in (1, 2)]
                if ports == [client_port, server_port] and field[3] == _ESTABLISHED:
                    yield field[9]


def _open_files(folder: Path) -> set[str]:
    found = set()
    with suppress(OSError):
        for link in folder.iterdir():
            with suppress(OSError):
                found.add(os.readlink(link))
    return found


def _by_lsof(client_port: int, server_port: int) -> Iterator[int]:
    pair = f"127.0.0.1:{client_port}->127.0.0.1:{server_port}"
    listed = subprocess.run(
        ["lsof", "-nP", f"-iTCP:{client_port}", "-sTCP:ESTABLISHED", "-Fpn"],
        capture_output=True,
        text=True,
        check=False,
    )
    pid = 0
    for line in listed.stdout.splitlines():
        if line.startswith("p"):
            pid = int(line[1:])
        elif line == f"n{pair}":
            yield pid
