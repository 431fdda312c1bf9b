"""A proxy on loopback between a deployment's functions and its engine.

It keeps every call with its answer, and can hold calls back, drop them, refuse them or carry them
out twice. What ended a run is read off the writes that the engine accepted, so that a second
ending is seen even where the row cannot show it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

ENDED = frozenset({"succeeded", "failed", "skipped", "cancelled", "missed"})
REFUSED = 400
_HOP = frozenset({"connection", "transfer-encoding", "content-length", "host", "expect"})
_LONGEST_HOLD = 300.0

Document = dict[str, Any]


@dataclass
class Call:
    """at: epoch seconds when it came in. status: of the engine's answer; 0 before, and if none."""

    at: float
    operation: str
    body: Document
    client_port: int
    status: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """pk and sk of the row that an UpdateItem is for."""
        key = self.body.get("Key", {})
        return key.get("pk", {}).get("S", ""), key.get("sk", {}).get("S", "")

    @property
    def new_status(self) -> str:
        """What an UpdateItem would make of a row."""
        value: str = self.body.get("ExpressionAttributeValues", {}).get(":new_status", {}).get("S")
        return value or ""


Matches = Callable[[Call], bool]
Doubled = Callable[[Call], Document | None]


def is_advance(call: Call) -> bool:
    return call.operation == "UpdateItem" and call.key[1] == "JOB"


def is_ending(call: Call) -> bool:
    """A write after which a run has ended."""
    return (
        call.operation == "UpdateItem"
        and call.key[1].startswith("RUN#")
        and call.new_status in ENDED
    )


@dataclass
class Held:
    """Calls that wait. The first ones only, once ``catching`` is False."""

    matches: Matches
    calls: list[Call] = field(default_factory=list)
    catching: bool = True
    came: threading.Event = field(default_factory=threading.Event)
    _decided: threading.Event = field(default_factory=threading.Event)
    _drop: bool = False

    def first(self, seconds: float = 60) -> Call:
        assert self.came.wait(seconds), f"no call to hold in {seconds:.0f} s"
        return self.calls[0]

    def release(self) -> None:
        self.catching = False
        self._decided.set()

    def drop(self) -> None:
        self._drop = True
        self.release()

    def keeps(self, call: Call) -> bool:
        """Waits for the decision; whether the call is to be carried out."""
        self.calls.append(call)
        self.came.set()
        self._decided.wait(_LONGEST_HOLD)
        return not self._drop


class Proxy:
    def __init__(self, upstream: str) -> None:
        self.upstream = str(urlsplit(upstream).netloc)
        self.calls: list[Call] = []
        self._held: list[Held] = []
        self._refused: list[str] = []
        self._doubled: list[Doubled] = []
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.proxy = self

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    @contextmanager
    def holding(self, matches: Matches) -> Iterator[Held]:
        """Dropped at the end of the block, unless they were released."""
        held = Held(matches)
        self._held.append(held)
        try:
            yield held
        finally:
            self._held.remove(held)
            if not held._decided.is_set():
                held.drop()

    @contextmanager
    def refusing(self, operation: str) -> Iterator[None]:
        """AccessDenied: an answer that no SDK tries again."""
        self._refused.append(operation)
        try:
            yield
        finally:
            self._refused.remove(operation)

    @contextmanager
    def doubling(self, second: Doubled) -> Iterator[None]:
        """second: for a call that was carried out, the body of one more, or None."""
        self._doubled.append(second)
        try:
            yield
        finally:
            self._doubled.remove(second)

    def endings(self, since: float) -> list[tuple[str, str]]:
        """Keys of the rows that a write was accepted to end."""
        return [
            c.key for c in list(self.calls) if c.at >= since and c.status == 200 and is_ending(c)
        ]

    def refused_claims(self, since: float) -> int:
        """Claims of runs that somebody had claimed before."""
        return sum(
            call.new_status == "running" and call.status == 400
            for call in list(self.calls)
            if call.at >= since and call.operation == "UpdateItem"
        )

    def messages(self, since: float) -> int:
        """How many messages the queue has taken, copies of this proxy not counted."""
        sends = [c for c in list(self.calls) if c.operation == "SendMessageBatch"]
        return sum(len(c.body["Entries"]) for c in sends if c.at >= since and c.status == 200)

    def carried_out(self, call: Call, forward: Callable[[Document], int]) -> None:
        """The call's life; forward: sends a body to the engine, and the caller its first answer."""
        self.calls.append(call)
        for held in list(self._held):
            if held.catching and held.matches(call) and not held.keeps(call):
                raise ConnectionAbortedError
        if call.operation in self._refused:
            raise PermissionError
        call.status = forward(call.body)

    def second_of(self, call: Call) -> Iterator[Document]:
        for second in list(self._doubled):
            body = second(call) if call.status == 200 else None
            if body is not None:
                yield body


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    proxy: Proxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed hangs up."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.engine = HTTPConnection(self.server.proxy.upstream, timeout=60)

    def finish(self) -> None:
        self.engine.close()
        with suppress(OSError):
            super().finish()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        operation = (self.headers.get("X-Amz-Target") or "").rpartition(".")[2]
        body = json.loads(raw) if operation else {}
        call = Call(time.time(), operation, body, self.client_address[1])
        answer: tuple[int, bytes, str] = (502, b"", "")

        def forward(body: Document) -> int:
            nonlocal answer
            answer = self._asked(raw if body is call.body else json.dumps(body).encode())
            return answer[0]

        try:
            self.server.proxy.carried_out(call, forward)
        except ConnectionAbortedError:
            self.close_connection = True
            return
        except PermissionError:
            refusal = {"__type": "AccessDeniedException", "message": "refused by the test"}
            answer = (REFUSED, json.dumps(refusal).encode(), "application/x-amz-json-1.0")
        for second in self.server.proxy.second_of(call):
            self._asked(json.dumps(second).encode())
        self._answer(*answer)

    def _asked(self, body: bytes) -> tuple[int, bytes, str]:
        headers = {n: v for n, v in self.headers.items() if n.lower() not in _HOP}
        self.engine.request("POST", self.path, body=body, headers=headers)
        response = self.engine.getresponse()
        return response.status, response.read(), response.headers.get("Content-Type", "")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass
