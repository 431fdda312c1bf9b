"""A deployment on an emulator of its own, once per test session.

Fixtures: ``deployment`` (the ``Emulator``), ``aws`` (a boto3 client by service name), ``client``
(cronce's own client of the deployed API), ``hooks`` (the server that jobs call).
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cronce.cli import emulator, toolchain
from cronce.cli.emulator import Emulator
from cronce.client import Client
from support import hooks as hook_server
from support.hooks import Hooks

T = TypeVar("T")


@contextmanager
def deployed(home: Path, **choices: Any) -> Iterator[Emulator]:
    """An emulator in ``home`` with a deployment that may call loopback; both end with the block.

    Its log is kept under ``build/``, for the case that something fails.
    """
    given = {
        "allowed_targets": ["http://127.0.0.1:*"],
        "allowed_addresses": ["127.0.0.0/8"],
        "secrets": ["arn:aws:secretsmanager:us-east-1:000000000000:secret:*"],
        "event_bus": "own",
    } | choices
    try:
        yield emulator.up(home=home, **given)
    finally:
        emulator.down(home=home)
        log = home / "emulator.log"
        if log.is_file():
            kept = toolchain.checkout() / "build" / "e2e-emulator.log"
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(log, kept)
        emulator.down(home=home, reset=True)


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with deployed(tmp_path_factory.mktemp("cronce")) as running:
        yield running


@pytest.fixture(scope="session")
def aws(deployment: Emulator) -> Callable[[str], Any]:
    session = deployment.session()
    return lambda service: session.client(service, endpoint_url=deployment.endpoint)


@pytest.fixture(scope="session")
def client(deployment: Emulator) -> Client:
    return Client.of_session(deployment.api_url, deployment.session())


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    with hook_server.serving() as server:
        yield server


def eventually(look: Callable[[], T], seconds: float = 120) -> T:
    """The first answer of ``look`` that is true; AssertionError with the last one otherwise."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"still {seen!r} after {seconds:.0f} s"
        time.sleep(0.2)
    return seen
