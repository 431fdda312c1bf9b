"""The examples in docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

import cronce

ROOT = Path(cronce.__file__).parent
WITH_EXAMPLES = sorted(
    "cronce." + ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in ROOT.rglob("*.py")
    if ">>> " in file.read_text()
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_are_true(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed
