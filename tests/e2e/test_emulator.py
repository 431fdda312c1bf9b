"""The emulator's life: it keeps its state and its port, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronce.cli import emulator, toolchain
from cronce.cli.emulator import Emulator
from support.emulator import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    emulator.down(home=tmp_path / "home", reset=True)


def group_is_gone(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    return False


def put_item(running: Emulator) -> None:
    dynamodb = running.session().client("dynamodb", endpoint_url=running.endpoint)
    dynamodb.create_table(
        TableName="kept",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.put_item(TableName="kept", Item={"pk": {"S": "kept"}})


def items(running: Emulator) -> list[str]:
    dynamodb = running.session().client("dynamodb", endpoint_url=running.endpoint)
    if "kept" not in dynamodb.list_tables()["TableNames"]:
        return []
    return [item["pk"]["S"] for item in dynamodb.scan(TableName="kept")["Items"]]


def test_state_and_port_survive_a_stop_and_a_reset_forgets_them(home: Path) -> None:
    first = emulator.start(home=home)
    put_item(first)
    assert emulator.down(home=home) is True
    assert emulator.status(home) is None
    assert group_is_gone(first.pid)
    second = emulator.start(home=home)
    assert second.port == first.port
    assert second.pid != first.pid
    assert items(second) == ["kept"]
    emulator.down(home=home, reset=True)
    assert items(emulator.start(home=home)) == []


def test_it_is_started_once(home: Path) -> None:
    first = emulator.start(home=home)
    assert emulator.start(home=home) == first
    assert emulator.status(home) == first


def test_stopping_what_does_not_run_does_nothing(home: Path) -> None:
    assert emulator.down(home=home) is False
    assert not home.exists()


def test_a_killed_emulator_is_not_taken_for_a_running_one(home: Path) -> None:
    first = emulator.start(home=home)
    os.killpg(first.pid, signal.SIGKILL)
    eventually(lambda: emulator.status(home) is None, 10)
    assert emulator.start(home=home).pid != first.pid


def test_what_a_killed_emulator_forgot_is_deployed_again(home: Path) -> None:
    first = emulator.up(home=home)
    os.killpg(first.pid, signal.SIGKILL)
    eventually(lambda: emulator.status(home) is None, 10)
    second = emulator.up(home=home)
    dynamodb = second.session().client("dynamodb", endpoint_url=second.endpoint)
    assert dynamodb.list_tables()["TableNames"] == [second.outputs["TableName"]]


def test_a_taken_port_is_given_up(home: Path) -> None:
    first = emulator.start(home=home)
    emulator.down(home=home)
    with socket.create_server(("127.0.0.1", first.port)):
        second = emulator.start(home=home)
        assert second.port != first.port


def test_it_listens_on_loopback_only(home: Path) -> None:
    running = emulator.start(home=home)
    listed = subprocess.run(
        [sys.executable, "-c", LISTENING, str(running.pid)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(listed.stdout.split()) <= {"127.0.0.1"}


LISTENING = """
import os, sys
sockets = set()
for fd in os.scandir(f"/proc/{sys.argv[1]}/fd") if os.path.isdir("/proc") else ():
    sockets.add(os.readlink(fd.path))
for line in open("/proc/net/tcp").readlines()[1:] if os.path.isdir("/proc") else ():
    cells = line.split()
    if cells[3] == "0A" and f"socket:[{cells[9]}]" in sockets:
        print(".".join(str(b) for b in bytes.fromhex(cells[1].split(":")[0])[::-1]))
"""


def test_an_interrupted_up_stops_what_it_started(home: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "from cronce.cli import emulator; emulator.up()"],
        env={**os.environ, "CRONCE_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    with child.stderr:
        for line in child.stderr:
            if "bootstrapping" in line:
                break
        running = emulator.status(home)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
    assert child.wait() != 0
    assert "stopping the emulator" in said
    assert running is not None
    assert emulator.status(home) is None
    eventually(lambda: group_is_gone(running.pid), 10)


def test_deploying_without_an_emulator_says_what_to_do(home: Path) -> None:
    with pytest.raises(toolchain.ToolError, match="cronce up"):
        emulator.deploy(home=home)
