"""The ports to the rows of backfills and groups, and to listings over all jobs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from cronce.domain.backfill import Backfill
from cronce.domain.groups import Group
from cronce.domain.job import JobStatus
from cronce.domain.run import RunStatus

if TYPE_CHECKING:
    from cronce.ports import Page


class BackfillStore(Protocol):
    """Backfills of a job. While `next_run` is set, the row lies in the index."""

    def read_backfill(self, job_id: str, backfill_id: str) -> Backfill | None:
        """Consistent."""

    def create_backfill(self, backfill: Backfill) -> Backfill | None:
        """If the job has none of this id. The one found where it has, None when created."""

    def update_backfill(self, believed: Backfill, backfill: Backfill) -> bool:
        """If the row still is of the believed uid and version."""

    def list_backfills(self, job_id: str, *, limit: int, cursor: str | None = None) -> Page:
        """By id, consistent. Raises Invalid for a cursor of another listing."""


class GroupStore(Protocol):
    """Groups that have a limit."""

    def read_group(self, name: str) -> Group | None:
        """Consistent."""

    def write_group(self, believed: Group | None, group: Group) -> bool:
        """If the row still is of the believed version, or absent."""

    def delete_group(self, believed: Group) -> bool:
        """If the row still is of the believed version."""

    def list_groups(self, *, limit: int, cursor: str | None = None) -> Page:
        """By name, eventually consistent. Raises Invalid for a cursor of another listing."""


class ListStore(Protocol):
    """Listings over all jobs, eventually consistent. A page may be short, even empty: the listing
    goes on as long as there is a cursor. Raises Invalid for a cursor of another listing."""

    def list_jobs(
        self,
        *,
        group: str | None = None,
        status: JobStatus | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page:
        """Jobs (not their definitions): of one group by id; of all groups in no order."""

    def list_attention(
        self,
        *,
        earliest: datetime,
        latest: datetime,
        status: RunStatus | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page:
        """Runs that ended failed, skipped or missed within earliest..latest, the last one first."""
