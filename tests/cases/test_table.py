"""`behaviour.md` names tests that exist, and every test that names a case is in its row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("behaviour.md")
CELLS = 4
NUMBER = re.compile(r"\bB\d\d\b")
SOURCE = re.compile(r"[\w.-]+/[\w.-]+#\d+|Observed with |developer guide|Prescriptive Guidance")


@dataclass(frozen=True)
class Row:
    number: str
    wrong: str
    right: str
    tests: tuple[str, ...]


def read() -> Iterator[Row]:
    for line in PAGE.read_text().splitlines():
        if line.startswith("| B"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == CELLS, line
            number, wrong, right, tests = cells
            yield Row(number, wrong, right, tuple(re.findall(r"`([^`]+)`", tests)))


ROWS = list(read())


@cache
def defined(path: str) -> dict[str, frozenset[str]]:
    """The tests of a file, as the page names them, and the cases that each of them names."""
    found = {}
    for node in ast.parse((TESTS / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = named_by(node)
        elif isinstance(node, ast.ClassDef):
            inside = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {f"{node.name}::{each.name}": named_by(each) for each in inside}
    return {name: of for name, of in found.items() if name.split("::")[-1].startswith("test_")}


def named_by(test: ast.FunctionDef) -> frozenset[str]:
    """By its name or its docstring."""
    own = re.match(r"test_(b\d\d)_", test.name)
    spoken = NUMBER.findall(ast.get_docstring(test) or "")
    return frozenset([*spoken, *([own[1].upper()] if own else [])])


def modules() -> list[Path]:
    return sorted(path for path in TESTS.rglob("test_*.py") if path != Path(__file__))


def test_every_case_once_and_in_order() -> None:
    numbers = [row.number for row in ROWS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 44
    assert all(NUMBER.fullmatch(number) for number in numbers)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_row_has_a_source_and_tests_that_exist(row: Row) -> None:
    assert SOURCE.search(row.wrong)
    assert row.right
    assert row.tests
    assert len(set(row.tests)) == len(row.tests)
    for test in row.tests:
        path, _, name = test.partition("::")
        assert (TESTS / path).is_file(), test
        assert name in defined(path), test


def test_whatever_names_a_case_is_in_its_row() -> None:
    rows = {row.number: set(row.tests) for row in ROWS}
    missing = [
        (case, node)
        for path in modules()
        for name, cases in defined(path.relative_to(TESTS).as_posix()).items()
        for case in cases
        if (node := f"{path.relative_to(TESTS).as_posix()}::{name}") not in rows.get(case, set())
    ]
    assert missing == []


def test_no_test_speaks_of_a_case_that_is_not_there() -> None:
    known = {row.number for row in ROWS}
    spoken = {(path.name, n) for path in modules() for n in NUMBER.findall(path.read_text())}
    assert spoken
    assert [(name, number) for name, number in sorted(spoken) if number not in known] == []
