"""The `http` target: one request per attempt, under one deadline, to a checked address."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cronce import __version__
from cronce.domain.urls import Url, parse_url
from cronce.targets import http_rules
from cronce.targets.connection import (
    AddressRefused,
    Checked,
    Deadline,
    DeadlineSocket,
    connect,
    within,
)
from cronce.targets.contract import (
    RETRY_AFTER_LIMIT,
    Answer,
    Call,
    body,
    headers,
    is_retried,
    refused,
    retried,
    succeeded,
    timed_out,
)
from cronce.targets.echo import masked
from cronce.targets.kinds import Config, Kind, SecretUnavailable, Tools

READ_BYTES = 65536

_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


@dataclass(frozen=True)
class _Reply:
    """complete: the body came to its end, or to the most that is read of it."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    complete: bool


class _BadSecret(Exception):
    """A secret that cannot stand in a header."""


class _Final(http.client.HTTPResponse):
    """Passes over interim answers (102, 103), of which http.client knows only 100."""

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status <= 199 and self.status != http.HTTPStatus.SWITCHING_PROTOCOLS:
            # It begins only once, which it knows by the headers.
            self.headers = None  # type: ignore[assignment]
            super().begin()


class HttpTarget:
    """Which failures are retried is the contract's; a certificate that does not verify is too,
    because certificates are renewed. A redirect is an answer like any other, and permanent."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._tls = tools.tls or ssl.create_default_context()
        self._checked = Checked(tools.resolve, tools.allowed_addresses, tools.runtime_api)

    def execute(self, call: Call) -> Answer:
        config: Config = call.target["http"]
        url = parse_url(config["url"])
        try:
            return self._attempt(call, config, url)
        except TimeoutError:
            return timed_out(f"{url.host} did not answer within the attempt's time")
        except AddressRefused as e:
            return refused("address_refused", str(e))
        except SecretUnavailable as e:
            return (refused if e.permanent else retried)("secret_unavailable", str(e))
        except _BadSecret as e:
            return refused("bad_secret", str(e))
        except ssl.SSLCertVerificationError as e:
            return retried("tls_verify", f"{url.host}: {e.verify_message}")
        except ssl.SSLError as e:
            return retried("tls", f"{url.host}: {e.reason or 'TLS failed'}")
        except socket.gaierror as e:
            return retried("dns", f"{url.host}: {e.strerror or 'no address'}")
        except OSError as e:
            return retried("connection", f"{url.host}: {e.strerror or type(e).__name__}")
        except http.client.HTTPException as e:
            return retried("bad_answer", f"{url.host}: {type(e).__name__}")

    def _attempt(self, call: Call, config: Config, url: Url) -> Answer:
        deadline = Deadline(call.timeout, self._tools.monotonic)
        token = self._token(config, deadline)
        addresses = self._checked.addresses(url, deadline)
        with connect(url, addresses, deadline, self._tls) as sock:
            reply = _exchange(sock, deadline, url, *_request(call, config, url, token))
        if reply.status == 401 and token:
            self._tools.secrets.forget(http_rules.secret_of(config) or "")
        return self._judge(url, reply, token)

    def _token(self, config: Config, deadline: Deadline) -> str:
        arn = http_rules.secret_of(config)
        if arn is None:
            return ""
        token = within(deadline, lambda: self._tools.secrets.get(arn)).strip()
        if not _TOKEN.fullmatch(token):
            raise _BadSecret(f"the secret {arn} is no bearer token: 1 to 4096 visible ASCII")
        return token

    def _judge(self, url: Url, reply: _Reply, token: str) -> Answer:
        code = f"http_{reply.status}"
        text = masked(reply.body, token) if token else reply.body
        if 200 <= reply.status <= 299:
            if reply.complete:
                return succeeded(code, text)
            return retried("connection", f"{url.host} answered {reply.status} and broke off")
        if is_retried(reply.status):
            return retried(code, text, retry_after(reply.headers, self._tools.now()))
        if 300 <= reply.status <= 399:
            return refused(code, f"{url.host} answered with a redirect, which is not followed")
        return refused(code, text)


def _request(
    call: Call, config: Config, url: Url, token: str
) -> tuple[str, dict[str, str], bytes | None]:
    """Method, headers and body. The job's own headers replace only the defaults."""
    method = config.get("method", "POST")
    json_body = call.payload is None or call.payload_is_json
    sent = {
        "User-Agent": f"cronce/{__version__}",
        "Accept": "*/*",
        "Content-Type": "application/json" if json_body else "text/plain; charset=utf-8",
    }
    if bodyless := method in http_rules.BODYLESS:
        del sent["Content-Type"]
    own = config.get("headers", {})
    replaced = {name.lower() for name in own}
    sent = {k: v for k, v in sent.items() if k.lower() not in replaced} | dict(own)
    sent |= headers(call)
    sent |= {"Host": url.authority, "Accept-Encoding": "identity", "Connection": "close"}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    return method, sent, None if bodyless else body(call).encode()


def _exchange(
    sock: socket.socket,
    deadline: Deadline,
    url: Url,
    method: str,
    sent: dict[str, str],
    content: bytes | None,
) -> _Reply:
    """Raises OSError, TimeoutError or HTTPException while there is no status, or no end of a
    success; once a failure's status is known, what follows cannot change it."""
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.response_class = _Final
    connection.sock = DeadlineSocket(sock, deadline)
    with suppress(BrokenPipeError):
        connection.request(method, url.path + url.query, content, sent)
    response = connection.getresponse()
    with response:
        read, complete = b"", True
        try:
            read = response.read(READ_BYTES)
            complete = len(read) == READ_BYTES or not response.length
        except http.client.IncompleteRead as e:
            read, complete = e.partial, False
        except (http.client.HTTPException, ValueError):
            # ValueError: http.client reads on after a chunk of negative size.
            complete = False
        except OSError:
            if 200 <= response.status <= 299:
                raise
            complete = False
    return _Reply(response.status, response.headers, read, complete)


def retry_after(answered: http.client.HTTPMessage, now: datetime) -> int | None:
    """Seconds to wait as the header says, 0..3600. A date counts from the answer's own Date."""
    value = (answered.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        return min(int(value), RETRY_AFTER_LIMIT)
    until = _http_date(value)
    if until is None:
        return None
    since = _http_date(answered.get("Date") or "") or now
    return int(max(0, min((until - since).total_seconds(), RETRY_AFTER_LIMIT)))


def _http_date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


KIND = Kind(
    name="http",
    about="Sends one request to a URL.",
    fields=http_rules.FIELDS,
    resources=http_rules.resources,
    build=HttpTarget,
    rules=http_rules.rules,
    payload_rule=http_rules.payload_rule,
)
