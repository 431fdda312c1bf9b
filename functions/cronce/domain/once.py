"""`at`: a single occurrence."""

from __future__ import annotations

from dataclasses import dataclass

from cronce.domain.eras import eras_of
from cronce.domain.local_time import Written, instant_of
from cronce.domain.wall_clock import Gap, Overlap


@dataclass(frozen=True)
class Once:
    """instant: None if its local time is skipped by a gap, and the job chose `gap: skip`."""

    instant: int | None
    moved: str | None = None

    def at_or_after(self, instant: int) -> int | None:
        return self.instant if self.instant is not None and self.instant >= instant else None

    def at_or_before(self, instant: int, floor: int) -> int | None:
        return self.instant if self.count(floor, instant + 1) else None

    def count(self, low: int, high: int) -> int:
        return int(self.instant is not None and low <= self.instant < high)

    def note(self, instant: int) -> str | None:
        return self.moved


def once(written: Written, zone: str, gap: Gap | None, overlap: Overlap | None) -> Once:
    """Where a written time falls. The notes are those of a fixed-time cron."""
    if written.offset is not None:
        return Once(written.wall - written.offset)
    instant = instant_of(written.wall, zone, gap or "next", overlap or "first")
    if instant is None:
        return Once(None)
    if instant + eras_of(zone).offset(instant) != written.wall:
        return Once(instant, "moved out of a gap: the clocks went forward over its local time")
    if instant_of(written.wall, zone, overlap="second") != instant_of(written.wall, zone):
        which = "second" if overlap == "second" else "first"
        return Once(instant, f"{which} of two passes: the clocks go back over its local time")
    return Once(instant)
