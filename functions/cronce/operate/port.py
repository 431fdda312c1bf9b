"""What operators read of the table beside single rows. Every read is lazy: a page is fetched when
its turn comes, so a caller that stops early has paid for no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from cronce.domain.plan import Missed
from cronce.domain.record import DispatchRecord


@dataclass(frozen=True)
class TickSeen:
    """What a dispatcher's row tells of its last tick. lease_expires_at: when that tick was to stop.
    claimed_up_to: the latest due time that it saw claimed."""

    slice: int
    lease_expires_at: datetime
    claimed_up_to: datetime | None


@dataclass(frozen=True)
class MissedSeen:
    """recorded_at: when the count was written last."""

    job_id: str
    uid: str
    missed: Missed
    recorded_at: datetime


class OperateStore(Protocol):
    """Rows that cannot be read are passed over."""

    def read_tick(self, slice_: int) -> TickSeen | None:
        """Consistent. None before the first tick."""

    def records(
        self, slice_: int, earliest: datetime, latest: datetime, *, latest_first: bool
    ) -> Iterator[DispatchRecord]:
        """Dispatch records written within earliest..latest, in order of that time."""

    def missed_of(self, job_id: str) -> Iterator[MissedSeen]:
        """Of one job, the latest occurrence first; counts of 0 too."""

    def missed_between(self, earliest: datetime, latest: datetime) -> Iterator[MissedSeen]:
        """Of all jobs, recorded within earliest..latest, the last one first; eventually
        consistent. Raises ValueError for more than 60 days."""
