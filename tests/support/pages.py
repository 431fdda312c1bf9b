"""What stands on the pages of docs/: tables, code, links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def read(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def section(text: str, title: str) -> str:
    """From a heading to the next one of its level, or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert found, title
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, headings and rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
    heads = {n - 1 for n, line in enumerate(lines) if re.fullmatch(r"[|: ]*-[|: -]*", line)}
    rules = {n + 1 for n in heads}
    return [row for n, row in enumerate(cells) if n not in heads | rules]


def code(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def words(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def all_pages() -> list[Path]:
    """Every page that is part of the project."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = [ROOT / line for line in listed.splitlines()] or sorted(ROOT.glob("docs/*.md"))
    return sorted(page for page in found if page.is_file())
