"""The code of the functions: what is in it, for which platform, and that it is made once."""

import doctest
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cronce.cli import toolchain


def names(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def bundling(node: None) -> Any:
    """The module, whose package can be imported once there is a Node."""
    from cronce_cdk import bundling

    return bundling


@pytest.fixture(scope="module")
def here(bundling: Any) -> Any:
    """This machine, as an emulator's functions run on it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return bundling.Platform(os.uname().machine, version, native=True)


def test_the_core_is_lean(bundling: Any, here: Any) -> None:
    _, folder = bundling.build("core", here)
    tops = {path.name for path in folder.iterdir()}
    assert {"cronce", "aws_lambda_powertools", "tzdata"} <= tops
    assert not {"pydantic", "pydantic_core", "boto3", "botocore", "typer", "bin"} & tops


@pytest.mark.parametrize("asset", ["core", "api"])
def test_neither_holds_what_functions_never_import(asset: str, bundling: Any, here: Any) -> None:
    _, folder = bundling.build(asset, here)
    files = names(folder)
    assert "cronce/limits.py" in files
    assert not {f for f in files if f.startswith(("cronce/cli/", "cronce/testing/"))}
    assert not {f for f in files if f.startswith("cronce_cdk/")}


def test_binaries_are_of_the_functions_platform(bundling: Any) -> None:
    _, folder = bundling.build("api", bundling.Platform("aarch64", "3.13"))
    binaries = {f for f in names(folder) if f.endswith(".so")}
    assert binaries
    assert {f for f in binaries if "cpython-313-aarch64-linux-gnu" not in f} == set()


def test_byte_code_is_there_only_for_the_python_that_made_it(bundling: Any, here: Any) -> None:
    other = bundling.Platform("aarch64", "3.13" if here.python != "3.13" else "3.12")
    _, native = bundling.build("core", here)
    _, foreign = bundling.build("core", other)
    tag = sys.implementation.cache_tag
    assert f"cronce/__pycache__/limits.{tag}.pyc" in names(native)
    assert not {f for f in names(foreign) if f.endswith(".pyc")}


@pytest.mark.parametrize(
    ("asset", "handler"), [("core", "worker"), ("core", "dispatcher"), ("api", "api")]
)
def test_a_handler_needs_only_its_asset_and_what_lambda_brings(
    bundling: Any, here: Any, asset: str, handler: str
) -> None:
    _, folder = bundling.build(asset, here)
    code = f"import cronce.handlers.{handler} as m; print(m.__file__, callable(m.handler))"
    done = subprocess.run(
        [toolchain.environment_of("emulator"), "-c", code],
        env={"PYTHONPATH": str(folder), "AWS_DEFAULT_REGION": "us-east-1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{folder}/cronce/handlers/{handler}.py", "True"]


def test_the_same_inputs_are_built_once(
    bundling: Any, here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "_home", lambda: tmp_path)
    installs: list[Path] = []

    def install(pins: Path, platform: Any, folder: Path) -> None:
        installs.append(folder)
        (folder / "dependency.py").write_text(pins.name)

    monkeypatch.setattr(bundling, "_install", install)
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: bundling.build("core", here), range(4)))
    assert len(set(built)) == 1
    again = bundling.build("core", here)
    assert again == built[0]
    assert len(installs) <= 4
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == set()
    assert (again[1] / "dependency.py").read_text() == "core.txt"


def test_what_nobody_used_lately_goes(
    bundling: Any, here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "_home", lambda: tmp_path)
    monkeypatch.setattr(bundling, "_install", lambda pins, platform, folder: None)
    for name, age in (("core-old", 7200), ("core-new", 60), ("deps-core-old", 7200)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    key, _ = bundling.build("core", here)
    assert {"core-new", "deps-core-old", f"core-{key}"} <= {p.name for p in tmp_path.iterdir()}
    assert not (tmp_path / "core-old").exists()


def test_another_platform_or_python_is_another_asset(bundling: Any) -> None:
    keys = {
        bundling.build("core", platform)[0]
        for platform in (
            bundling.Platform("aarch64", "3.13"),
            bundling.Platform("x86_64", "3.13"),
            bundling.Platform("aarch64", "3.12"),
        )
    }
    assert len(keys) == 3


def test_a_failed_build_leaves_nothing_behind(
    bundling: Any, here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "_home", lambda: tmp_path)
    pins = tmp_path / "core.txt"
    pins.write_text("tzdata==2026.6 --hash=sha256:" + "0" * 64 + "\n")
    monkeypatch.setattr(bundling, "_requirements", lambda asset: pins)
    with pytest.raises(bundling.BundlingError, match="cannot be installed"):
        bundling.build("core", here)
    assert set(tmp_path.iterdir()) == {pins}


def test_the_examples_in_its_docstrings_are_true(bundling: Any) -> None:
    done = doctest.testmod(bundling)
    assert done.attempted
    assert not done.failed
