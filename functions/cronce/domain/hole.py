"""Occurrences without those of one stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class _Occurrences(Protocol):
    def at_or_after(self, instant: int) -> int | None: ...
    def at_or_before(self, instant: int, floor: int) -> int | None: ...
    def count(self, low: int, high: int) -> int: ...
    def note(self, instant: int) -> str | None: ...


@dataclass(frozen=True)
class Without:
    """inner: without what lies in (after, until]. Whole seconds since 1970, UTC."""

    inner: _Occurrences
    after: int
    until: int

    def at_or_after(self, instant: int) -> int | None:
        found = self.inner.at_or_after(instant)
        if found is not None and self.after < found <= self.until:
            return self.inner.at_or_after(self.until + 1)
        return found

    def at_or_before(self, instant: int, floor: int) -> int | None:
        found = self.inner.at_or_before(instant, floor)
        if found is not None and self.after < found <= self.until:
            return self.inner.at_or_before(self.after, floor)
        return found

    def count(self, low: int, high: int) -> int:
        """How many are in [low, high)."""
        first, last = max(low, self.after + 1), min(high, self.until + 1)
        hidden = self.inner.count(first, last) if first < last else 0
        return self.inner.count(low, high) - hidden

    def note(self, instant: int) -> str | None:
        return self.inner.note(instant)
