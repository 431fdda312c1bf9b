"""The errors of cronce. `handlers/problems.py` holds the one table from error to HTTP status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a document.

    pointer: JSON pointer (RFC 6901) of the field, relative to the document it was found in.
    code: stable machine-readable word, e.g. `unknown_timezone`.
    detail: what was wrong, one sentence.
    accepted: the form that would have been accepted.
    """

    pointer: str
    code: str
    detail: str
    accepted: str = ""

    def under(self, prefix: str) -> Fault:
        """The same fault, seen from a document that holds this one at `prefix`."""
        return Fault(prefix + self.pointer, self.code, self.detail, self.accepted)

    def __str__(self) -> str:
        form = f" (accepted: {self.accepted})" if self.accepted else ""
        return f"{self.pointer or '/'}: {self.detail}{form}"


class CronceError(Exception):
    """Root of every error that cronce raises on purpose."""


class Invalid(CronceError):
    """A document that is not valid; carries every fault found in it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))

    @classmethod
    def one(cls, pointer: str, code: str, detail: str, accepted: str = "") -> Invalid:
        return cls([Fault(pointer, code, detail, accepted)])


class NotJson(CronceError):
    """A request body that is not JSON that we accept: syntax, encoding, depth, size of a number.

    faults: where, if it could be read so far that there is a place.
    """

    def __init__(self, reason: str, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)
        super().__init__(reason)


class TooLarge(CronceError):
    """A body or payload over the documented limit, in bytes."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.what, self.size, self.limit = what, size, limit
        super().__init__(f"{what} has {size} bytes, at most {limit} are accepted")


class Unplannable(CronceError):
    """A stored job that cannot be planned: unreadable row, unknown zone, broken schedule."""


class JobNotFound(CronceError):
    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"there is no job {job_id!r}")


class RunNotFound(CronceError):
    def __init__(self, job_id: str, run_id: str) -> None:
        self.job_id, self.run_id = job_id, run_id
        super().__init__(f"job {job_id!r} has no run {run_id!r}")


class BackfillNotFound(CronceError):
    def __init__(self, job_id: str, backfill_id: str) -> None:
        self.job_id, self.backfill_id = job_id, backfill_id
        super().__init__(f"job {job_id!r} has no backfill {backfill_id!r}")


def _at_version(what: str, version: int | None) -> str:
    return f"there is no {what}" if version is None else f"{what} is at version {version}"


class VersionMismatch(CronceError):
    """Somebody else changed the job in between (If-Match, or a lost race)."""

    def __init__(self, job_id: str, current_version: int | None) -> None:
        self.job_id, self.current_version = job_id, current_version
        super().__init__(_at_version(f"job {job_id!r}", current_version))


class CalendarNotFound(CronceError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no calendar {name!r}")


class CalendarInUse(CronceError):
    """jobs: some of those that name it."""

    def __init__(self, name: str, jobs: Sequence[str]) -> None:
        self.name, self.jobs = name, tuple(jobs)
        shown = f": {', '.join(jobs)}" if jobs else ""
        super().__init__(f"jobs use the calendar {name!r}{shown}")


class CalendarMismatch(VersionMismatch):
    """Somebody else changed the calendar in between, or `If-None-Match: *` on one that exists."""

    def __init__(self, name: str, current_version: int | None) -> None:
        self.name, self.current_version = name, current_version
        CronceError.__init__(self, _at_version(f"calendar {name!r}", current_version))


class AlreadyExists(CronceError):
    """`If-None-Match: *` on a job that exists."""

    def __init__(self, job_id: str, current_version: int) -> None:
        self.job_id, self.current_version = job_id, current_version
        super().__init__(f"job {job_id!r} exists already, at version {current_version}")


class WrongState(CronceError):
    """The thing exists, but the move asked for is not allowed from the state it is in."""

    def __init__(self, what: str, state: str, move: str) -> None:
        self.what, self.state, self.move = what, state, move
        super().__init__(f"{what} is {state}: {move} is not possible")


class Unavailable(CronceError):
    """The table or the queue did not answer, or throttled. Trying again later may help."""


class Throttled(Unavailable):
    """Refused for its rate."""
