"""Where a listing of jobs, calendars or runs that need attention goes on: opaque, checked when it
comes back. Rows are named by keys that say nothing beyond what the listing itself has shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

from cronce.adapters.items import JOB_SK, job_id_of, job_pk, run_key_of
from cronce.adapters.wire import Item
from cronce.domain.errors import Invalid
from cronce.domain.identity import JOB_ID
from cronce.domain.instants import from_wire, to_wire

LONGEST = 1024


def after_job(row: Mapping[str, object], group: str | None) -> str:
    """row: of the index `by_group`. group: what was asked for."""
    return _seal(["jobs", group, row["group"], job_id_of(row["pk"])])


def read_after_job(cursor: str, group: str | None) -> Item:
    """The index's keys of that row. Raises Invalid."""
    kind, asked, of_group, job_id = _open(cursor, 4)
    if kind != "jobs" or asked != group or not of_group or (group and of_group != group):
        raise _bad()
    try:
        job_id_of(job_pk(job_id))
    except ValueError:
        raise _bad() from None
    return {"pk": job_pk(job_id), "sk": JOB_SK, "group": of_group, "job_id": job_id}


def after_run(row: Mapping[str, object]) -> str:
    """row: of the index `attention`. The listing goes back in time, so the place says all."""
    return _seal(["runs", str(row["finished_at"]), str(row["pk"]), str(row["sk"])])


def from_day(day: str) -> str:
    """Everything of later days has been looked at."""
    return _seal(["day", day])


def read_attention_cursor(cursor: str, latest: str) -> tuple[Item | None, str]:
    """The index's keys of the row to go on after, if any, and the day to go on with.
    latest: where the listing begins. Raises Invalid."""
    kind, *rest = _open(cursor, None)
    row: Item | None = None
    try:
        if kind == "day":
            [day] = rest
            at = f"{day}T00:00:00.000Z"
            from_wire(at)
        else:
            at, pk, sk = rest
            from_wire(at)
            run_key_of(pk, sk)
            day = at[:10]
            row = {"pk": pk, "sk": sk, "day": day, "finished_at": at}
    except ValueError:
        raise _bad() from None
    if kind not in ("day", "runs") or at > latest:
        raise _bad()
    return row, day


def after_name(listing: str, of: str, name: str) -> str:
    """In a listing by name. of: what it lists the parts of, if anything."""
    return _seal([listing, of, name])


def read_after_name(cursor: str, listing: str, of: str) -> str:
    """The name to go on after. Raises Invalid."""
    found, of_what, name = _open(cursor, 3)
    if (found, of_what) != (listing, of) or not JOB_ID.fullmatch(name):
        raise _bad()
    return name


def previous_day(day: str) -> str:
    """
    >>> previous_day("2026-03-01")
    '2026-02-28'
    """
    return to_wire(from_wire(f"{day}T00:00:00.000Z") - timedelta(days=1))[:10]


def _seal(parts: Sequence[object]) -> str:
    text = json.dumps(parts, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _open(cursor: str, length: int | None) -> list[str]:
    try:
        if len(cursor) > LONGEST:
            raise _bad()
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        parts = json.loads(raw)
    except (ValueError, RecursionError):
        raise _bad() from None
    if not isinstance(parts, list) or len(parts) < 2 or len(parts) != (length or len(parts)):
        raise _bad()
    if not all(isinstance(p, str) or (n == 1 and p is None) for n, p in enumerate(parts)):
        raise _bad()
    return parts


def _bad() -> Invalid:
    accepted = "the cursor of the page before, with the same other parameters"
    return Invalid.one("/cursor", "bad_cursor", "not a cursor of this listing", accepted)
