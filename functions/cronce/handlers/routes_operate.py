"""What an operator asks: how it went, what is open, what comes, what is wrong, and why."""

from __future__ import annotations

import platform
from datetime import datetime, timedelta
from itertools import islice

from cronce import __version__, limits
from cronce.domain.errors import Invalid
from cronce.domain.instants import seconds, to_api
from cronce.domain.record import DispatchRecord
from cronce.domain.zones import tzdata_version
from cronce.handlers import models_operate as models
from cronce.handlers.documents import instant, run_document
from cronce.handlers.operations import Answered, Operation, Parameter, Parts, instant_parameter
from cronce.handlers.request import Request
from cronce.operate.explain import explain
from cronce.operate.look import ComingJob, Look
from cronce.operate.port import MissedSeen, TickSeen
from cronce.operate.story import Told

NIGHT = timedelta(hours=12)
LONGEST = timedelta(days=7)
DAY = timedelta(days=1)
WITHIN = (60, 86_400, 3_600)
MISSED_PAGE = 100
# Two ticks may fail before anything is late; the third one is somebody's business.
TICK_AGE = timedelta(seconds=3 * limits.TICK_PERIOD)
OVERDUE_AGE = timedelta(seconds=limits.TICK_PERIOD)
STOPS_AFTER = timedelta(seconds=limits.DISPATCHER_STOP_AFTER)


def look_of(parts: Parts) -> Look:
    return Look(parts.control.ports, parts.control.settings)


def explain_run(parts: Parts, request: Request) -> Answered:
    job_id, run_id = request.job_id(), request.run_id()
    found = explain(look_of(parts), job_id, run_id)
    told = found.told
    return Answered(
        200,
        {
            "job_id": job_id,
            "run_id": run_id,
            "run": run_document(told.run) if told.run else None,
            "dispatches": [_dispatch(record) for record in told.records],
            "missed": _covering(told),
            "story": [
                {"at": instant(line.at), "what": line.what, "text": line.text}
                for line in found.story
            ],
            "searched": found.searched,
        },
    )


def overview(parts: Parts, request: Request) -> Answered:
    now = parts.control.ports.clock.now()
    until = min(request.instant("to") or now, now)
    since = request.instant("from") or until - NIGHT
    if not timedelta(0) <= until - since <= LONGEST:
        accepted = f"before `to`, by at most {LONGEST.days} days"
        raise Invalid.one("query:from", "bad_range", "not a time that is looked at", accepted)
    seen = look_of(parts).overview(since, until)
    return Answered(
        200,
        {
            "from": to_api(since),
            "to": to_api(until),
            "now": to_api(now),
            "runs": seen.runs,
            "dispatches": seen.dispatches,
            "resent": seen.resent,
            "outcomes": dict(seen.outcomes),
            "lateness": dict(seen.lateness),
            "hours": [
                {"at": to_api(hour.at), "runs": hour.runs, "outcomes": dict(hour.outcomes)}
                for hour in seen.hours
            ],
            "open": [run_document(each.run) | {"late": each.late} for each in seen.open],
            "missed": [_missed(each) for each in seen.missed],
            "complete": seen.complete,
        },
    )


def coming(parts: Parts, request: Request) -> Answered:
    now = parts.control.ports.clock.now()
    until = now + seconds(request.number("within", *WITHIN))
    jobs, complete = look_of(parts).coming(until)
    return Answered(
        200,
        {
            "now": to_api(now),
            "until": to_api(until),
            "jobs": [_coming(job) for job in jobs],
            "complete": complete,
        },
    )


def list_missed(parts: Parts, request: Request) -> Answered:
    found = parts.control.ports.store.missed_of(request.job_id())
    counted = (each for each in found if each.missed.count)
    listed = [_missed(each) for each in islice(counted, MISSED_PAGE + 1)]
    return Answered(200, {"missed": listed[:MISSED_PAGE], "more": len(listed) > MISSED_PAGE})


