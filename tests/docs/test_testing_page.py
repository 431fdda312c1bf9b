"""docs/testing.md is true: its example passes, and what it names is there."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from cronce.targets import contract
from cronce.targets.contract import Answer, Call, succeeded
from cronce.testing.driver import Driver
from support.pages import code, read, rows, section, words

PAGE = read("testing")


class Nothing:
    def execute(self, call: Call) -> Answer:
        return succeeded("done")


def test_the_example_passes_as_it_stands(tmp_path: Path) -> None:
    (example,) = code(PAGE, "python")
    (tmp_path / "test_invoices.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_invoices.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{example.count('def test_')} passed" in done.stdout


def test_what_it_names_is_there() -> None:
    driver = Driver(Nothing(), at=datetime(2026, 11, 30, tzinfo=UTC))
    for row in rows(section(PAGE, "What a driver does")):
        for word in words(row[0]):
            assert hasattr(driver, word.split("(")[0])
    for row in rows(section(PAGE, "What can be made to go wrong")):
        for word in words(row[1]):
            owner, _, name = re.split(r"[( ]", word)[0].partition(".")
            if name:
                assert hasattr(getattr(driver, owner), name), word
    for row in rows(section(PAGE, "What a target is")):
        for word in words(row[0]):
            assert hasattr(contract, word.split("(")[0])
    said = section(PAGE, "What a target is").split("A `Call` has")[1].split(".")[0]
    assert words(said) == [field.name for field in fields(Call)]
