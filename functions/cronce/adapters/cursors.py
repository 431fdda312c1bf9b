"""Where a listing of runs goes on: opaque to clients, of one job, checked when it comes back."""

from __future__ import annotations

import base64
import json

from cronce.adapters.items import job_pk, run_key_of, run_sk
from cronce.domain.errors import Invalid
from cronce.domain.identity import RunKey

LONGEST = 1024


def write_cursor(last: RunKey) -> str:
    """After this run."""
    text = json.dumps([last.job_id, run_sk(last)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, job_id: str, first: str, last: str) -> str:
    """The sort key to go on after, within first..last. Raises Invalid."""
    try:
        if len(cursor) > LONGEST:
            raise ValueError("too long")
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        of_job, sk = json.loads(raw)
        if of_job != job_id or not isinstance(sk, str) or not first <= sk <= last:
            raise ValueError("of another listing")
        run_key_of(job_pk(job_id), sk)
    except (ValueError, TypeError, RecursionError):
        raise Invalid.one(
            "/cursor",
            "bad_cursor",
            "not a cursor of this listing",
            "the cursor of the page before, with the same job, earliest and latest",
        ) from None
    return sk
