"""What a deployment chose. Read from the environment in `handlers/wiring.py` and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network

from cronce import limits


@dataclass(frozen=True)
class Settings:
    """deployment: the stack's name. slice, slices: which shards this dispatcher takes. profile:
    `aws` or `emulator`. allowed_targets: URL origins and ARN patterns that jobs may reach.
    allowed_addresses: networks that they may reach though they are not public.
    announce: failures and the like are told to an event bus; with announce_success, successes too.
    overdue_after: a job dispatched later than this is announced.

    Durations are seconds; every default is the design's.
    """

    deployment: str = "cronce"
    shards: int = limits.SHARDS
    slice: int = 0
    slices: int = limits.SLICES
    horizon: int = limits.HORIZON
    lease: int = limits.LEASE
    renew_every: int = limits.RENEW_EVERY
    profile: str = "aws"
    allowed_targets: tuple[str, ...] = ()
    allowed_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    announce: bool = False
    announce_success: bool = False
    overdue_after: int = limits.OVERDUE_ANNOUNCED

    @property
    def ahead(self) -> timedelta:
        return timedelta(seconds=self.horizon)

    def shards_of_slice(self, stored: int) -> tuple[int, ...]:
        """The shards this dispatcher queries, of the number that the table knows."""
        return tuple(range(self.slice, max(stored, self.shards), self.slices))
