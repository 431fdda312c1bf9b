"""What the application needs of the outside: table, queue, clock, threads.

Every write is conditional on what the writer believed. A failed condition is a value (`Refused`,
False, None), never an exception; the row found is handed back. A write whose first try succeeded
and only its answer was lost is recognised by its own token or value, and reported as done.

Every method may raise `Throttled` or `Unavailable` (cronce.domain.errors): nothing is then known of
whether the write was applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from cronce.announce import Announcer, Silent
from cronce.calendars import CalendarStore
from cronce.domain.identity import RunKey
from cronce.domain.job import DEFAULT_GROUP, Definition, Job, StoredJob
from cronce.domain.message import Message
from cronce.domain.overlap import Lock
from cronce.domain.plan import Due, Missed
from cronce.domain.record import DispatchRecord
from cronce.domain.run import Entry, Run, RunStatus
from cronce.domain.stamps import Stamp
from cronce.domain.transitions import Claim, Ending
from cronce.operate.port import OperateStore
from cronce.stores import BackfillStore, GroupStore, ListStore

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Changed:
    """The write was applied (now, or by the try whose answer was lost). run: the row as it is."""

    run: Run


@dataclass(frozen=True)
class Refused:
    """The condition did not hold. run: the row as it was found, None when there is none."""

    run: Run | None


Result = Changed | Refused


@dataclass(frozen=True)
class DueJob:
    """A job in the `next_run` index, as the index tells it: possibly a moment old.

    plan: unchecked, straight from the row. next: T, the value that an advance must find.
    """

    job_id: str
    uid: str
    generation: int
    plan: Mapping[str, object]
    next: Due
    runs_planned: int = 0
    group: str = DEFAULT_GROUP

    @property
    def at(self) -> datetime:
        return self.next.due


@dataclass(frozen=True)
class DueRun:
    """A triggered run or a far retry, waiting in the index until `at`."""

    key: RunKey
    at: datetime

    @property
    def due(self) -> datetime:
        """When it may start. A run that a clock which is ahead began, ended and let be redriven
        before its occurrence is still not early for the next worker."""
        return max(self.at, self.key.scheduled_for)


@dataclass(frozen=True)
class DueBackfill:
    """A backfill that goes on at `at`."""

    job_id: str
    backfill_id: str
    at: datetime


@dataclass(frozen=True)
class DueRecord:
    """A dispatch record to reconcile."""

    slice: int
    record_id: str
    at: datetime


@dataclass(frozen=True)
class BrokenRow:
    """A row of a known version in the index that cannot be read.

    pk, sk: its key. next_run: the raw value, which a write must find again. reason: one sentence.
    """

    pk: str
    sk: str
    next_run: str
    reason: str
    at: datetime


DueItem = DueJob | DueRun | DueBackfill | DueRecord | BrokenRow


@dataclass(frozen=True)
class Lease:
    """A dispatcher's lease on its slice. claimed_up_to: the latest due time seen claimed."""

    slice: int
    owner: str
    shards: int
    claimed_up_to: datetime | None = None


@dataclass(frozen=True)
class Page:
    """cursor: opaque, None on the last page."""

    items: tuple[object, ...]
    cursor: str | None


class JobStore(Protocol):
    def read_job(self, job_id: str) -> StoredJob | None:
        """Job, definition and overlap lock by one consistent query. Raises Unplannable for an
        unreadable row."""

    def create_job(self, job: Job, definition: Definition) -> Job | None:
        """Both rows in one transaction, if there is no such job. The Job found where there is one
        (of another uid), None when created. Raises CalendarNotFound for a plan that names a
        calendar that is not there."""

    def edit_job(self, believed: Job, job: Job, definition: Definition, *, replan: bool) -> bool:
        """Both rows in one transaction, if uid and version are still the believed ones.

        Writes the user's fields (version, plan, group, reason, definition); with `replan` also
        generation, status, changed_at, runs_planned and next (the index entry; none when `job.next`
        is None). Without it, what the dispatcher advances meanwhile is left alone. False: somebody
        else was first, or it is gone. Raises CalendarNotFound as `create_job`.
        """

    def delete_job(self, believed: Job) -> bool:
        """Both rows in one transaction, if uid and version are still the believed ones."""

    def expire_job(self, job: Job, expires_at: int) -> bool:
        """Both rows go away at that time (epoch seconds), in one transaction, if the job still is
        of this uid and generation, and ended. From then on it is not read any more."""

    def advance(
        self,
        due: DueJob,
        then: Due | None,
        *,
        runs_planned: int,
        reason: str = "",
        stamp: Stamp | None = None,
    ) -> bool:
        """T -> T', if the row still has this uid, this generation and T; never creates a row.

        then None: the schedule has ended; the row leaves the index with status `ended`.
        stamp: with what `then` was planned; nothing else of the plan is written.
        """

    def set_error(self, row: DueJob | BrokenRow, reason: str) -> bool:
        """Status `error` with the reason; leaves the index. Same condition as `advance`; for a
        BrokenRow: the row still has this raw next_run."""

    def set_failing(self, job: Job, failing: bool) -> bool:
        """True if it made the difference; False also when its answer was lost."""

    def put_missed(
        self, job_id: str, uid: str, missed: Missed, *, now: datetime, history: int
    ) -> None:
        """One row per outage and job; the same outage seen again overwrites it."""

    def find_missed(self, key: RunKey) -> Missed | None:
        """A missed row of this job and uid that covers the occurrence, read consistently."""


class LockStore(Protocol):
    """The overlap lock of a job. The rules are `domain/overlap.py`."""

    def read_lock(self, job_id: str) -> Lock | None:
        """Consistent."""

    def write_lock(self, job_id: str, believed: Lock | None, lock: Lock) -> bool:
        """If the row still is as believed: of that uid and version, or absent."""


