"""A job, a run and what is written about them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cronce.domain.calendar import Calendar
from cronce.domain.identity import RunKey, shard_of
from cronce.domain.job import Definition, Job, make_plan
from cronce.domain.misfire import Misfire
from cronce.domain.named import NamedCalendar
from cronce.domain.plan import Due
from cronce.domain.record import DispatchRecord, Sent, first_look
from cronce.domain.run import Entry, LogPointer, Outcome
from cronce.domain.schedule import parse_schedule
from cronce.domain.transitions import Claim, Ending
from cronce.ports import DueJob

AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
UID = "k3f9a2qd"
HISTORY = 30 * 86_400
SHARDS = 16
# 25 and 26 December 2026.
HOLIDAYS = frozenset({20_812, 20_813})


def after(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def a_job(job_id: str = "report", uid: str = UID, **changes: object) -> Job:
    schedule = parse_schedule(
        {"cron": "* * * * *", "timezone": "Europe/Berlin"}, now=AT - timedelta(days=1)
    )
    job = Job(
        job_id=job_id,
        uid=uid,
        generation=1,
        version=1,
        status="active",
        plan=make_plan(schedule, Misfire()),
        shard=shard_of(job_id, SHARDS),
        changed_at=AT,
        next=Due(AT, AT),
    )
    return replace(job, **changes)  # type: ignore[arg-type]


def a_definition(**changes: object) -> Definition:
    target = {"http": {"url": "https://example.com/report", "method": "POST"}}
    definition = Definition(
        document={"schedule": "* * * * *", "target": target},
        target=target,
        payload='{"a":1.10,"b":5}',
        created_at=AT,
        created_by="somebody",
        updated_at=AT,
        updated_by="somebody",
    )
    return replace(definition, **changes)  # type: ignore[arg-type]


def a_calendar(name: str = "closed", version: int = 1, **changes: object) -> NamedCalendar:
    content = Calendar(
        dates=frozenset({20_788}), weekends=True, holidays=("DE", "BY"), holiday_dates=HOLIDAYS
    )
    named = NamedCalendar(content.named(name, version), AT, AT, "somebody", "somebody")
    return replace(named, **changes)  # type: ignore[arg-type]


def a_plan(calendar: NamedCalendar) -> dict[str, object]:
    """Of a job that names it."""
    schedule = parse_schedule(
        {"cron": "* * * * *", "timezone": "Europe/Berlin", "calendar": calendar.name},
        now=AT - timedelta(days=1),
        calendar=calendar.calendar,
    )
    return make_plan(schedule, Misfire())


def due_job(job: Job) -> DueJob:
    assert job.next is not None
    return DueJob(job.job_id, job.uid, job.generation, job.plan, job.next, job.runs_planned)


def a_key(n: int = 0, *, job_id: str = "report", trigger: str = "") -> RunKey:
    return RunKey(job_id, UID, after(60 * n), trigger)


def a_claim(owner: str = "owner-1", *, lease: float = 30, due: datetime = AT) -> Claim:
    return Claim(
        owner=owner,
        message_id=f"message-of-{owner}",
        due=due,
        lease_expires_at=after(lease),
        log=LogPointer("/aws/lambda/worker", "2026/11/30/[$LATEST]0f", "request-1"),
    )


def an_ending(code: str = "http_200", detail: str = "ok") -> Ending:
    return Ending(code, detail, HISTORY)


def an_entry(attempt: int = 1, outcome: Outcome = "failed") -> Entry:
    return Entry(attempt, outcome, "http_500", "no", after(0), after(1))


def a_record(*keys: RunKey, record_id: str = "2026-11-30T10:00:00.000Z#a1") -> DispatchRecord:
    runs = tuple(Sent(key, 1, key.scheduled_for) for key in keys or (a_key(),))
    return DispatchRecord(
        slice=0,
        record_id=record_id,
        shard=3,
        dispatched_at=AT,
        runs=runs,
        total=len(runs),
        by="tick-1",
        next_run=first_look(runs, AT),
    )
