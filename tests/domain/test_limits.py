"""A number of `limits.py` is what the code goes by."""

from __future__ import annotations

import re
from pathlib import Path

from cronce import limits

ROOT = Path(__file__).parents[2]


def test_every_limit_is_read_by_what_it_limits() -> None:
    read: set[str] = set()
    for folder in ("functions", "infra"):
        for module in (ROOT / folder).rglob("*.py"):
            read.update(re.findall(r"\blimits\.([A-Z_]+)", module.read_text()))
    derived = set(re.findall(r"= .*?\b([A-Z_]{4,})", Path(str(limits.__file__)).read_text()))
    assert {name for name in vars(limits) if name.isupper()} <= read | derived
