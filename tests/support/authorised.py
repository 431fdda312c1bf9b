"""A deployment on an emulator that enforces what the functions' roles allow."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cronce.cli import cdk, emulator, process, toolchain
from cronce.cli.emulator import Emulator

CHOICES = {
    "profile": "emulator",
    "allowed_targets": "http://127.0.0.1:*",
    "allowed_addresses": "127.0.0.0/8",
    "event_bus": "own",
}


@contextmanager
def deployed(home: Path) -> Iterator[Emulator]:
    """Deployed with the caller's own credentials: the roles of a bootstrapped account cannot write
    to its bucket when the emulator enforces them."""
    python = toolchain.environment_of("emulator")
    home.mkdir(parents=True, exist_ok=True)
    port = process.free_port()
    pid = process.spawn(
        home, python, port, emulator.ACCOUNT, emulator.REGION, settings={"AUTH": "true"}
    )
    try:
        process.await_health(home, port)
        running = Emulator(home, port, pid)
        env = {
            **running.exports(),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "CDK_HOME": str(home / "cdk"),
            "CRONCE_SYNTHESIZER": "cli",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        cdk.bootstrap(emulator.ACCOUNT, emulator.REGION, env=env)
        outputs = cdk.deploy(running.stack, CHOICES, env=env, output=home / "cdk.out")
        yield Emulator(home, port, pid, outputs=emulator.own_outputs(outputs))
    finally:
        process.stop(home, pid)
