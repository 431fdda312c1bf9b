"""From an error to its HTTP answer: RFC 9457 problem details, by one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cronce.domain.errors import (
    AlreadyExists,
    BackfillNotFound,
    CalendarInUse,
    CalendarMismatch,
    CalendarNotFound,
    CronceError,
    Fault,
    Invalid,
    JobNotFound,
    NotJson,
    RunNotFound,
    Throttled,
    TooLarge,
    Unavailable,
    Unplannable,
    VersionMismatch,
    WrongState,
)

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:cronce:problem:"
RETRY_AFTER = 2
MOST_FAULTS = 100


@dataclass(frozen=True)
class Problem:
    """status: of HTTP. slug: the last part of `type`. headers: beside the content type."""

    status: int
    slug: str
    title: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        return TYPE_PREFIX + self.slug


class NoRoute(CronceError):
    """No operation has this path."""


class MethodNotAllowed(CronceError):
    """Operations have this path, under other methods."""

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__(f"{method} is not among {', '.join(allowed)}")


class KeyReused(CronceError):
    """An Idempotency-Key that created something else before."""


_AGAIN = {"Retry-After": str(RETRY_AFTER)}
UNEXPECTED = Problem(500, "internal-error", "Something went wrong here")
# The first class that fits counts.
TABLE: tuple[tuple[type[CronceError], Problem], ...] = (
    (NotJson, Problem(400, "not-json", "The body is not JSON that is accepted")),
    (NoRoute, Problem(404, "no-route", "There is no such resource")),
    (JobNotFound, Problem(404, "job-not-found", "There is no such job")),
    (RunNotFound, Problem(404, "run-not-found", "There is no such run")),
    (BackfillNotFound, Problem(404, "backfill-not-found", "There is no such backfill")),
    (CalendarNotFound, Problem(404, "calendar-not-found", "There is no such calendar")),
    (MethodNotAllowed, Problem(405, "method-not-allowed", "The method is not allowed here")),
    (WrongState, Problem(409, "wrong-state", "Not possible in this state")),
    (Unplannable, Problem(409, "unplannable", "The job cannot be planned")),
    (KeyReused, Problem(409, "key-reused", "The Idempotency-Key was used for something else")),
    (CalendarInUse, Problem(409, "calendar-in-use", "Jobs use the calendar")),
    (CalendarMismatch, Problem(412, "calendar-mismatch", "The calendar has another version")),
    (VersionMismatch, Problem(412, "version-mismatch", "The job has another version")),
    (AlreadyExists, Problem(412, "already-exists", "The job exists already")),
    (TooLarge, Problem(413, "too-large", "The content is too large")),
    (Invalid, Problem(422, "invalid", "The request is not valid")),
    (Throttled, Problem(429, "throttled", "Too many requests", _AGAIN)),
    (Unavailable, Problem(503, "unavailable", "Not available for the moment", _AGAIN)),
)


def problem_of(error: Exception) -> Problem:
    for kind, problem in TABLE:
        if isinstance(error, kind):
            return problem
    return UNEXPECTED


def answer(
    error: Exception, *, request_id: str = ""
) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers and document. What was not raised on purpose tells nothing but the request's
    id."""
    problem = problem_of(error)
    body: dict[str, object] = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
    }
    if problem is not UNEXPECTED:
        body["detail"] = _detail(error)
        body |= _extensions(error)
    if request_id:
        body["request_id"] = request_id
    headers = {"Content-Type": CONTENT_TYPE, **problem.headers}
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return problem.status, headers, body


def _detail(error: Exception) -> str:
    if isinstance(error, Invalid) and error.faults:
        more = len(error.faults) - 1
        return f"{error.faults[0]}{f', and {more} more' if more else ''}"[:2000]
    return str(error)[:2000]


def _extensions(error: Exception) -> dict[str, object]:
    if isinstance(error, Invalid | NotJson):
        return {"errors": [_shown(fault) for fault in error.faults[:MOST_FAULTS]]}
    if isinstance(error, VersionMismatch | AlreadyExists):
        return {"current_version": error.current_version}
    if isinstance(error, CalendarInUse):
        return {"jobs": list(error.jobs)}
    if isinstance(error, WrongState):
        return {"state": error.state}
    if isinstance(error, TooLarge):
        return {"size": error.size, "limit": error.limit}
    return {}


def _shown(fault: Fault) -> dict[str, object]:
    accepted = {"accepted": fault.accepted} if fault.accepted else {}
    return {"pointer": fault.pointer, "code": fault.code, "detail": fault.detail, **accepted}
