"""A job in the user's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cronce import verbatim
from cronce.cli.exits import USAGE, CommandError


@contextmanager
def edited(text: str, job_id: str) -> Iterator[tuple[str, int]]:
    """The document as the user left it and the version it was made from. Where what is done with it
    fails, the draft is kept and the error has a note that says where.

    text: the job as the API shows it. Raises CommandError if the editor fails, or leaves no JSON or
    no change.
    """
    version = int(verbatim.loads(text)["status"]["version"])
    before = verbatim.dumps(definition_of(text)) + "\n"
    draft = Path(tempfile.mkdtemp(prefix="cronce-")) / f"{job_id}.json"
    draft.write_text(before, encoding="utf-8")
    try:
        yield _left_in(draft, before), version
    except BaseException as error:
        if _changed(draft, before):
            error.add_note(f"what you wrote is kept in {draft}")
        else:
            shutil.rmtree(draft.parent, ignore_errors=True)
        raise
    shutil.rmtree(draft.parent, ignore_errors=True)


def definition_of(text: str) -> dict[str, Any]:
    """What may be put again of a job as the API shows it, numbers as written."""
    return {k: v for k, v in verbatim.loads(text).items() if k not in ("id", "status")}


def _left_in(draft: Path, before: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(draft)], check=False).returncode
    except OSError as error:
        raise CommandError(f"{editor}: {error.strerror}") from None
    if code:
        raise CommandError(f"{editor} ended with {code}; nothing was changed")
    if not _changed(draft, before):
        raise CommandError("nothing was changed")
    try:
        after = draft.read_text(encoding="utf-8")
        verbatim.loads(after)
    except ValueError as error:  # of the encoding, too
        raise CommandError(f"not JSON: {error}", USAGE) from None
    return after


def _changed(draft: Path, before: str) -> bool:
    """A draft that the editor took away is no change."""
    return draft.is_file() and draft.read_bytes().strip() != before.encode().strip()
