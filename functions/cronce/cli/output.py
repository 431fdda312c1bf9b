"""What commands print: tables for people, aligned text for pipes, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_STYLES = {
    "active": "green",
    "succeeded": "green",
    "running": "cyan",
    "pending": "cyan",
    "retrying": "yellow",
    "paused": "yellow",
    "skipped": "yellow",
    "missed": "yellow",
    "failed": "red",
    "error": "red",
}


def plain(text: object) -> str:
    """One line without control characters: details hold what targets answered.

    >>> plain("a\\x1b[31mb\\n")
    'a?[31mb '
    """
    shown = str(text).replace("\n", " ").replace("\t", " ")
    return "".join(c if c.isprintable() else "?" for c in shown)


def print_json(value: object) -> None:
    """Indented, on standard output; ASCII only where the output cannot take more."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rich on a terminal; elsewhere aligned columns, one row a line."""
    if sys.stdout.isatty():
        _rich_table(columns, rows)
    else:
        print_columns([columns, *rows])


def print_columns(rows: Sequence[Sequence[object]]) -> None:
    """Aligned by spaces, no line longer than its content; empty cells are shown as ``-``."""
    cells = [[plain("-" if cell in (None, "") else cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip())


def print_fields(fields: Mapping[str, object]) -> None:
    """One ``name  value`` line for each field that has a value."""
    rows = [(name, value) for name, value in fields.items() if value not in (None, "")]
    if rows:
        print_columns(rows)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain("" if c is None else c), style_of(c)) for c in row))
    Console().print(table)


def style_of(cell: Any) -> str:
    """A colour for the words of the closed lists, else none."""
    return _STYLES.get(cell, "") if isinstance(cell, str) else ""
