"""Occurrences that will not run, counted: each is missed or run, never both.

Whoever counts looks for runs after the count is written; whoever claims a late run looks for the
count after the claim is written (`work.py`). One of the two always sees the other. A run that is
found is taken out of the count; a claim that finds itself counted is conceded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds
from cronce.domain.plan import Missed
from cronce.domain.run import Run
from cronce.domain.schedule import Schedule
from cronce.ports import Ports

PAGE = 100
# Rows that may cover one occurrence: an outage counted again after a crash, an edit, a pause.
MOST_ROWS = 8


def record(
    ports: Ports, job_id: str, uid: str, schedule: Schedule, missed: Missed, now: datetime
) -> None:
    """Counts the occurrences from missed.first to missed.last, without those that have a run.

    Done again after a crash in the middle it comes to the same. Raises Unavailable.
    """
    _put(ports, job_id, uid, missed, now)
    for key in _begun(ports, job_id, uid, missed):
        for _ in range(MOST_ROWS):
            covering = ports.store.find_missed(key)
            if covering is None:
                break
            _take_out(ports, key, schedule, covering, now)


def _begun(ports: Ports, job_id: str, uid: str, missed: Missed) -> Iterator[RunKey]:
    """The schedule's own runs in the range that have a row, latest first."""
    cursor = None
    while True:
        page = ports.store.list_runs(
            job_id, limit=PAGE, cursor=cursor, earliest=missed.first, latest=missed.last
        )
        for run in page.items:
            if isinstance(run, Run) and run.key.uid == uid and not run.key.trigger:
                if run.status != "missed" or run.attempt > 1:
                    yield run.key
        cursor = page.cursor
        if cursor is None:
            return


def _take_out(ports: Ports, key: RunKey, schedule: Schedule, m: Missed, now: datetime) -> None:
    """What follows it first, so that no other occurrence is uncovered in between. The row of what
    precedes it stays even when nothing does, with a count of 0: rows of this kind are not deleted.
    """
    at = key.scheduled_for
    following = schedule.next_after(at)
    if following is not None and following <= m.last:
        count = 1 + schedule.count(following, m.last)
        rest = Missed(following, m.last, count, m.policy, m.reason)
        _put(ports, key.job_id, key.uid, rest, now)
    before = schedule.latest_at_or_before(at - seconds(1), not_before=m.first)
    count = 0 if before is None else 1 + schedule.count(m.first, before)
    last = before or m.first - seconds(1)
    head = Missed(m.first, last, count, m.policy, m.reason)
    _put(ports, key.job_id, key.uid, head, now)


def _put(ports: Ports, job_id: str, uid: str, missed: Missed, now: datetime) -> None:
    ports.store.put_missed(job_id, uid, missed, now=now, history=limits.HISTORY_DEFAULT)
