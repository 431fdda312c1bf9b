"""Telling others how runs ended: after the record, at most once, by best effort.

The table is the truth. A crash between the record and the announcement, or a bus that does not
answer, loses the announcement and nothing else; whoever must not miss one reads the attention
listing. A copy of a message that finds its run ended announces nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from cronce.domain.errors import Unavailable
from cronce.domain.outcome import OF_STATUS, Outcome, of_run
from cronce.domain.run import Run

if TYPE_CHECKING:
    from cronce.domain.job import Job, StoredJob
    from cronce.ports import Ports
    from cronce.settings import Settings

# Of one tick. After an outage every job may be late at once, and the tick has better things to do.
MOST_OF_A_TICK: Final = 200


class Announcer(Protocol):
    def announce(self, outcomes: Sequence[Outcome]) -> None:
        """Delivers what it can, in bounded time. Never raises: what is not delivered is an event of
        the observer's."""


class Silent:
    """A deployment that announces nothing."""

    def announce(self, outcomes: Sequence[Outcome]) -> None:
        return None


class Held:
    """Keeps what a tick has to tell until its work is done. Safe to call from many threads."""

    def __init__(self) -> None:
        self._kept: list[Outcome] = []

    def announce(self, outcomes: Sequence[Outcome]) -> None:
        self._kept.extend(outcomes)

    def release(self, ports: Ports) -> None:
        """To the announcer of ports. What there was no room for is counted as not delivered."""
        kept, left_out = self._kept[:MOST_OF_A_TICK], len(self._kept[MOST_OF_A_TICK:])
        self._kept = []
        if left_out:
            reason = f"more than {MOST_OF_A_TICK} in one tick"
            ports.observer.event("not_announced", count=left_out, reason=reason)
        if kept:
            ports.announcer.announce(kept)


def announce_end(ports: Ports, settings: Settings, run: Run, stored: StoredJob | None) -> None:
    """run: as this process has just ended it. stored: the job as it was read before."""
    kind = OF_STATUS.get(run.status)
    if not settings.announce or kind is None:
        return
    job = stored.job if stored is not None and stored.job.uid == run.key.uid else None
    outcomes = []
    if run.status != "succeeded" or settings.announce_success:
        outcomes.append(of_run(kind, run, job))
    if job is not None and _turned(ports, run, job) and run.status == "succeeded":
        outcomes.append(of_run("Cronce Run Recovered", run, job))
    if outcomes:
        ports.announcer.announce(outcomes)


def _turned(ports: Ports, run: Run, job: Job) -> bool:
    """The job row remembers that its last run failed, so that the next success knows; an ordinary
    success writes nothing. Of several at once, one is told that it made the difference."""
    failing = run.status == "failed"
    if run.status not in ("failed", "succeeded") or job.failing == failing:
        return False
    try:
        return ports.store.set_failing(job, failing)
    except Unavailable as e:
        ports.observer.event("not_announced", count=int(not failing), reason=str(e))
        return False
