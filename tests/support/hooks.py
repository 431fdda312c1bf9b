"""A small server on loopback that jobs call, which keeps what it was asked and when.

The path says how it answers: ``/ok``, ``/status/503``, ``/fail-until/3`` (503 before that
attempt), ``/slow/5`` (after so many seconds), ``/slow-first/5`` (only the first attempt waits).
Anything behind that is the caller's.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Hit:
    """One call. at: epoch seconds when it came in; headers have lower-case names."""

    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def job(self) -> str:
        return self.headers.get("cronce-job", "")

    @property
    def run(self) -> str:
        return self.headers.get("cronce-run", "")

    @property
    def attempt(self) -> int:
        return int(self.headers.get("cronce-attempt", "0"))


@dataclass
class Hooks:
    """The server's address and what it was asked; ``hits`` only grows."""

    url: str
    hits: list[Hit] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def of(self, job: str) -> list[Hit]:
        return [hit for hit in list(self.hits) if hit.job == job]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # many jobs call in the same second

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed hangs up; that is what some tests are about."""


def _handler(hooks: Hooks) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            hit = Hit(time.time(), self.command, self.path, headers, body)
            hooks.hits.append(hit)
            status = self.status_for(hit)
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

        def status_for(self, hit: Hit) -> int:
            _, kind, value, *_ = (*hit.path.split("/"), "")
            if kind == "status":
                return int(value)
            if kind == "fail-until" and hit.attempt < int(value):
                return 503
            if kind == "slow" or (kind == "slow-first" and hit.attempt == 1):
                hooks.closing.wait(float(value))
            return 200

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def serving() -> Iterator[Hooks]:
    """A server on a free port for as long as the block."""
    hooks = Hooks("")
    server = _Server(("127.0.0.1", 0), _handler(hooks))
    hooks.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hooks
    finally:
        hooks.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