class RunStore(Protocol):
    """Each write is the transition of the same name in `domain/transitions.py`."""

    def read_run(self, key: RunKey) -> Run | None:
        """Consistent."""

    def read_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
        """Up to 100 keys, eventually consistent; those without a row are absent."""

    def list_runs(
        self,
        job_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        earliest: datetime | None = None,
        latest: datetime | None = None,
        status: RunStatus | None = None,
    ) -> Page:
        """Of the job, latest occurrence first; read consistently when both bounds, inclusive, are
        given. A page of one status may be short, even empty, and still have a cursor. Raises
        Invalid for a cursor that is not ours."""

    def trigger(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result:
        """The pending row with its index attributes, in one write. With a client's id (`m-…`)
        the same id again finds the first run, whatever its scheduled_for: Refused(that run)."""

    def claim(self, key: RunKey, c: Claim, *, now: datetime) -> Result: ...

    def take_over(self, key: RunKey, c: Claim, *, seen: Run, now: datetime) -> Result: ...

    def lose(self, key: RunKey, e: Ending, *, seen: Run, now: datetime) -> Result: ...

    def renew(self, key: RunKey, owner: str, lease_expires_at: datetime) -> Result: ...

    def succeed(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result: ...

    def fail(
        self, key: RunKey, owner: str, entry: Entry, e: Ending, *, now: datetime
    ) -> Result: ...

    def retry(
        self, key: RunKey, owner: str, entry: Entry, *, retry_at: datetime, in_index: bool
    ) -> Result: ...

    def skip(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result: ...

    def miss(self, key: RunKey, due: datetime, e: Ending, *, now: datetime) -> Result: ...

    def concede(self, key: RunKey, owner: str, e: Ending, *, now: datetime) -> Result: ...

    def cancel(
        self, key: RunKey, due: datetime, e: Ending, *, by_request: bool, now: datetime
    ) -> Result: ...

    def redrive(self, key: RunKey, *, triggered_by: str, now: datetime) -> Result: ...

    def dispatched(self, row: DueRun) -> bool:
        """Takes the run out of the index, if it still lies there at this instant."""


class DispatchStore(Protocol):
    def acquire_lease(
        self, slice_: int, owner: str, *, now: datetime, expires_at: datetime, shards: int
    ) -> Lease | None:
        """One write. None: another owner holds it; nobody does when it ends further away than any
        lease may, by a clock that was far ahead. shards: the deployment's number; the stored one
        grows to it and never shrinks."""

    def note_claimed(self, lease: Lease, claimed_up_to: datetime) -> None:
        """Remembers the latest due time seen claimed; never moves it backwards."""

    def due(self, shards: Sequence[int], until: datetime) -> Iterator[DueItem]:
        """What lies in the index up to `until` inclusive: every page of every shard, merged oldest
        first, lazily (a page is fetched when its turn comes). Rows of an unknown `v` are passed
        over. Eventually consistent."""

    def put_record(self, record: DispatchRecord) -> None:
        """Written before its messages are sent. The same record again overwrites itself."""

    def read_record(self, slice_: int, record_id: str) -> DispatchRecord | None:
        """Consistent."""

    def update_record(self, believed: DispatchRecord, record: DispatchRecord) -> bool:
        """If it is still at the believed next_run. `record.next_run` None: out of the index, with
        an expiry."""


class Store(
    JobStore,
    LockStore,
    RunStore,
    BackfillStore,
    GroupStore,
    CalendarStore,
    ListStore,
    DispatchStore,
    OperateStore,
    Protocol,
):
    """The table."""


@dataclass(frozen=True)
class Outgoing:
    """delay: whole seconds, 0..900."""

    message: Message
    delay: int


class RunQueue(Protocol):
    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Packed into batches by count and bytes. True per message that the queue accepted; a batch
        whose answer never came counts as not accepted (its messages may still be there)."""

    def idle(self) -> bool:
        """No message is visible: whatever was sent and is due has been received, or lost."""

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """Visibility of received messages, counted from now, whole seconds, at most
        `limits.QUEUE_MAX_HIDDEN`. A receipt that is no longer valid is passed over."""

    def dead_letter(self, body: str, reason: str) -> None:
        """A copy to the dead-letter queue. The caller then acknowledges the message."""


class Clock(Protocol):
    def now(self) -> datetime:
        """UTC, aware, whole milliseconds: what the table keeps, so that values compare equal."""

    def sleep(self, seconds: float) -> None: ...


class Task(Protocol):
    def wait(self, seconds: float) -> bool:
        """True when it has ended, at the latest after so many seconds."""

    def result(self) -> object:
        """The value returned, or raises what it raised. Only once it has ended."""


class Threads(Protocol):
    """Concurrency as a port, so that a test can run it in virtual time."""

    def start(self, work: Callable[[], object]) -> Task: ...

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """All at once, bounded; results in order. Raises the first error after all ended."""


class Random(Protocol):
    def token(self) -> str:
        """Unguessable, unique: owner tokens, ids."""

    def uid(self) -> str:
        """8 of a-z 0-9."""

    def fraction(self) -> float:
        """0 <= x <= 1."""


class Observer(Protocol):
    """What happened, for logs and metrics; must not raise."""

    def event(self, action: str, **fields: object) -> None: ...


@dataclass(frozen=True)
class Ports:
    store: Store
    queue: RunQueue
    clock: Clock
    threads: Threads
    random: Random
    observer: Observer
    announcer: Announcer = field(default_factory=Silent)
