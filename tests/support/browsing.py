"""The console as a real server on loopback, and a client that speaks to it as a browser would."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any
from urllib.parse import urlencode

from cronce.console.guard import Keys
from cronce.console.present import Times
from cronce.console.serve import listening, server_for
from cronce.console.site import Site


@contextmanager
def serving(client: Any, name: str = "night") -> Iterator[Site]:
    """On a free port, until the block ends."""
    with listening(0) as sock:
        clock = {"clock": client.instant} if hasattr(type(client), "instant") else {}
        site = Site(client, Keys(sock.getsockname()[1]), name, Times(UTC), **clock)
        server = server_for(site)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield site
        finally:
            server.should_exit = True
            thread.join()


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Browser:
    """cookies: sent with each request, and kept from the answers."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, urlencode(fields).encode(), form | headers)

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Names of headers with `_` for `-`. Redirects are not followed."""
        given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{n}={v}" for n, v in self.cookies.items())
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            wire.request(method, path, body or None, given)
            got = wire.getresponse()
            text = got.read().decode()
        finally:
            wire.close()
        found = {name.lower(): value for name, value in got.getheaders()}
        if cookie := found.get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(got.status, found, text)
