"""What an examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "trouble", "note", "unknown"]


@dataclass(frozen=True)
class Finding:
    """text: what was seen. advice: what to do, or what would be needed to see it."""

    name: str
    state: State
    text: str
    advice: str = ""


def ok(name: str, text: str) -> Finding:
    return Finding(name, "ok", text)


def trouble(name: str, text: str, advice: str) -> Finding:
    return Finding(name, "trouble", text, advice)


def note(name: str, text: str, advice: str = "") -> Finding:
    return Finding(name, "note", text, advice)


def unknown(name: str, text: str, advice: str = "") -> Finding:
    return Finding(name, "unknown", text, advice)
