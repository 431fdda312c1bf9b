"""Listings over all jobs."""

from __future__ import annotations

from datetime import datetime

from cronce.control.base import Base
from cronce.domain.job import JobStatus
from cronce.domain.run import RunStatus
from cronce.ports import Page


class ListControl(Base):
    """Eventually consistent. A page may be short, even empty, and still have a cursor."""

    def list_jobs(
        self, *, group: str | None, status: JobStatus | None, limit: int, cursor: str | None
    ) -> Page:
        """Job rows. Raises Invalid for a cursor that is not of this listing."""
        return self.ports.store.list_jobs(group=group, status=status, limit=limit, cursor=cursor)

    def list_attention(
        self,
        *,
        earliest: datetime,
        latest: datetime,
        status: RunStatus | None,
        limit: int,
        cursor: str | None,
    ) -> Page:
        """Runs that ended failed, skipped or missed, the last one first. Raises Invalid."""
        return self.ports.store.list_attention(
            earliest=earliest, latest=latest, status=status, limit=limit, cursor=cursor
        )
