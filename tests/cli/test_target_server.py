"""The demo's server records what it receives; the process behind a held call can be killed."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from cronce.cli.demo.kill import NotFound, kill_caller
from cronce.cli.demo.server import TargetServer

CALLER = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("POST", "/held", "{}", {"Cronce-Job": "j", "Cronce-Attempt": "1"})
connection.getresponse()
"""


@pytest.fixture
def server() -> Iterator[TargetServer]:
    with TargetServer().running() as running:
        yield running


def post(server: TargetServer, path: str, attempt: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {
        "Cronce-Job": "j",
        "Cronce-Run": "r",
        "Cronce-Scheduled-For": "2026-11-30T10:00:00Z",
        "Cronce-Attempt": str(attempt),
    }
    connection.request("POST", path, "{}", headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_call_is_recorded_with_its_headers(server: TargetServer) -> None:
    before = time.time()
    assert post(server, "/ok", 1) == 200
    (call,) = server.calls()
    assert before <= call.at <= time.time()
    assert (call.job, call.run, call.attempt) == ("j", "r", 1)
    assert call.scheduled_for == "2026-11-30T10:00:00Z"


def test_failing_twice(server: TargetServer) -> None:
    assert [post(server, "/fails-twice", attempt) for attempt in (1, 2, 3)] == [503, 503, 200]


def test_only_the_first_attempt_is_held(server: TargetServer) -> None:
    assert post(server, "/held", 2) == 200
    assert server.held.empty()


@pytest.fixture
def caller(server: TargetServer) -> Iterator[subprocess.Popen[bytes]]:
    """In a process group of its own, as the emulator's workers are: its leader and the caller."""
    code = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CALLER!r}, sys.argv[1]])"
    )
    leader = subprocess.Popen(
        [sys.executable, "-c", code, str(server.port)],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield leader
    finally:
        if leader.poll() is None:
            os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()


def test_the_caller_is_killed_and_nobody_else(
    server: TargetServer, caller: subprocess.Popen[bytes]
) -> None:
    call = server.held.get(timeout=30)
    killed = kill_caller(call.client_port, server.port, caller.pid)
    assert killed != caller.pid
    assert caller.wait(timeout=30) == 0  # the leader saw its child end and went on
    assert call.answered is None


def test_a_process_outside_the_group_is_never_killed(
    server: TargetServer, caller: subprocess.Popen[bytes]
) -> None:
    call = server.held.get(timeout=30)
    with pytest.raises(NotFound):
        kill_caller(call.client_port, server.port, os.getpgrp())
    assert caller.poll() is None


def test_a_connection_that_nobody_holds(server: TargetServer) -> None:
    with pytest.raises(NotFound):
        kill_caller(1, server.port, os.getpgrp())
