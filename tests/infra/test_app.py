"""The app on its own: where its choices come from, and what its stack remembers of them."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

APP = Path(__file__).parents[2] / "infra" / "app.py"


def test_an_empty_text_is_said_too(
    node: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = {"profile": "emulator", "stack": "jobs", "allowed_targets": ""}
    monkeypatch.setenv("CDK_CONTEXT_JSON", json.dumps(context))
    monkeypatch.setenv("CDK_OUTDIR", str(tmp_path))
    monkeypatch.setenv("CRONCE_ALLOWED_TARGETS", "https://billing.example.com")
    monkeypatch.setenv("CRONCE_SHARDS", "32")
    runpy.run_path(str(APP))
    template: dict[str, Any] = json.loads((tmp_path / "jobs.template.json").read_text())
    assert template["Metadata"] == {"cronce": {"profile": "emulator", "shards": "32"}}
