"""Groups: how fast their jobs may start; pausing and resuming all jobs of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cronce.control.jobs import JobControl
from cronce.domain.errors import CronceError, JobNotFound, Throttled
from cronce.domain.groups import Group
from cronce.domain.job import Job
from cronce.ports import Page

EDIT_TRIES = 8
# Jobs of one call: each is settled, dispatched and written, within the time of a request.
MOST_JOBS = 50


@dataclass(frozen=True)
class Moved:
    """changed: ids. failed: id and why. cursor: where to go on; None when all were looked at."""

    changed: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    cursor: str | None


class GroupControl(JobControl):
    """by: the caller's identity."""

    def get_group(self, name: str) -> Group | None:
        """Its limit; None where it has none."""
        return self.ports.store.read_group(name)

    def list_groups(self, *, limit: int, cursor: str | None = None) -> Page:
        """Those that have a limit, by name. Raises Invalid for a cursor of another listing."""
        return self.ports.store.list_groups(limit=limit, cursor=cursor)

    def put_group(self, name: str, per_thousand_seconds: int, *, by: str) -> Group:
        """What was given away stays given away; the new limit counts from then on."""
        for _ in range(EDIT_TRIES):
            found = self.ports.store.read_group(name)
            old = found or Group(name, per_thousand_seconds, version=0)
            group = replace(
                old,
                per_thousand_seconds=per_thousand_seconds,
                version=old.version + 1,
                changed_at=self.ports.clock.now(),
                changed_by=by,
                writer=self.ports.random.token()[:16],
            )
            if self.ports.store.write_group(found, group):
                self.ports.observer.event("group_changed", group=name, by=by)
                return group
        raise Throttled(f"group {name}: in conflict with the dispatchers")

    def delete_group(self, name: str) -> None:
        """Takes the limit off; the jobs stay."""
        for _ in range(EDIT_TRIES):
            found = self.ports.store.read_group(name)
            if found is None or self.ports.store.delete_group(found):
                return
        raise Throttled(f"group {name}: in conflict with the dispatchers")

    def pause_group(
        self, name: str, *, by: str, note: str, limit: int, cursor: str | None
    ) -> Moved:
        """Its active jobs, a page at a time. Raises Invalid for a cursor of another listing."""
        return self._each(name, "active", lambda j: self.pause(j, by=by, note=note), limit, cursor)

    def resume_group(self, name: str, *, by: str, limit: int, cursor: str | None) -> Moved:
        """Its paused jobs, from now on, a page at a time. Raises Invalid as `pause_group`."""
        return self._each(name, "paused", lambda j: self.resume(j, by=by), limit, cursor)

    def _each(
        self,
        name: str,
        status: str,
        move: Callable[[str], object],
        limit: int,
        cursor: str | None,
    ) -> Moved:
        """A job's trouble is its own: it is named, and the others are moved."""
        page = self.ports.store.list_jobs(group=name, limit=limit, cursor=cursor)
        jobs = [j for j in page.items if isinstance(j, Job) and j.status == status]

        def one(job: Job) -> tuple[str, str | None]:
            try:
                move(job.job_id)
            except JobNotFound:
                return job.job_id, None
            except CronceError as e:
                return job.job_id, str(e)[:200]
            return job.job_id, ""

        done = self.ports.threads.each(one, jobs)
        return Moved(
            changed=tuple(job for job, error in done if error == ""),
            failed=tuple((job, error) for job, error in done if error),
            cursor=page.cursor,
        )
