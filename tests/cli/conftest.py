"""A server that stands where a deployment's API would, and the command run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.credentials import Credentials

from cronce.cli import connect
from cronce.client import Client

HANG_UP = "hang up"


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedApi:
    """Gives its answers in turn, the last one for ever: (status, a document, bytes or HANG_UP,
    headers)."""

    url: str = ""
    answers: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def answer(self, status: int, document: Any = None, **headers: str) -> ScriptedApi:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append((status, document, named))
        return self

    def next(self) -> tuple[int, Any, dict[str, str]]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    script = ScriptedApi()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append(Request(self.command, self.path, headers, body))
            status, document, more = script.next()
            if document == HANG_UP:
                self.connection.close()
                return
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            if document is None:
                content = b""
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer

        def finish(self) -> None:
            if not self.wfile.closed and self.connection.fileno() >= 0:
                super().finish()

        def log_message(self, *args: Any) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        script.url = f"http://127.0.0.1:{server.server_address[1]}/prod/"
        yield script
        server.shutdown()
        thread.join()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(api: ScriptedApi, waits: list[float]) -> Client:
    keys = Credentials("AKID", "SECRET", "TOKEN")
    return Client(api.url, keys, "eu-central-1", timeout=(5, 5), sleep=waits.append)


@dataclass
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cronce(tmp_path: Path) -> Callable[..., Done]:
    """Runs the command in an empty folder, without what this machine says about AWS."""

    def call(*arguments: str, stdin: str = "", **env: str) -> Done:
        clean = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "AWS_EC2_METADATA_DISABLED": "true",
            "COLUMNS": "100",
            **env,
        }
        done = subprocess.run(
            [sys.executable, "-m", "cronce.cli.main", *arguments],
            cwd=tmp_path,
            env=clean,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def deployed(api: ScriptedApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scripted API stands for the emulator of this folder, which is empty."""
    session = boto3.Session("AKID", "SECRET", region_name="eu-central-1")
    emulator = SimpleNamespace(api_url=api.url, session=lambda: session)
    monkeypatch.setattr(connect, "local_emulator", lambda choice: emulator)
    monkeypatch.setattr("cronce.client.TRIES", 1)
    monkeypatch.chdir(tmp_path)
