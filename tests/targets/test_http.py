"""The http target against real servers on loopback."""

from __future__ import annotations

import json
import socket
import ssl
import time
from typing import Any

import pytest

from support.target_calls import FakeSecrets, call_of, http_target

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf"
BEARER = {"auth": {"bearer": {"secret": SECRET}}}


def ok(seen: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"done"


def answers(status: int, body: bytes = b"", **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda seen: (status, named, body)


def http(url: str, **config: Any) -> dict[str, Any]:
    return {"http": {"url": url, **config}}


def test_a_call_carries_the_contract(serve):
    server = serve(ok)
    target = http(server.url + "/in?x=1", headers={"X-Team": "billing"})
    answer = http_target().execute(call_of(target, payload='{"n":1.10}'))

    assert (answer.ok, answer.outcome, answer.code) == (True, "succeeded", "http_200")
    assert answer.result == "done"
    (seen,) = server.calls
    assert (seen.method, seen.path, seen.body) == ("POST", "/in?x=1", b'{"n":1.10}')
    expected = {
        "host": f"127.0.0.1:{server.port}",
        "idempotency-key": "billing.invoice/20261130T013000Z-k3f9a2qd",
        "cronce-job": "billing.invoice",
        "cronce-run": "20261130T013000Z-k3f9a2qd",
        "cronce-scheduled-for": "2026-11-30T01:30:00Z",
        "cronce-attempt": "2",
        "cronce-deadline": "2026-11-30T01:31:00Z",
        "content-type": "application/json",
        "x-team": "billing",
    }
    assert expected.items() <= seen.headers.items()
    assert seen.headers["user-agent"].startswith("cronce/")


def test_without_a_payload_the_run_is_described(serve):
    server = serve(ok)
    http_target().execute(call_of(http(server.url), trigger="m-7"))
    assert json.loads(server.calls[0].body) == {
        "job_id": "billing.invoice",
        "run_id": "20261130T013000Z-k3f9a2qd",
        "scheduled_for": "2026-11-30T01:30:00Z",
        "attempt": 2,
        "deadline": "2026-11-30T01:31:00Z",
        "trigger": "m-7",
    }


def test_a_text_is_sent_byte_for_byte(serve):
    server = serve(ok)
    call = call_of(http(server.url), payload="a=ä&b=\t1 \n", payload_is_json=False)
    http_target().execute(call)
    assert server.calls[0].body == "a=ä&b=\t1 \n".encode()
    assert server.calls[0].headers["content-type"] == "text/plain; charset=utf-8"


def test_own_headers_replace_the_defaults_whatever_their_case(serve):
    server = serve(ok)
    own = {"content-TYPE": "application/x-www-form-urlencoded", "user-agent": "mine"}
    http_target().execute(call_of(http(server.url, headers=own)))
    seen = server.calls[0].headers
    assert (seen["content-type"], seen["user-agent"]) == (own["content-TYPE"], "mine")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_method_without_body_sends_none(serve, method):
    server = serve(ok)
    answer = http_target().execute(call_of(http(server.url, method=method)))
    assert answer.ok
    assert server.calls[0].body == b""
    assert "content-type" not in server.calls[0].headers


@pytest.mark.parametrize("status", [401, 407, 408, 409, 425, 429, 500, 502, 503, 504, 599])
def test_statuses_that_are_retried(serve, status):
    server = serve(answers(status, b"later"))
    answer = http_target().execute(call_of(http(server.url)))
    assert (answer.ok, answer.outcome, answer.permanent) == (False, "failed", False)
    assert (answer.code, answer.detail) == (f"http_{status}", "later")
    assert len(server.calls) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 405, 410, 413, 422, 451, 600])
def test_every_other_status_fails_at_once(serve, status):
    answer = http_target().execute(call_of(http(serve(answers(status, b"no")).url)))
    assert (answer.ok, answer.permanent, answer.code) == (False, True, f"http_{status}")
    assert answer.retry_after is None


