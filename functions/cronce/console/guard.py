"""Who may speak to the console: only a browser that was given its key, from its own pages.

The console acts with its owner's credentials, so its address alone must open nothing: the first
visit carries a key and leaves it as a cookie. `Host` is checked against names that point somewhere
else, `Origin` and a token in each form against pages of others.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: browsers would then send no origin with a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CLOSED = "Open the address that 'cronce console' printed: it carries the key to this page.\n"
NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Keys:
    """key: opens the console. token: stands in every form. Both random, for one process."""

    port: int
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        """Browsers keep cookies by name of the host, whatever the port."""
        return f"cronce-console-{self.port}"

    @property
    def address(self) -> str:
        """What opens the console."""
        return f"http://{NAMES[0]}:{self.port}/?key={self.key}"

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def opens(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.key.encode())


class Guard:
    """Middleware: what it refuses never reaches a page."""

    def __init__(self, app: App, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer = self._answer(request)

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await (answer or self._app)(scope, receive, guarded)

    def _answer(self, request: Request) -> Response | None:
        """A refusal, or the cookie; None lets the request through."""
        if not self._is_here(request.headers.get("host", "")):
            return PlainTextResponse("This is not the console's name.\n", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("GET and POST only.\n", 405)
        given = parse_qs(request.url.query).get("key")
        if request.url.path == "/" and given:
            return self._opened(given[-1])
        if not self._keys.opens(request.cookies.get(self._keys.cookie)):
            return PlainTextResponse(CLOSED, 403)
        if request.method == "POST" and not self._is_own(request):
            return PlainTextResponse("Only this console's own pages may do that.\n", 403)
        return None

    def _opened(self, given: str) -> Response:
        if not self._keys.opens(given):
            return PlainTextResponse(CLOSED, 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._keys.cookie, given, httponly=True, samesite="strict", path="/")
        return answer

    def _is_here(self, host: str) -> bool:
        return host in {f"{name}:{self._keys.port}" for name in NAMES}

    def _is_own(self, request: Request) -> bool:
        """Browsers name the page that sends a form; one that does not is refused."""
        source = request.headers.get("origin") or request.headers.get("referer") or ""
        own = f"http://{request.headers['host']}"
        same = source == own or source.startswith(f"{own}/")
        return same and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
