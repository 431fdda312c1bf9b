"""Rules about runs that take turns, backfills and groups: at every write, and after the quiet."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from cronce.domain.backfill import Backfill, backfill_of
from cronce.domain.identity import RunKey, parse_run_id
from cronce.domain.overlap import Lock
from cronce.domain.run import OPEN, Run

from .history import CLOCKS, ENDED
from .kernel import START
from .world import World

HANDED_OVER = 2_000
ROUNDED = timedelta(milliseconds=1)


@dataclass
class Turns:
    """limited: jobs that never allow overlap. gap: between two starts of the group of all jobs."""

    world: World
    limited: set[str]
    gap: timedelta | None = None
    places: set[tuple[RunKey, datetime]] = field(default_factory=set)
    handed: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        h = self.world.history
        self._claim, self._take_over = h.claim, h.take_over  # type: ignore[attr-defined]
        self._cancel, self._write_lock = h.cancel, h.write_lock  # type: ignore[attr-defined]
        self._send = self.world.queue.send
        h.claim = self.claim  # type: ignore[attr-defined]
        h.take_over = self.take_over  # type: ignore[attr-defined]
        h.cancel = self.cancel  # type: ignore[attr-defined]
        h.write_lock = self.write_lock  # type: ignore[method-assign]
        h.read_run = self.read_run  # type: ignore[attr-defined]
        self.world.queue.send = self.send  # type: ignore[method-assign]

    # --- at every write

    def claim(self, key: RunKey, *args: Any, **kwargs: Any) -> Any:
        before = len(self.world.history.runs[key])
        result = self._claim(key, *args, **kwargs)
        if len(self.world.history.runs[key]) > before:
            self._check_alone(key)
        return result

    def take_over(self, key: RunKey, *args: Any, **kwargs: Any) -> Any:
        before = len(self.world.history.runs[key])
        result = self._take_over(key, *args, **kwargs)
        if len(self.world.history.runs[key]) > before:
            self._check_alone(key)
        return result

    def _check_alone(self, key: RunKey) -> None:
        if key.job_id not in self.limited:
            return
        for other in self.runs_of(key.job_id):
            same = other.key.uid == key.uid and other.key != key
            if same and _has_begun(other):
                self.world.history.violate(
                    "no two at once", f"{key.job_id}: {key.run_id} beside {other.key.run_id}"
                )

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        done = bool(self._write_lock(job_id, believed, lock))
        changed = believed is None or believed.holder != lock.holder
        # A run that has a row was redriven, or asked for: it is due when that was.
        first = lock.holder and self.world.inner.read_run(lock.holder) is None
        line = believed.waiting if believed is not None and believed.uid == lock.uid else ()
        if done and changed and first and lock.holder is not None:
            due = lock.holder.scheduled_for
            older = [s.key.run_id for s in (*line, *lock.waiting) if s.due < due]
            if older:
                self.world.history.violate(
                    "the oldest goes first", f"{job_id}: {lock.holder.run_id} before {older[0]}"
                )
        for sent in line if done else ():
            run = self.world.inner.read_run(sent.key)
            if not lock.has(sent.key) and (run is None or not run.ended):
                name = f"{job_id} {sent.key.run_id}"
                self.world.history.violate("nobody falls out of line", name)
        return done

    def read_run(self, key: RunKey) -> Run | None:
        current = self.world.kernel.current
        if current is not None:
            current.process.facts["read", key] = self.world.kernel.now
        found: Run | None = self.world.inner.read_run(key)
        return found

    def cancel(self, key: RunKey, due: datetime, e: Any, **kwargs: Any) -> Any:
        if e.code == "replaced":
            by = parse_run_id(key.job_id, e.detail.removeprefix("replaced by "))
            assert by is not None
            name = f"{key.job_id}: {key.run_id} by {by.run_id}"
            if self._was_known_to_have_ended(by):
                self.world.history.violate("nobody gives way to a run that has ended", name)
            if not key.trigger and not by.trigger and by.scheduled_for < key.scheduled_for:
                self.world.history.violate("nobody gives way to an older run", name)
        return self._cancel(key, due, e, **kwargs)

    def _was_known_to_have_ended(self, key: RunKey) -> bool:
        """By whoever acts now, when it last looked; or nobody looked."""
        current = self.world.kernel.current
        looked = current.process.facts.get(("read", key)) if current is not None else None
        if looked is None:
            return True
        seen = [w.after for w in self.world.history.runs[key] if w.at <= int(str(looked))]
        return bool(seen) and seen[-1] is not None and seen[-1].ended

    def send(self, outgoing: Any) -> list[bool]:
        outgoing = list(outgoing)
        soon = self.world.kernel.instant() + CLOCKS
        for o in outgoing:
            m = o.message
            if not m.key.trigger and (m.held_until is not None or m.due > soon):
                self.places.add((m.key, m.start))
        return list(self._send(outgoing))

    # --- after the quiet

    def judge(self) -> None:
        self._judge_lines()
        self._judge_backfills()
        if self.gap is not None:
            self._judge_places(self.gap)

    def runs_of(self, job_id: str) -> list[Run]:
        page = self.world.inner.list_runs(job_id, limit=100_000)
        return [run for run in page.items if isinstance(run, Run)]

    def _judge_lines(self) -> None:
        for job_id in self.limited:
            lock = self.world.inner.read_lock(job_id)
            for sent in lock.waiting if lock else ():
                run = self.world.inner.read_run(sent.key)
                holder = lock.holder and self.world.inner.read_run(lock.holder)
                if run is None and (holder is None or holder.ended):
                    self.world.history.violate(
                        "nobody waits for ever", f"{job_id} {sent.key.run_id}"
                    )

    def _judge_backfills(self) -> None:
        for job_id in self.world.drafts:
            for b in self.world.inner.list_backfills(job_id, limit=1_000).items:
                assert isinstance(b, Backfill)
                self._judge_backfill(b)
            by_occurrence: dict[tuple[str, datetime], list[Run]] = defaultdict(list)
            for run in self.runs_of(job_id):
                mine = backfill_of(run.key) is not None
                if (mine or not run.key.trigger) and self.world.history.executions.get(run.key):
                    by_occurrence[run.key.uid, run.key.scheduled_for].append(run)
            for (_, at), runs in by_occurrence.items():
                own = [run for run in runs if not run.key.trigger]
                filled = [run for run in runs if run.key.trigger]
                if not own or not filled:
                    continue
                name = f"{job_id} {at:%H:%M:%S}: {[r.key.run_id for r in runs]}"
                if own[0].status in ("succeeded", "failed", *OPEN):
                    self.world.history.violate("a backfill doubles nothing", name)

    def _judge_backfill(self, b: Backfill) -> None:
        name = f"{b.job_id} {b.id}"
        if b.status == "running":
            self.world.history.violate("every backfill ends", f"{name}: {b}")
        if b.status == "done" and b.started + b.existing != b.total:
            self.world.history.violate("a backfill looks at each once", f"{name}: {b}")
        if b.status != "done":
            return
        found = [run for run in self.runs_of(b.job_id) if run.key.trigger == b.trigger]
        if len([run for run in found if run.key.uid == b.uid]) != b.started:
            self.world.history.violate("what a backfill started is there", f"{name}: {b}")

    def _judge_places(self, gap: timedelta) -> None:
        """Those that were given away: an overdue run starts at once, by the clock of its sender."""
        places = sorted(at for _, at in self.places)
        for one, two in pairwise(places):
            if two - one < gap - ROUNDED:
                name = f"{one:%H:%M:%S.%f} and {two:%H:%M:%S.%f}"
                self.world.history.violate("a group keeps to its limit", name)
                return

    def judge_hand_over(self) -> None:
        """Without trouble: from the end of a run to the claim of the next one, in true time."""
        h = self.world.history
        for job_id in self.limited:
            waited = {s.key for _, lock in h.locks[job_id] for s in lock.waiting}
            writes = [w for key, found in h.runs.items() if key.job_id == job_id for w in found]
            ends = sorted(w.at for w in writes if w.after and w.after.status in ENDED)
            for w in writes:
                if w.method != "claim" or w.after is None or w.after.key not in waited:
                    continue
                # Not before its due time, by the clock of whoever claims.
                due = int((w.after.due - START).total_seconds() * 1000) - w.process.offset
                late = w.at - max([due, *(at for at in ends if at <= w.at)])
                self.handed.append(late / 1000)
                if late > HANDED_OVER:
                    name = f"{job_id} {w.after.key.run_id}: after {late / 1000:.1f} s"
                    h.violate("handed over within two seconds", name)


def _has_begun(run: Run) -> bool:
    """Claimed and not ended; a redriven one that was not claimed again holds nothing."""
    return run.status == "running" or (run.status == "retrying" and run.attempt > run.base)