@pytest.mark.parametrize("status", [201, 202, 204, 299])
def test_every_2xx_succeeds(serve, status):
    assert http_target().execute(call_of(http(serve(answers(status)).url))).ok


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(serve, status):
    other = serve(ok)
    server = serve(answers(status, b"", Location=other.url + "/?token=t0p"))
    answer = http_target().execute(call_of(http(server.url)))
    assert (answer.ok, answer.permanent, answer.code) == (False, True, f"http_{status}")
    assert other.calls == []
    assert "t0p" not in answer.detail


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7),
        ({"Retry_After": "0"}, 0),
        ({"Retry_After": "999999"}, 3600),
        ({"Retry_After": "-5"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "1.5"}, None),
        ({}, None),
        (
            {
                "Date": "Mon, 30 Nov 2026 03:00:00 GMT",
                "Retry_After": "Mon, 30 Nov 2026 03:00:20 GMT",
            },
            20,
        ),
        ({"Date": "yesterday", "Retry_After": "Mon, 30 Nov 2026 01:30:30 GMT"}, 30),
        ({"Date": "yesterday", "Retry_After": "Sun, 29 Nov 2026 01:30:30 GMT"}, 0),
        ({"Date": "yesterday", "Retry_After": "Mon, 30 Nov 2099 01:30:30 GMT"}, 3600),
        ({"Date": "yesterday", "Retry_After": "Mon, 99 Nov 2026 01:30:30 GMT"}, None),
    ],
)
def test_retry_after(serve_raw, headers, seconds):
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    reply = f"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n{lines}\r\n".encode()

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(reply)

    answer = http_target().execute(call_of(http(serve_raw(script).url)))
    assert (answer.code, answer.retry_after) == ("http_503", seconds)


def test_a_huge_body_is_read_in_part(serve):
    answer = http_target().execute(call_of(http(serve(answers(200, "é".encode() * 10**6)).url)))
    assert answer.ok
    assert answer.result == "é" * 256


def test_an_endless_body_ends_with_what_is_read(serve_raw):
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    answer = http_target().execute(call_of(http(serve_raw(script).url)))
    assert (answer.ok, answer.result) == (True, "x" * 512)


DRIPS = {
    "handshake of nothing": b"",
    "status line": b"H",
    "headers": b"HTTP/1.1 200 OK\r\nX-Drip: ",
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3E8\r\n",
}


@pytest.mark.parametrize("start", DRIPS.values(), ids=DRIPS.keys())
def test_a_slow_drip_does_not_exceed_the_deadline(serve_raw, start):
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(start)
        connection.settimeout(0.02)
        for _ in range(500):
            try:
                if connection.recv(1) == b"":
                    return
            except TimeoutError:
                connection.sendall(b"x")

    answer = http_target().execute(call_of(http(serve_raw(script).url), timeout=0.25))
    assert (answer.ok, answer.outcome, answer.code) == (False, "timed_out", "timeout")
    assert answer.permanent is False


def test_a_failure_whose_body_drips_is_still_that_failure(serve_raw):
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 404 Gone\r\nContent-Length: 1000\r\n\r\n")
        connection.recv(1)

    answer = http_target().execute(call_of(http(serve_raw(script).url), timeout=0.2))
    assert (answer.outcome, answer.code, answer.permanent) == ("failed", "http_404", True)


def test_a_server_that_does_not_read_is_bounded(serve_raw):
    def script(connection: socket.socket) -> None:
        for _ in range(500):
            if connection.fileno() < 0 or connection.recv(1) == b"":
                return
            time.sleep(0.01)

    call = call_of(http(serve_raw(script).url), payload="x" * 20_000_000, timeout=0.25)
    assert http_target().execute(call).outcome == "timed_out"


def test_a_deadline_that_has_passed_calls_nobody(serve):
    server = serve(ok)
    assert http_target().execute(call_of(http(server.url), timeout=0)).outcome == "timed_out"
    assert server.calls == []


BROKEN = {
    "closed at once": (b"", "connection"),
    "no http": (b"SSH-2.0-x\r\n\r\n", "bad_answer"),
    "status of letters": (b"HTTP/1.1 OK fine\r\n\r\n", "bad_answer"),
    "body cut off": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "connection"),
    "chunk cut off": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
        "connection",
    ),
    "bad chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", "connection"),
    "line without end": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, "bad_answer"),
    "too many headers": (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 200 + b"\r\n", "bad_answer"),
}


