"""Which of the words that there are a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 80


def meant(word: str, words: Iterable[str]) -> str:
    """To stand behind the wrong word; empty where none is near.

    >>> meant("post", ["GET", "POST"]), meant("verb", ["url", "method"])
    (', did you mean POST?', '')
    """
    known = {each.lower(): each for each in words}
    near = get_close_matches(word[:LONGEST].lower(), known, 1)
    return f", did you mean {known[near[0]]}?" if near else ""
