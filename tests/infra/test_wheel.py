"""What a user of the construct has: a wheel, an empty environment, and a stack of fifteen lines."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cronce.cli import toolchain


def stack() -> str:
    """The app that docs/deploying.md shows."""
    page = (toolchain.checkout() / "docs" / "deploying.md").read_text()
    (app,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(app.strip().splitlines()) <= 15
    return str(app)


def run(*command: str | Path, cwd: Path, code: int = 0, **env: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        env=kept | env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


@pytest.mark.e2e
def test_a_wheel_in_an_empty_environment_synthesises_a_stack(tmp_path: Path, node: None) -> None:
    root = toolchain.checkout()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=root)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", f"{wheel}[cdk]", cwd=tmp_path)
    said = run(tmp_path / "env" / "bin" / "cronce", "--version", cwd=tmp_path, code=1)
    assert said == "cronce: the command needs the extra 'cronce[cli]' (typer is missing)\n"
    (tmp_path / "app.py").write_text(stack())
    out = tmp_path / "cdk.out"
    run(python, "app.py", cwd=tmp_path, CDK_OUTDIR=str(out), XDG_CACHE_HOME=str(tmp_path / "cache"))
    template = json.loads((out / "jobs.template.json").read_text())
    handlers = {
        resource["Properties"]["Handler"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    assert handlers == {
        f"cronce.handlers.{n}.handler" for n in ("api", "dispatcher", "watch", "worker")
    }
    (core,) = (tmp_path / "cache" / "cronce" / "assets").glob("core-*")
    assert (core / "cronce" / "work.py").is_file()