@pytest.mark.parametrize(("reply", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer_is_retried(serve_raw, reply, code):
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(reply)

    server = serve_raw(script)
    answer = http_target().execute(call_of(http(server.url)))
    assert (answer.ok, answer.outcome, answer.permanent) == (False, "failed", False)
    assert answer.code == code
    assert len(server.calls) == 1


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = http_target().execute(call_of(http(f"http://127.0.0.1:{port}/a?key=t0p")))
    assert (answer.code, answer.permanent) == ("connection", False)
    assert "t0p" not in answer.detail


def test_bearer(serve):
    server = serve(ok)
    secrets = FakeSecrets({SECRET: "s3cr3t-token\n"})
    assert http_target(secrets).execute(call_of(http(server.url, **BEARER))).ok
    assert server.calls[0].headers["authorization"] == "Bearer s3cr3t-token"
    assert secrets.forgotten == []


@pytest.mark.parametrize("status", [200, 401, 404, 500])
def test_an_echoed_secret_is_not_kept(serve, status):
    server = serve(lambda seen: (status, {}, seen.headers["authorization"].encode() + b"!"))
    secrets = FakeSecrets({SECRET: "s3cr3t-token"})
    answer = http_target(secrets).execute(call_of(http(server.url, **BEARER)))
    assert (answer.result or answer.detail) == "Bearer ***!"
    assert secrets.forgotten == ([SECRET] if status == 401 else [])


@pytest.mark.parametrize("value", ["", "two words", "line\r\nX-Evil: 1", "ümlaut", "x" * 5000])
def test_a_secret_that_is_no_token_is_not_sent(serve, value):
    server = serve(ok)
    answer = http_target(FakeSecrets({SECRET: value})).execute(call_of(http(server.url, **BEARER)))
    assert (answer.code, answer.permanent, server.calls) == ("bad_secret", True, [])
    assert not value or value not in answer.detail


def test_a_missing_secret_calls_nobody(serve):
    server = serve(ok)
    answer = http_target().execute(call_of(http(server.url, **BEARER)))
    assert (answer.code, answer.permanent) == ("secret_unavailable", True)
    assert server.calls == []


def to_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def test_tls_is_verified_against_the_name_at_the_checked_address(serve, authority):
    server = serve(ok, authority.server("hooks.test"))
    target = http_target(resolve=to_loopback, tls=authority.trusting())
    answer = target.execute(call_of(http(server.named("hooks.test") + "/in")))
    assert answer.ok, answer
    assert server.calls[0].headers["host"] == f"hooks.test:{server.port}"


def test_tls_of_an_address(serve, authority):
    server = serve(ok, authority.server("127.0.0.1"))
    answer = http_target(tls=authority.trusting()).execute(call_of(http(server.url)))
    assert answer.ok, answer


@pytest.mark.parametrize("host", ["other.test", "hooks.test.evil.test", "127.0.0.1"])
def test_a_certificate_for_another_name(serve, authority, host):
    server = serve(ok, authority.server("hooks.test"))
    target = http_target(resolve=to_loopback, tls=authority.trusting())
    answer = target.execute(call_of(http(server.named(host))))
    assert (answer.code, answer.permanent, server.calls) == ("tls_verify", False, [])


def test_a_certificate_of_an_unknown_authority(serve, authority):
    server = serve(ok, authority.server("hooks.test"))
    target = http_target(resolve=to_loopback, tls=ssl.create_default_context())
    answer = target.execute(call_of(http(server.named("hooks.test"))))
    assert (answer.code, server.calls) == ("tls_verify", [])


def test_a_tls_handshake_that_never_ends_is_bounded(serve_raw, authority):
    server = serve_raw(lambda connection: connection.recv(10**6) and connection.recv(1))
    target = http_target(tls=authority.trusting())
    url = server.url.replace("http:", "https:")
    assert target.execute(call_of(http(url), timeout=0.2)).outcome == "timed_out"


def test_what_speaks_no_tls(serve, authority):
    url = serve(ok).url.replace("http:", "https:")
    answer = http_target(tls=authority.trusting()).execute(call_of(http(url)))
    assert (answer.code, answer.permanent) == ("tls", False)
