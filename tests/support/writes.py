"""Every write of the store: what comes before it, the call, and the answer that it must give."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from cronce.domain.backfill import Backfill
from cronce.domain.groups import Group
from cronce.domain.overlap import Lock
from cronce.domain.plan import Due, Missed
from cronce.domain.run import Run
from cronce.domain.stamps import Stamp
from cronce.ports import BrokenRow, Changed, DueRun, Lease, Store
from support import samples as s

KEY = s.a_key()
TRIGGERED = s.a_key(trigger="m-once")
MISSED = Missed(s.after(-600), s.after(-60), 10, "run_once")
NEXT = Due(s.after(60), s.after(60))
NOW = s.after(40)

OPERATIONS = {
    **dict.fromkeys(
        (
            *("create_job", "edit_job", "delete_job", "expire_job"),
            *("trigger", "delete_calendar", "delete_group"),
        ),
        "TransactWriteItems",
    ),
    **dict.fromkeys(
        (
            *("put_missed", "put_record", "update_record", "write_lock"),
            *("create_backfill", "update_backfill", "write_group"),
        ),
        "PutItem",
    ),
}


@dataclass(frozen=True)
class Write:
    """method: of the store. before: makes the state in which the call succeeds. call: the write.
    done: whether an answer says that the write was applied."""

    method: str
    before: Callable[[Store], object]
    call: Callable[[Store], object]
    done: Callable[[object], bool] = bool
    variant: str = ""

    @property
    def operation(self) -> str:
        """The call of DynamoDB that it makes."""
        if self.variant in ("backfill", "first"):
            return "PutItem"
        return OPERATIONS.get(self.method, "UpdateItem")

    def __str__(self) -> str:
        return f"{self.method}-{self.variant}" if self.variant else self.method


def changed(answer: object) -> bool:
    return isinstance(answer, Changed)


def nothing(_: Store) -> None:
    return None


def returned(answer: object) -> bool:
    return answer is None


def either(answer: object) -> bool:
    """Who finds it done, or does not hear that it was, is not told that it made the difference."""
    return isinstance(answer, bool)


def with_job(store: Store) -> None:
    store.create_job(s.a_job(), s.a_definition())


def with_failing_job(store: Store) -> None:
    with_job(store)
    store.set_failing(s.a_job(), True)


def claimed(store: Store) -> Run:
    result = store.claim(KEY, s.a_claim(), now=s.AT)
    assert isinstance(result, Changed)
    return result.run


def failed(store: Store) -> None:
    claimed(store)
    store.fail(KEY, "owner-1", s.an_entry(), s.an_ending("http_500"), now=s.after(5))


def triggered(store: Store) -> None:
    store.trigger(TRIGGERED, triggered_by="somebody", now=s.AT)


def with_calendar(store: Store) -> None:
    store.put_calendar(None, CALENDAR)


def with_calendars_and_job(store: Store) -> None:
    with_calendar(store)
    store.put_calendar(None, OTHER)
    store.create_job(BOUND, s.a_definition())


def led(store: Store) -> None:
    store.acquire_lease(0, "tick-1", now=s.AT, expires_at=s.after(45), shards=16)


def locked(store: Store) -> None:
    store.write_lock("report", None, Lock(s.UID, KEY, version=1))


def ended(store: Store) -> None:
    with_job(store)
    store.advance(s.due_job(s.a_job()), None, runs_planned=1)


def filling(store: Store) -> None:
    store.create_backfill(BACKFILL)


def grouped(store: Store) -> None:
    store.write_group(None, GROUP)


def with_record(store: Store) -> None:
    store.put_record(s.a_record())


def seen() -> Run:
    """The claim of `claimed`, as another worker saw it."""
    return replace(
        Run(KEY, "running", s.AT, attempt=1, owner="owner-1"),
        lease_expires_at=s.after(30),
        started_at=s.AT,
    )


BACKFILL = Backfill(
    job_id="report",
    id="november",
    uid=s.UID,
    first=s.after(-7200),
    before=s.after(-3600),
    pace=30,
    total=60,
    shard=3,
    created_at=s.AT,
    created_by="somebody",
    overlap="queue_all",
    next_run=s.AT,
)
MOVED = BACKFILL.moved(s.after(-5400), started=28, existing=2, over=False, now=s.AT)
GROUP = Group("nightly", 2_500, (), 1, s.AT, "somebody", "writer-1")
SPREAD = replace(
    GROUP,
    busy=((10**15, 10**15 + 400_000), (10**15 + 500_000, 2 * 10**15)),
    version=2,
    writer="writer-2",
)
LOOKED_AT = replace(s.a_record(), looks=1, next_run=s.after(360))
ENDED_RECORD = replace(s.a_record(), runs=(), looks=1, counts={"succeeded": 1}, next_run=None)
EDITED = s.a_job(version=2, group="nightly")
PAUSED = s.a_job(version=2, generation=2, status="paused", next=None, reason="holidays")
CALENDAR = s.a_calendar()
OTHER = s.a_calendar("other")
CHANGED = replace(s.a_calendar(version=2), changed_at=s.after(9), changed_by="another")
BOUND = s.a_job(plan=s.a_plan(CALENDAR))
REBOUND = s.a_job(version=2, plan=s.a_plan(OTHER))

WRITES = [
    Write("create_job", nothing, lambda st: st.create_job(s.a_job(), s.a_definition()), returned),
    Write(
        "edit_job",
        with_job,
        lambda st: st.edit_job(s.a_job(), EDITED, s.a_definition(), replan=False),
    ),
    Write(
        "edit_job",
        with_job,
        lambda st: st.edit_job(s.a_job(), PAUSED, s.a_definition(), replan=True),
        variant="replan",
    ),
    Write("delete_job", with_job, lambda st: st.delete_job(s.a_job())),
    Write("advance", with_job, lambda st: st.advance(s.due_job(s.a_job()), NEXT, runs_planned=1)),
    Write(
        "advance",
        with_job,
        lambda st: st.advance(s.due_job(s.a_job()), None, runs_planned=1, reason="over"),
        variant="to-the-end",
    ),
    Write(
        "advance",
        with_calendars_and_job,
        lambda st: st.advance(
            s.due_job(BOUND), NEXT, runs_planned=1, stamp=Stamp("2099a", 3600, 2)
        ),
        variant="stamped",
    ),
    Write(
        "create_job",
        with_calendar,
        lambda st: st.create_job(BOUND, s.a_definition()),
        returned,
        variant="of-a-calendar",
    ),
    Write(
        "edit_job",
        with_calendars_and_job,
        lambda st: st.edit_job(BOUND, REBOUND, s.a_definition(), replan=True),
        variant="to-another-calendar",
    ),
    Write(
        "delete_job",
        with_calendars_and_job,
        lambda st: st.delete_job(BOUND),
        variant="of-a-calendar",
    ),
    Write("put_calendar", nothing, lambda st: st.put_calendar(None, CALENDAR), variant="first"),
    Write("put_calendar", with_calendar, lambda st: st.put_calendar(CALENDAR, CHANGED)),
    Write("delete_calendar", with_calendar, lambda st: st.delete_calendar(CALENDAR)),
    Write("expire_job", ended, lambda st: st.expire_job(s.a_job(), 1_800_000_000)),
    Write("set_failing", with_job, lambda st: st.set_failing(s.a_job(), True), either),
    Write(
        "set_failing",
        with_failing_job,
        lambda st: st.set_failing(s.a_job(), False),
        either,
        variant="no-more",
    ),
    Write("create_backfill", nothing, lambda st: st.create_backfill(BACKFILL), returned),
    Write("update_backfill", filling, lambda st: st.update_backfill(BACKFILL, MOVED)),
    Write(
        "update_backfill",
        filling,
        lambda st: st.update_backfill(BACKFILL, BACKFILL.cancelled("by request", s.after(5))),
        variant="to-the-end",
    ),
    Write("write_group", nothing, lambda st: st.write_group(None, GROUP), variant="first"),
    Write("write_group", grouped, lambda st: st.write_group(GROUP, SPREAD)),
    Write("delete_group", grouped, lambda st: st.delete_group(GROUP)),
    Write("set_error", with_job, lambda st: st.set_error(s.due_job(s.a_job()), "unknown zone")),
    Write(
        "set_error",
        with_job,
        lambda st: st.set_error(
            BrokenRow("JOB#report", "JOB", "2026-11-30T10:00:00.000Z", "no plan", s.AT), "no plan"
        ),
        variant="broken-row",
    ),
    Write(
        "put_missed",
        with_job,
        lambda st: st.put_missed("report", s.UID, MISSED, now=s.AT, history=s.HISTORY),
        returned,
    ),
    Write(
        "write_lock",
        nothing,
        lambda st: st.write_lock("report", None, Lock(s.UID, KEY, version=1)),
        variant="first",
    ),
    Write(
        "write_lock",
        locked,
        lambda st: st.write_lock(
            "report", Lock(s.UID, KEY, version=1), Lock(s.UID, None, (), version=2)
        ),
    ),
    Write(
        "trigger",
        nothing,
        lambda st: st.trigger(TRIGGERED, triggered_by="somebody", now=s.AT),
        changed,
    ),
    Write(
        "trigger",
        nothing,
        lambda st: st.trigger(s.a_key(trigger="b-fill"), triggered_by="somebody", now=s.AT),
        changed,
        variant="backfill",
    ),
    Write("claim", nothing, lambda st: st.claim(KEY, s.a_claim(), now=s.AT), changed),
    Write(
        "take_over",
        claimed,
        lambda st: st.take_over(KEY, s.a_claim("owner-2", lease=70), seen=seen(), now=NOW),
        changed,
    ),
    Write(
        "lose",
        claimed,
        lambda st: st.lose(KEY, s.an_ending("lost"), seen=seen(), now=NOW),
        changed,
    ),
    Write("renew", claimed, lambda st: st.renew(KEY, "owner-1", s.after(60)), changed),
    Write(
        "succeed",
        claimed,
        lambda st: st.succeed(KEY, "owner-1", s.an_ending(), now=s.after(5)),
        changed,
    ),
    Write(
        "fail",
        claimed,
        lambda st: st.fail(KEY, "owner-1", s.an_entry(), s.an_ending("http_500"), now=s.after(5)),
        changed,
    ),
    Write(
        "retry",
        claimed,
        lambda st: st.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(20), in_index=False),
        changed,
    ),
    Write(
        "retry",
        claimed,
        lambda st: st.retry(KEY, "owner-1", s.an_entry(), retry_at=s.after(2000), in_index=True),
        changed,
        variant="far",
    ),
    Write(
        "skip", nothing, lambda st: st.skip(KEY, s.AT, s.an_ending("late", ""), now=NOW), changed
    ),
    Write("miss", nothing, lambda st: st.miss(KEY, s.AT, s.an_ending("old", ""), now=NOW), changed),
    Write(
        "concede",
        claimed,
        lambda st: st.concede(KEY, "owner-1", s.an_ending("missed"), now=s.after(5)),
        changed,
    ),
    Write(
        "cancel",
        claimed,
        lambda st: st.cancel(KEY, s.AT, s.an_ending("request"), by_request=True, now=s.after(5)),
        changed,
    ),
    Write("redrive", failed, lambda st: st.redrive(KEY, triggered_by="somebody", now=NOW), changed),
    Write("dispatched", triggered, lambda st: st.dispatched(DueRun(TRIGGERED, s.AT))),
    Write(
        "acquire_lease",
        nothing,
        lambda st: st.acquire_lease(0, "tick-1", now=s.AT, expires_at=s.after(45), shards=16),
        lambda answer: answer is not None,
    ),
    Write(
        "acquire_lease",
        led,
        lambda st: st.acquire_lease(
            0, "tick-2", now=s.after(60), expires_at=s.after(99), shards=32
        ),
        lambda answer: answer is not None,
        variant="growing",
    ),
    Write(
        "note_claimed",
        led,
        lambda st: st.note_claimed(Lease(0, "tick-1", 16), NOW),
        returned,
    ),
    Write("put_record", nothing, lambda st: st.put_record(s.a_record()), returned),
    Write("update_record", with_record, lambda st: st.update_record(s.a_record(), LOOKED_AT)),
    Write(
        "update_record",
        with_record,
        lambda st: st.update_record(s.a_record(), ENDED_RECORD),
        variant="to-the-end",
    ),
]
