"""The fault-injecting proxy microburst, in an environment of its own, in front of an engine."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cronce.cli import toolchain

Rule = dict[str, Any]


class Proxy:
    """endpoint: what a client is given instead of the engine's."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    @contextmanager
    def breaking(self, *rules: Rule) -> Iterator[None]:
        """These rules, and none afterwards."""
        self._control("rules", list(rules))
        try:
            yield
        finally:
            self._control("rules", [])

    def fired(self) -> int:
        """How many calls were broken since the proxy began."""
        return len(self._control("fired"))

    def _control(self, path: str, body: Sequence[Rule] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.endpoint}/_microburst/{path}",
            data=data,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


@contextmanager
def in_front_of(upstream: str) -> Iterator[Proxy]:
    """Started on a free port, ended with the block."""
    python = toolchain.environment_of("faults")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                str(python.parent / "microburst"),
                *("--upstream", upstream, "--host", "127.0.0.1", "--port", str(port)),
            ],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": folder},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        proxy = Proxy(f"http://127.0.0.1:{port}")
        try:
            _await(proxy, process, Path(folder) / "log")
            yield proxy
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _await(proxy: Proxy, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            urllib.request.urlopen(f"{proxy.endpoint}/_microburst/health", timeout=5).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"microburst did not start:\n{log.read_text(errors='replace')[-2000:]}")


# What may happen to a call, once.
def answer_lost(operation: str, times: int = 1) -> Rule:
    """The engine applies it; the connection is cut before a byte of the answer."""
    return _rule(operation, times, response={"abort_bytes": 0})


def request_lost(operation: str, times: int = 1) -> Rule:
    return _rule(operation, times, reset=True)


def refused(operation: str, code: str, status: int = 400, times: int = 1, **fields: Any) -> Rule:
    return _rule(operation, times, error={"code": code, "status": status, "fields": fields})


def _rule(operation: str, times: int, **effect: Any) -> Rule:
    return {"service": "dynamodb", "operation": operation, "times": times, **effect}
