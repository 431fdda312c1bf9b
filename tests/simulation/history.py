"""What really happened to the table, and the rules that hold at every single write.

It lies between the store and everybody's faults: it sees each write as it is applied, the row
before and after, and who applied it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronce.adapters.items import JOB_SK, job_pk, run_sk
from cronce.adapters.job_items import job_from_item
from cronce.adapters.run_items import run_from_item
from cronce.domain.identity import RunKey
from cronce.domain.job import Job
from cronce.domain.overlap import Lock
from cronce.domain.plan import Missed
from cronce.domain.run import Run
from cronce.ports import DueJob, Refused

from .kernel import Kernel, Process
from .timetable import Timetable

CLOCKS = timedelta(seconds=5)
ENDED = {"succeeded", "failed", "skipped", "cancelled", "missed"}

# name of the write -> (statuses it may leave, status it enters); "" is no row.
ALLOWED: dict[str, tuple[set[str], str]] = {
    "trigger": ({""}, "pending"),
    "claim": ({"", "pending", "retrying"}, "running"),
    "take_over": ({"running"}, "running"),
    "renew": ({"running"}, "running"),
    "succeed": ({"running"}, "succeeded"),
    "fail": ({"running"}, "failed"),
    "lose": ({"running"}, "failed"),
    "retry": ({"running"}, "retrying"),
    "skip": ({"", "pending"}, "skipped"),
    "miss": ({"", "pending"}, "missed"),
    "concede": ({"running"}, "missed"),
    "cancel": ({"", "pending", "retrying", "running"}, "cancelled"),
    "redrive": ({"failed"}, "retrying"),
}
OWNED = {"succeed", "fail", "retry", "concede", "renew"}


@dataclass(frozen=True)
class Broken:
    """One rule broken. at: milliseconds of true time."""

    rule: str
    detail: str
    at: int

    def __str__(self) -> str:
        return f"{self.at / 1000:9.3f} s  {self.rule}: {self.detail}"


@dataclass(frozen=True)
class JobWrite:
    """kind: create, edit, delete, advance, error. clock: the writer's, when it last read the job:
    what it decided upon lies no earlier."""

    at: int
    kind: str
    before: Job | None
    after: Job | None
    clock: datetime


@dataclass(frozen=True)
class RunWrite:
    at: int
    method: str
    before: Run | None
    after: Run | None
    process: Process


@dataclass(frozen=True)
class Execution:
    at: int
    key: RunKey
    attempt: int
    process: Process


@dataclass
class History:
    kernel: Kernel
    inner: Any
    broken: list[Broken] = field(default_factory=list)
    jobs: dict[str, list[JobWrite]] = field(default_factory=lambda: defaultdict(list))
    runs: dict[RunKey, list[RunWrite]] = field(default_factory=lambda: defaultdict(list))
    executions: dict[RunKey, list[Execution]] = field(default_factory=lambda: defaultdict(list))
    endings: Counter[RunKey] = field(default_factory=Counter)
    missed: list[tuple[int, str, str, Missed, datetime, Process]] = field(default_factory=list)
    most_attempts: Counter[str] = field(default_factory=Counter)
    locks: dict[str, list[tuple[int, Lock]]] = field(default_factory=lambda: defaultdict(list))
    sent: dict[RunKey, int] = field(default_factory=dict)
    trace: Callable[..., None] | None = None
    before_missed: Callable[[str, str, Missed], None] = lambda *what: None
    after_find: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._rows = self.inner.rows._rows

    def violate(self, rule: str, detail: str) -> None:
        self.broken.append(Broken(rule, detail, self.kernel.now))
        self.kernel.stopped = True
        if self.trace is not None:
            self.trace(self._process(), f"VIOLATION {rule}", {"detail": detail})

    def _tell(self, action: str, **fields: object) -> None:
        if self.trace is not None:
            self.trace(self._process(), action, fields)

    def __getattr__(self, name: str) -> Any:
        """Reads, and what has no rule of its own."""
        return getattr(self.inner, name)

    def age(self, lag: timedelta) -> None:
        self.inner.lag = lag

    def _process(self) -> Process:
        current = self.kernel.current
        return current.process if current is not None else Process("oracle")

    # --- jobs

    def read_job(self, job_id: str) -> Any:
        stored = self.inner.read_job(job_id)
        process = self._process()
        reads = process.facts.setdefault("reads", [])
        assert isinstance(reads, list)
        reads.append((self.kernel.instant(process.offset), job_id, stored))
        process.facts["clock"] = self.kernel.instant(process.offset)
        return stored

    def create_job(self, job: Job, definition: Any) -> Any:
        return self._job("create", job.job_id, lambda: self.inner.create_job(job, definition))

    def edit_job(self, believed: Job, job: Job, definition: Any, *, replan: bool) -> bool:
        return bool(
            self._job(
                "edit",
                job.job_id,
                lambda: self.inner.edit_job(believed, job, definition, replan=replan),
            )
        )

    def delete_job(self, believed: Job) -> bool:
        return bool(self._job("delete", believed.job_id, lambda: self.inner.delete_job(believed)))

    def advance(self, due: DueJob, then: Any, **more: Any) -> bool:
        def check(before: Job | None, after: Job | None) -> None:
            if before is None:
                self.violate("advance creates no row", due.job_id)
                return
            if (before.uid, before.generation) != (due.uid, due.generation):
                self.violate(
                    "advance only what was planned",
                    f"{due.job_id}: planned for {due.uid}/{due.generation},"
                    f" written to {before.uid}/{before.generation}",
                )
            self._check_passed(before, after)
            moved = after.next if after else None
            if before.next and moved and moved.scheduled_for <= before.next.scheduled_for:
                self.violate("next_run never goes back", f"{due.job_id}: {before.next} -> {moved}")

        write = lambda: self.inner.advance(due, then, **more)  # noqa: E731
        return bool(self._job("advance", due.job_id, write, check))

    def _check_passed(self, before: Job, after: Job | None) -> None:
        """What an advance leaves behind was accepted by the queue, or is counted as missed."""
        first = before.next.scheduled_for if before.next else before.changed_at
        then = after.next.scheduled_for if after and after.next else first + timedelta(seconds=1)
        schedule = before.plan["schedule"]
        assert isinstance(schedule, dict)
        second = timedelta(seconds=1)
        for at in Timetable(schedule).within(first - second, then - second):
            key = RunKey(before.job_id, before.uid, at)
            if key not in self.sent and self.inner.find_missed(key) is None:
                self.violate("advance only past what was sent", f"{key.job_id} {key.run_id}")

    def set_error(self, row: Any, reason: str) -> bool:
        job_id = row.job_id if isinstance(row, DueJob) else row.pk.removeprefix("JOB#")
        return bool(self._job("error", job_id, lambda: self.inner.set_error(row, reason)))

    def _job(
        self,
        kind: str,
        job_id: str,
        write: Callable[[], Any],
        check: Callable[[Job | None, Job | None], None] | None = None,
    ) -> Any:
        row = (job_pk(job_id), JOB_SK)
        found = self._rows.get(row)
        result = write()
        then = self._rows.get(row)
        if found is not then and found != then:
            before, after = _job(found), _job(then)
            if check is not None:
                check(before, after)
            process = self._process()
            self._tell(kind, job=job_id, next=after.next if after else None)
            clock = process.facts.get("clock") or self.kernel.instant(process.offset)
            assert isinstance(clock, datetime)
            spec = self.inner.read_job(job_id)
            if spec is not None and kind in ("create", "edit"):
                most = spec.definition.retry.max_attempts
                self.most_attempts[job_id] = max(most, self.most_attempts[job_id])
            self.jobs[job_id].append(JobWrite(self.kernel.now, kind, before, after, clock))
        return result

    def find_missed(self, key: RunKey) -> Missed | None:
        found: Missed | None = self.inner.find_missed(key)
        self.after_find()
        return found

    def put_missed(self, job_id: str, uid: str, missed: Missed, **more: Any) -> None:
        process = self._process()
        self.missed.append(
            (self.kernel.now, job_id, uid, missed, self.kernel.instant(process.offset), process)
        )
        self.before_missed(job_id, uid, missed)
        self._tell("put_missed", job=job_id, uid=uid, missed=missed)
        self.inner.put_missed(job_id, uid, missed, **more)

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        done = bool(self.inner.write_lock(job_id, believed, lock))
        if done:
            self._tell("write_lock", job=job_id, lock=lock)
            self.locks[job_id].append((self.kernel.now, lock))
        return done

    def locks_since(self, job_id: str, begun: int) -> list[Lock]:
        """As they were at that time, and every one after it."""
        found = self.locks[job_id]
        before = [lock for at, lock in found if at < begun]
        return [*before[-1:], *(lock for at, lock in found if at >= begun)]

    # --- runs

    def _run(self, method: str, key: RunKey, args: Any, kwargs: Any) -> Any:
        row = (job_pk(key.job_id), run_sk(key))
        before = self._rows.get(row)
        result = getattr(self.inner, method)(key, *args, **kwargs)
        after = self._rows.get(row)
        if before is not after and before != after:
            old = run_from_item(before) if before else None
            new = run_from_item(after) if after else None
            self._changed(method, key, old, new, args, kwargs)
            if isinstance(result, Refused):
                self.violate("a refused write changes nothing", f"{method} {key.run_id}")
        return result

    def _changed(
        self, method: str, key: RunKey, before: Run | None, after: Run | None, args: Any, kw: Any
    ) -> None:
        name = f"{method} {key.job_id} {key.run_id}"
        if after is None:
            self.violate("a run's row stays", name)
            return
        self._tell(method, run=name, status=after.status, attempt=after.attempt)
        self.runs[key].append(RunWrite(self.kernel.now, method, before, after, self._process()))
        leaves, enters = ALLOWED[method]
        old = before.status if before else ""
        if old not in leaves or after.status != enters:
            self.violate("only allowed moves", f"{name}: {old or 'none'} -> {after.status}")
        if after.status in ENDED:
            self.endings[key] += 1
            redriven = sum(w.method == "redrive" for w in self.runs[key])
            if self.endings[key] > 1 + redriven:
                self.violate("a run ends once", name)
        if (after.expires_at is not None) != (after.status in ENDED):
            self.violate("only an ended run expires", f"{name}: {after.status} {after.expires_at}")
        self._attempts(method, name, before, after)
        self._owner(method, name, before, args, kw)

    def _attempts(self, method: str, name: str, before: Run | None, after: Run) -> None:
        was = before.attempt if before else 0
        counts = method in ("claim", "take_over")
        if after.attempt != was + counts:
            self.violate("the claim counts the attempt", f"{name}: {was} -> {after.attempt}")

    def _owner(self, method: str, name: str, before: Run | None, args: Any, kw: Any) -> None:
        if method in OWNED:
            if before is None or not before.owner or before.owner != args[0]:
                self.violate("only the owner writes", name)
            return
        if method in ("take_over", "lose"):
            self._check_reason(name, args, before)
        live = before is not None and before.status == "running" and before.lease_expires_at
        if not live or method == "redrive" or (method == "cancel" and kw["by_request"]):
            return
        assert before is not None
        assert before.lease_expires_at is not None
        if before.lease_expires_at > min(kw["now"], self.kernel.instant() + CLOCKS):
            self.violate("one live owner", f"{name}: lease until {before.lease_expires_at}")

    def _check_reason(self, name: str, args: Any, before: Run | None) -> None:
        """Only something that went wrong takes a run from its worker."""
        if before is None:
            return
        claims = [w for w in self.runs[before.key] if w.method in ("claim", "take_over")]
        owner = [w.process for w in claims if w.after and w.after.owner == before.owner]
        if owner and not owner[0].wounded:
            self.violate("nothing is taken from a healthy worker", name)

    def dispatched(self, row: Any) -> Any:
        return self.inner.dispatched(row)

    # --- executions

    def executed(self, key: RunKey, attempt: int) -> None:
        process = self._process()
        name = f"{key.job_id} {key.run_id} attempt {attempt}"
        own = self.kernel.instant(process.offset)
        earlier = self.executions[key]
        # Who was stopped between claim and call may come after a later attempt: for that the target
        # is told the attempt. Never twice with the same one.
        if any(e.attempt == attempt for e in earlier):
            self.violate("each execution has an attempt of its own", name)
        if any(e.attempt > attempt for e in earlier) and not process.wounded:
            self.violate("attempts come in order", name)
        run = self.inner.read_run(key)
        if run is not None and attempt > run.base + self.most_attempts[key.job_id]:
            self.violate("attempts run out", name)
        if own < key.scheduled_for or self.kernel.instant() < key.scheduled_for - CLOCKS:
            self.violate("never early", name)
        earlier.append(Execution(self.kernel.now, key, attempt, process))
        if not _permitted(process, key):
            self.violate("decided at the due time, of the job as it is", name)


def _permitted(process: Process, key: RunKey) -> bool:
    """Whether this process read the job, at or after the occurrence, as one that has it."""
    reads = process.facts.get("reads", [])
    assert isinstance(reads, list)
    return any(
        clock >= key.scheduled_for and stored is not None and _has(stored.job, key)
        for clock, job_id, stored in reads
        if job_id == key.job_id
    )


def _job(item: Any) -> Job | None:
    return job_from_item(item) if item else None


def _has(job: Job, key: RunKey) -> bool:
    if job.uid != key.uid:
        return False
    if key.trigger:
        return True
    if job.status == "paused":
        return False
    schedule = job.plan["schedule"]
    assert isinstance(schedule, dict)
    return key.scheduled_for <= job.changed_at or Timetable(schedule).has(key.scheduled_for)


def _logged(method: str) -> Callable[..., Any]:
    def call(self: History, key: RunKey, *args: Any, **kwargs: Any) -> Any:
        return self._run(method, key, args, kwargs)

    call.__name__ = method
    return call


for _name in ALLOWED:
    setattr(History, _name, _logged(_name))
