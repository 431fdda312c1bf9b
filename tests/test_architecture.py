"""The arrows: handlers -> (dispatch, work, control) -> domain; adapters -> domain."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "functions" / "cronce"
APPLICATION = sorted(
    path.relative_to(PACKAGE).with_suffix("").as_posix()
    for path in (*PACKAGE.glob("*.py"), *PACKAGE.glob("control/*.py"))
    if path.stem not in ("__init__", "client", "describe", "holidays_source", "jsontext", "limits")
    and not path.stem.startswith("client_")
)
AWS = {"boto3", "botocore", "aws_lambda_powertools", "moto", "aws_cdk"}
# The domain may use these and the standard library.
DOMAIN_LIBRARIES = {"cronce", "tzdata"}
OUTSIDE = {"os", "time", "random", "secrets", "socket", "threading", "subprocess", "logging"}


def modules(folder: str = "") -> list[Path]:
    return sorted((PACKAGE / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def clock_reads(path: Path) -> list[int]:
    """Lines that ask for the time of day."""
    names = {"now", "utcnow", "today", "time", "time_ns"}
    owners = {"datetime", "date", "time"}
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id in owners
    ]


@pytest.mark.parametrize("path", modules("domain"), ids=lambda p: p.stem)
def test_the_domain_is_pure(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    foreign = {r for r in roots if r not in sys.stdlib_module_names} - DOMAIN_LIBRARIES
    assert not foreign
    assert not roots & OUTSIDE
    assert not clock_reads(path)
    ours = {name for name in imports(path) if name.startswith("cronce")}
    assert all(n.startswith(("cronce.domain", "cronce.limits")) or n == "cronce" for n in ours)


@pytest.mark.parametrize("name", APPLICATION)
def test_the_application_knows_ports_and_domain_only(name: str) -> None:
    path = PACKAGE / f"{name}.py"
    roots = {n.split(".")[0] for n in imports(path)}
    assert not roots & (AWS | OUTSIDE)
    assert not clock_reads(path)
    forbidden = ("cronce.adapters", "cronce.handlers", "cronce.cli", "cronce.testing")
    assert not [n for n in imports(path) if n.startswith(forbidden)]


@pytest.mark.parametrize("path", modules("adapters"), ids=lambda p: p.stem)
def test_adapters_do_not_know_who_uses_them(path: Path) -> None:
    users = ("cronce.handlers", "cronce.cli", "cronce.dispatch", "cronce.work", "cronce.control")
    assert not [n for n in imports(path) if n.startswith(users)]


def test_one_place_composes() -> None:
    both = [
        path.relative_to(PACKAGE).as_posix()
        for path in modules("handlers")
        if any(n.startswith("cronce.adapters") for n in imports(path))
    ]
    assert both == ["handlers/wiring.py"]


def test_one_place_reads_the_environment() -> None:
    reading = [
        path.relative_to(PACKAGE).as_posix()
        for folder in ("adapters", "domain", "handlers", "targets")
        for path in modules(folder)
        if "os.environ" in path.read_text() or "getenv" in path.read_text()
    ]
    assert reading == ["handlers/wiring.py"]


def test_only_the_system_adapter_reads_the_clock() -> None:
    reading = [
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if clock_reads(path) and not path.is_relative_to(PACKAGE / "cli")
    ]
    assert reading == ["adapters/system.py"]


@pytest.mark.parametrize("handler", ["dispatcher", "worker"])
def test_the_core_asset_stays_lean(handler: str) -> None:
    code = (
        f"import sys; import cronce.handlers.{handler}; "
        "print([m for m in ('pydantic', 'croniter', 'holidays', 'typer', 'rich', 'cronce.control')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_readable() -> None:
    long = [p.name for p in modules() if len(p.read_text().splitlines()) > 400]
    assert not long
