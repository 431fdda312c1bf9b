"""The demo's target: a small HTTP server on loopback that records every call that it receives."""

from __future__ import annotations

import queue
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOLD_SECONDS = 25.0
SLOW_SECONDS = 1.5


@dataclass
class Call:
    """at: when the connection was accepted, seconds since 1970. attempt: 0 if none was named.

    answered: the status that was sent; None while it is held, and if the caller went away.
    """

    at: float
    job: str
    run: str
    scheduled_for: str
    attempt: int
    client_port: int
    answered: int | None = None


class TargetServer:
    """``/ok``, ``/slow``, ``/fails-twice`` and ``/held`` answer as they are called.

    held: the first attempts of ``/held``, each put in when it was received; it is answered only
    when its caller has gone or ``HOLD_SECONDS`` have passed.
    """

    def __init__(self) -> None:
        self.held: queue.Queue[Call] = queue.Queue()
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.target = self

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def calls(self) -> list[Call]:
        """All so far, in the order of their arrival."""
        with self._lock:
            return list(self._calls)

    @contextmanager
    def running(self) -> Iterator[TargetServer]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._closing.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def answer(self, path: str, call: Call, connection: Any) -> int | None:
        """The status to send, or None when nobody is there to receive it."""
        with self._lock:
            self._calls.append(call)
        if path.startswith("/fails-twice") and call.attempt <= 2:
            return 503
        if path.startswith("/slow"):
            self._closing.wait(SLOW_SECONDS)
        if path.startswith("/held") and call.attempt == 1:
            self.held.put(call)
            return None if self._caller_leaves(connection) else 200
        return 200

    def _caller_leaves(self, connection: Any) -> bool:
        deadline = time.monotonic() + HOLD_SECONDS
        while time.monotonic() < deadline and not self._closing.is_set():
            readable, _, _ = select.select([connection], [], [], 0.1)
            if readable:
                return True  # the request was read whole: what comes now is the end
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # many jobs call in the same second
    target: TargetServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed is the point of the demo, not an error."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 60

    def setup(self) -> None:
        self.accepted_at = time.time()
        super().setup()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        attempt = self.headers.get("Cronce-Attempt") or ""
        call = Call(
            at=self.accepted_at,
            job=self.headers.get("Cronce-Job") or "",
            run=self.headers.get("Cronce-Run") or "",
            scheduled_for=self.headers.get("Cronce-Scheduled-For") or "",
            attempt=int(attempt) if attempt.isdecimal() else 0,
            client_port=self.client_address[1],
        )
        status = self.server.target.answer(self.path, call, self.connection)
        self.close_connection = True
        if status is None:
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        call.answered = status

    do_GET = do_PUT = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """The demo shows calls itself."""
