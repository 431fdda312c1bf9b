"""Occurrences that will not run, counted: each is missed or run, never both.

Whoever counts looks for runs after the count is written; whoever claims a late run looks for the
count after the claim is written (`work.py`). One of the two always sees the other. A run that is
found is taken out of the count; a claim that finds itself counted is conceded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
# Another dispatcher that counts the same outage may cover again what was taken out.
MOST_PASSES = 4


def record(
    ports: Ports, job_id: str, uid: str, schedule: Schedule, missed: Missed, now: datetime
) -> None:
    """Counts the occurrences from missed.first to missed.last, without those that have a run.

    Done again after a crash in the middle it comes to the same. Raises Unavailable.
    """
    begun = list(_begun(ports, job_id, uid, missed))
    # What a crash between the two writes of taking out has left would be counted twice from here.
    for key in begun:
        _take_out(ports, key, schedule, now)
    for part in _parts(schedule, missed, begun):
        _put(ports, job_id, uid, part, now)
    for _ in range(MOST_PASSES):
        covered = [key for key in _begun(ports, job_id, uid, missed) if _is_counted(ports, key)]
        if not covered:
            return
        for key in covered:
            _take_out(ports, key, schedule, now)


def _parts(schedule: Schedule, missed: Missed, begun: Iterable[RunKey]) -> Iterator[Missed]:
    """What is left of the range between the runs, latest first."""
    rest: Missed | None = missed
    for key in begun:
        if rest is None:
            return
        tail = _after(schedule, rest, key.scheduled_for)
        if tail is not None:
            yield tail
        rest = _before(schedule, rest, key.scheduled_for)
    if rest is not None:
        yield rest


def _after(schedule: Schedule, m: Missed, at: datetime) -> Missed | None:
    following = schedule.next_after(at)
    if following is None or following > m.last:
        return None
    return replace(m, first=following, count=1 + schedule.count(following, m.last))


def _before(schedule: Schedule, m: Missed, at: datetime) -> Missed | None:
    previous = schedule.latest_at_or_before(at - seconds(1), not_before=m.first)
    if previous is None:
        return None
    return replace(m, last=previous, count=1 + schedule.count(m.first, previous))


def _is_counted(ports: Ports, key: RunKey) -> bool:
    return ports.store.find_missed(key) is not None


def _begun(ports: Ports, job_id: str, uid: str, missed: Missed) -> Iterator[RunKey]:
    """The schedule's own runs in the range that have a row, latest first. Also one that ended as
    missed: its row says so."""
    cursor = None
    while True:
        page = ports.store.list_runs(
            job_id, limit=PAGE, cursor=cursor, earliest=missed.first, latest=missed.last
        )
        for run in page.items:
            assert isinstance(run, Run)
            if run.key.uid == uid and not run.key.trigger:
                yield run.key
        cursor = page.cursor
        if cursor is None:
            return


def _take_out(ports: Ports, key: RunKey, schedule: Schedule, now: datetime) -> None:
    """What follows it first, so that no other occurrence is uncovered in between. The row of what
    precedes it stays even when nothing does, with a count of 0: rows of this kind are not deleted.
    """
    for _ in range(MOST_ROWS):
        m = ports.store.find_missed(key)
        if m is None:
            return
        tail = _after(schedule, m, key.scheduled_for)
        if tail is not None and not _reaches(ports, key, tail):
            _put(ports, key.job_id, key.uid, tail, now)
        nothing = replace(m, last=m.first - seconds(1), count=0)
        head = _before(schedule, m, key.scheduled_for) or nothing
        _put(ports, key.job_id, key.uid, head, now)


def _reaches(ports: Ports, key: RunKey, tail: Missed) -> bool:
    """Whether a row that begins where the tail does goes as far or further; it is not cut short."""
    found = ports.store.find_missed(replace(key, scheduled_for=tail.first))
    return found is not None and found.first == tail.first and found.last >= tail.last


def _put(ports: Ports, job_id: str, uid: str, missed: Missed, now: datetime) -> None:
    ports.store.put_missed(job_id, uid, missed, now=now, history=limits.HISTORY_DEFAULT)
