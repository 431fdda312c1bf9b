"""The http target against servers that answer what no server should."""

from __future__ import annotations

import base64
import html
import json
import socket
import tracemalloc
from urllib.parse import quote

import pytest

from cronce.targets.connection import MOST_RECEIVED
from cronce.targets.http_rules import MOST_HEADER_BYTES
from support.target_calls import FakeSecrets, call_of, http_target

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf"
TOKEN = 's3/cr+t"&<t%ken>='
CHUNKED = b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n"


def replying(reply: bytes, more: bytes = b""):
    """more: again and again until nobody listens."""

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(reply)
        while more:
            connection.sendall(more)

    return script


def called(server, *, token=None, timeout=30.0):
    config = {"url": server.url}
    if token:
        config["auth"] = {"bearer": {"secret": SECRET}}
    target = http_target(FakeSecrets({SECRET: token or ""}))
    return target.execute(call_of({"http": config}, timeout=timeout))


ENDLESS = {
    "a chunk of size -1": (CHUNKED % 200 + b"-1\r\n", b"x" * 65536),
    "trailers": (CHUNKED % 200 + b"2\r\nok\r\n0\r\n", b"a: b\r\n" * 10_000),
}


@pytest.mark.parametrize(("reply", "more"), ENDLESS.values(), ids=ENDLESS.keys())
def test_an_answer_without_end_costs_bounded_memory(serve_raw, reply, more):
    tracemalloc.start()
    try:
        answer = called(serve_raw(replying(reply, more)), timeout=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (answer.ok, answer.permanent) == (False, False)
    assert peak < 4 * MOST_RECEIVED + MOST_HEADER_BYTES


@pytest.mark.parametrize("size", [b"-1", b"-5", b"zz", b"", b"5;" + b"a" * 70_000])
def test_a_body_that_is_none_never_changes_a_failure(serve_raw, size):
    body = size + b"\r\nhello"
    success = called(serve_raw(replying(CHUNKED % 200 + body, b"x" * 65536)))
    assert (success.ok, success.permanent, success.code) == (False, False, "connection")
    failure = called(serve_raw(replying(CHUNKED % 404 + body, b"x" * 65536)))
    assert (failure.ok, failure.permanent, failure.code) == (False, True, "http_404")


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_interim_answers_are_passed_over(serve_raw, status):
    interim = b"HTTP/1.1 %d X\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n" % status
    last = b"HTTP/1.1 201 Made\r\nContent-Length: 2\r\n\r\nok"
    answer = called(serve_raw(replying(interim * 3 + last)))
    assert (answer.ok, answer.code, answer.result) == (True, "http_201", "ok")


def test_a_protocol_that_nobody_asked_for_is_a_failure(serve_raw):
    reply = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    answer = called(serve_raw(replying(reply)))
    assert (answer.ok, answer.permanent, answer.code) == (False, True, "http_101")


ECHOES = {
    "as it is": TOKEN,
    "in a URL": quote(TOKEN, safe=""),
    "in a path": quote(TOKEN),
    "in JSON": json.dumps(TOKEN),
    "in JSON, slashes escaped": json.dumps(TOKEN).replace("/", "\\/"),
    "in HTML": html.escape(TOKEN),
    **{
        f"in base64 behind {before}": base64.b64encode(
            b"Bearer "[:before] + TOKEN.encode()
        ).decode()
        for before in range(3)
    },
    "in base64 for URLs": base64.urlsafe_b64encode(TOKEN.encode() + b"??>>").decode(),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
@pytest.mark.parametrize("status", [200, 500])
def test_a_secret_is_not_kept_in_any_common_spelling(serve, echo, status):
    text = f"you said {echo}!"
    answer = called(serve(lambda seen: (status, {}, text.encode())), token=TOKEN)
    shown = answer.result or answer.detail
    assert shown.startswith("you said ")
    assert "***" in shown
    # What is left is too little to tell anything by: the ends of base64, quotes of JSON.
    left = shown.removeprefix("you said ").replace("***", "").removesuffix("!")
    assert len(left) <= 8
