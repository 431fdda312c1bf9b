"""A job in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from cronce import verbatim
from cronce.cli.exits import USAGE, CommandError


def edited(text: str, job_id: str) -> tuple[str, int] | None:
    """The document as the user left it and the version it was made from; None: not changed.

    text: the job as the API shows it. Raises CommandError if the editor fails or leaves no JSON.
    """
    job = verbatim.loads(text)
    version = int(job["status"]["version"])
    before = verbatim.dumps({k: v for k, v in job.items() if k not in ("id", "status")}) + "\n"
    after = _in_editor(before, job_id)
    if after.strip() == before.strip():
        return None
    try:
        verbatim.loads(after)
    except ValueError as error:
        raise CommandError(f"not JSON: {error}", USAGE) from None
    return after, version


def _in_editor(text: str, job_id: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="cronce-") as folder:
        path = Path(folder) / f"{job_id}.json"
        path.write_text(text, encoding="utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
        except OSError as error:
            raise CommandError(f"{editor}: {error.strerror}") from None
        if code:
            raise CommandError(f"{editor} ended with {code}; nothing was changed")
        return path.read_text(encoding="utf-8")
