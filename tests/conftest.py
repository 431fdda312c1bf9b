"""For every test."""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Who is told to end ends what it started: fixtures are torn down as after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
