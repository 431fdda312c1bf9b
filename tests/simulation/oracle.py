"""After the quiet: was everything that was due run or counted, and once?

What was due is computed from the writes to the job rows that were really applied, with arithmetic
of its own. The table is asked only for what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.domain.identity import RunKey

from .history import CLOCKS, ENDED, JobWrite
from .kernel import START, Process
from .timetable import Timetable
from .world import World


@dataclass(frozen=True)
class Era:
    """One generation of a job: (after, until] of its timetable. until: by the clock of whoever
    ended it; None while it lasts."""

    job_id: str
    uid: str
    timetable: Timetable
    active: bool
    after: datetime
    until: datetime | None


def eras(job_id: str, writes: list[JobWrite]) -> Iterator[Era]:
    current: tuple[str, Timetable, bool, datetime] | None = None
    for w in writes:
        replanned = w.kind == "edit" and w.before and w.after
        if replanned and w.before.generation == w.after.generation:  # type: ignore[union-attr]
            continue
        if current is not None and w.kind in ("edit", "delete", "error"):
            until = w.after.changed_at if w.kind == "edit" and w.after else w.clock
            yield Era(job_id, *current, until)
            current = None
        if w.kind in ("create", "edit") and w.after is not None:
            job = w.after
            schedule = job.plan["schedule"]
            assert isinstance(schedule, dict)
            current = (job.uid, Timetable(schedule), job.status == "active", job.changed_at)
    if current is not None:
        yield Era(job_id, *current, None)


def judge(world: World, judged_until: datetime) -> None:
    """Adds what is broken to the world's history."""
    due = due_of(world, judged_until)
    for key, job_is_active in due.items():
        _judge_occurrence(world, key, required=job_is_active)
    _judge_triggered(world)
    _judge_runs(world)
    _judge_missed(world, due)


def unfinished(world: World, judged_until: datetime) -> bool:
    """Whether more quiet could still change the judgement."""
    keys = {k for k, required in due_of(world, judged_until).items() if required}
    for key in (*keys, *world.promised, *world.history.runs):
        run = world.inner.read_run(key)
        if run is not None and run.status in ENDED:
            continue
        if run is None and world.inner.find_missed(key) is not None:
            continue
        if run is not None and key not in keys and key.scheduled_for > judged_until:
            continue
        return True
    return False


def due_of(world: World, until: datetime) -> dict[RunKey, bool]:
    """Every occurrence up to `until`; True where the job was active."""
    due: dict[RunKey, bool] = {}
    for job_id, writes in world.history.jobs.items():
        if job_id.startswith("broken"):
            continue
        for era in eras(job_id, writes):
            end = min(until, era.until or until)
            for at in era.timetable.within(era.after, end):
                key = RunKey(job_id, era.uid, at)
                due[key] = due.get(key, False) or era.active
    return due


def _judge_occurrence(world: World, key: RunKey, *, required: bool) -> None:
    h = world.history
    name = f"{key.job_id} {key.run_id}"
    run = world.inner.read_run(key)
    missed = world.inner.find_missed(key)
    if run is None and missed is None and required:
        h.violate("nothing is lost", f"{name} has no row and no missed record")
    if run is not None and run.status not in ENDED:
        h.violate("every run ends", f"{name} is {run.status}, attempt {run.attempt}")
    if missed is not None and (
        h.executions.get(key) or (run and run.status in ("succeeded", "failed"))
    ):
        status = run.status if run else "no row"
        h.violate("missed or run, never both", f"{name}: {status} and {missed}")


def _judge_triggered(world: World) -> None:
    h = world.history
    by_client: dict[tuple[str, str, str], set[RunKey]] = {}
    keys = {k for k, writes in h.runs.items() if writes[0].method == "trigger"}
    for key in keys | set(world.promised):
        run = world.inner.read_run(key)
        name = f"{key.job_id} {key.run_id}"
        if run is None:
            h.violate("what the API promised is there", name)
        elif run.status not in ENDED:
            h.violate("every run ends", f"{name} is {run.status}, attempt {run.attempt}")
        if key.trigger.startswith("m-"):
            by_client.setdefault((key.job_id, key.uid, key.trigger), set()).add(key)
    for client, found in by_client.items():
        if len(found) > 1:
            h.violate("once per client id", f"{client}: {len(found)} runs")


def _judge_runs(world: World) -> None:
    """Runs that nobody expected, and executions that nothing explains."""
    h = world.history
    for key, executions in h.executions.items():
        name = f"{key.job_id} {key.run_id}"
        run = world.inner.read_run(key)
        if not executions:
            continue
        if run is None or run.attempt < executions[-1].attempt:
            h.violate("what ran is recorded", name)
        first = h.jobs[key.job_id][0] if h.jobs[key.job_id] else None
        if first is None or first.after is None:
            continue
        if key.scheduled_for < START - timedelta(hours=1):
            h.violate("an old message is refused", name)


def _judge_missed(world: World, due: dict[RunKey, bool]) -> None:
    h = world.history
    counters: dict[tuple[str, str], list[tuple[int, Process]]] = {}
    for at, job_id, uid, missed, clock, process in h.missed:
        counters.setdefault((job_id, uid), []).append((at, process))
        if missed.reason == "missed" and missed.last > clock + CLOCKS:
            h.violate("nothing is missed before its time", f"{job_id} {missed} at {at}")
    by_job: dict[tuple[str, str], list[datetime]] = {}
    for key in due:
        by_job.setdefault((key.job_id, key.uid), []).append(key.scheduled_for)
    for (job_id, uid), instants in by_job.items():
        if _at_once(counters.get((job_id, uid), [])):
            continue
        rows = [m for m in world.missed_rows(job_id, uid) if m.count]
        for at in instants:
            counted = [m for m in rows if m.first <= at <= m.last]
            if len(counted) > 1:
                h.violate("counted once", f"{job_id} {uid} {at:%H:%M:%S}: {counted}")
        for m in rows:
            covered = sum(m.first <= at <= m.last for at in instants)
            if m.count != covered:
                h.violate("the count is right", f"{job_id} {uid}: {covered} in {m}")


def _at_once(puts: list[tuple[int, Process]]) -> bool:
    """Two count the same outage at once: what both leave may count an occurrence twice. That is
    accepted (it has not run, and says so); what is never accepted is one that has run as well."""
    return any(
        a is not b and abs(first - second) < 60_000
        for n, (first, a) in enumerate(puts)
        for second, b in puts[n + 1 :]
    )
