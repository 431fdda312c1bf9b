"""The app on its own: where its choices come from, and what its stack remembers of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

APP = Path(__file__).parents[2] / "infra" / "app.py"


def test_an_empty_text_is_said_too(node: None, tmp_path: Path) -> None:
    context = {"profile": "emulator", "stack": "jobs", "allowed_targets": ""}
    said = {
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_OUTDIR": str(tmp_path),
        "CRONCE_ALLOWED_TARGETS": "https://billing.example.com",
        "CRONCE_SHARDS": "32",
    }
    # A process of its own: what it is told is read once by the one that CDK runs in.
    subprocess.run([sys.executable, str(APP)], env={**os.environ, **said}, check=True)
    template = json.loads((tmp_path / "jobs.template.json").read_text())
    assert template["Metadata"] == {"cronce": {"profile": "emulator", "shards": "32"}}