def deep(parts: Parts, request: Request) -> Answered:
    look, settings = look_of(parts), parts.control.settings
    now = parts.control.ports.clock.now()
    ticks = look.ticks()
    overdue = look.overdue()
    fresh = all(tick is not None and now - _ticked(tick) <= TICK_AGE for tick in ticks)
    late = any(now - job.at > OVERDUE_AGE for job in overdue.jobs)
    document = models.Deep(
        status="ok" if fresh and not late else "trouble",
        now=to_api(now),
        deployment=settings.deployment,
        version=__version__,
        python=platform.python_version(),
        tzdata=tzdata_version(),
        profile=settings.profile,
        shards=settings.shards,
        ticks=[_tick(n, tick) for n, tick in enumerate(ticks)],
        overdue=[
            models.OverdueJob(job_id=job.job_id, next_run=to_api(job.at)) for job in overdue.jobs
        ],
        overdue_records=overdue.records,
        oldest_record=instant(overdue.oldest_record),
        more=overdue.more,
    )
    return Answered(200, document.model_dump())


def _ticked(tick: TickSeen) -> datetime:
    """When it began: its lease was taken until it was to stop."""
    return tick.lease_expires_at - STOPS_AFTER


def _tick(slice_: int, tick: TickSeen | None) -> models.Tick:
    return models.Tick(
        slice=slice_,
        last_tick=instant(_ticked(tick)) if tick else None,
        claimed_up_to=instant(tick.claimed_up_to) if tick else None,
    )


def _dispatch(record: DispatchRecord) -> dict[str, object]:
    return models.Dispatch(
        slice=record.slice,
        dispatched_at=to_api(record.dispatched_at),
        by=record.by,
        runs=record.total,
        resent=record.resent,
        looks=record.looks,
        next_look=instant(record.next_run),
    ).model_dump()


def _covering(told: Told) -> dict[str, object] | None:
    if told.missed is None:
        return None
    m = told.missed
    return models.MissedCount(
        job_id=told.key.job_id,
        first=to_api(m.first),
        last=to_api(m.last),
        count=m.count,
        policy=m.policy,
        reason=m.reason,
        recorded_at=None,
    ).model_dump()


def _missed(seen: MissedSeen) -> dict[str, object]:
    m = seen.missed
    return models.MissedCount(
        job_id=seen.job_id,
        first=to_api(m.first),
        last=to_api(m.last),
        count=m.count,
        policy=m.policy,
        reason=m.reason,
        recorded_at=to_api(seen.recorded_at),
    ).model_dump()


def _coming(job: ComingJob) -> dict[str, object]:
    return models.ComingJob(
        job_id=job.job_id,
        total=job.total,
        occurrences=[
            models.ComingRun(
                scheduled_for=to_api(each.scheduled_for),
                due=to_api(each.due),
                trigger=each.trigger,
                dispatched=each.dispatched,
            )
            for each in job.occurrences
        ],
    ).model_dump()


OPERATIONS = (
    Operation(
        "explainRun",
        "GET",
        "/jobs/{job_id}/runs/{run_id}/explain",
        "The story of one run: who dispatched it, its attempts, what it waits for, how it ended."
        " Also of one that has no record yet.",
        explain_run,
        {200: models.Explained},
    ),
    Operation(
        "listMissed",
        "GET",
        "/jobs/{job_id}/missed",
        "Occurrences of a job that were counted instead of run, the latest first.",
        list_missed,
        {200: models.MissedCounts},
    ),
    Operation(
        "overview",
        "GET",
        "/overview",
        "How the runs of all jobs went, which are open, and what was missed. Eventually"
        " consistent; runs that ended within the last minutes may still be counted as open.",
        overview,
        {200: models.Overview},
        query=(
            instant_parameter("from", "Dispatched at or after; 12 hours before `to` by default."),
            instant_parameter("to", "Dispatched at or before; now by default."),
        ),
    ),
    Operation(
        "coming",
        "GET",
        "/upcoming",
        "What comes next, of all jobs. Eventually consistent.",
        coming,
        {200: models.Coming},
        query=(
            Parameter(
                "within",
                "How many seconds ahead.",
                {
                    "type": "integer",
                    "minimum": WITHIN[0],
                    "maximum": WITHIN[1],
                    "default": WITHIN[2],
                },
            ),
        ),
    ),
    Operation(
        "deepHealth",
        "GET",
        "/health/deep",
        "Whether ticks come and jobs are dispatched in time. Reads the table.",
        deep,
        {200: models.Deep},
    ),
)
