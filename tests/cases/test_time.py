"""Outages, grace, pauses and edits, at the instants of the cases: B42 to B49."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.domain.errors import Invalid, JobNotFound
from cronce.domain.instants import from_wire, to_api
from support.functions import Functions, Kit

MINUTE = timedelta(minutes=1)
GRACE = 90


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NOON = at("2026-11-29T12:00")


def ran(kit: Kit, job_id: str = "a") -> list[datetime]:
    """Occurrences in the order of their executions."""
    return [call.scheduled_for for call in kit.target.calls if call.job_id == job_id]


def minutes(first: datetime, last: datetime) -> list[datetime]:
    return [first + n * MINUTE for n in range(int((last - first) / MINUTE) + 1)]


# --- B42, B43


@pytest.mark.parametrize("outage", [timedelta(minutes=101), timedelta(days=400)], ids=str)
@pytest.mark.parametrize("policy", ["skip", "run_once", "run_all"])
def test_b42_one_tick_after_an_outage_of_any_length(outage: timedelta, policy: str) -> None:
    kit = Kit(NOON)
    kit.job(schedule="* * * * *", misfire=policy)
    kit.clock.set(NOON + 3 * MINUTE)
    kit.deliver_all()  # what was dispatched when it was made
    assert ran(kit) == minutes(NOON + MINUTE, NOON + 3 * MINUTE)
    kit.clock.advance(outage.total_seconds())
    back, first = kit.clock.now(), NOON + 4 * MINUTE
    late_before = back - timedelta(seconds=GRACE)
    kit.tick()
    kit.deliver_all()
    late = [o for o in ran(kit)[3:] if o < late_before]
    latest = back - 2 * MINUTE
    if policy == "skip":
        assert late == []
    elif policy == "run_once":
        assert late == [latest]
    else:
        window = max(first, back - timedelta(days=1))
        assert late == minutes(window, latest)[:100]
    counted = sum(count for _, _, count, by, why in kit.missed() if (by, why) == (policy, "missed"))
    on_time = [o for o in ran(kit)[3:] if o >= late_before]
    stands = kit.next_of()
    assert stands is not None
    assert counted + len(late) + len(on_time) + _ahead(kit) == (stands - first) // MINUTE
    if policy != "run_all" or outage < timedelta(days=1):
        assert stands > back
        assert on_time == minutes(back - MINUTE, back)


def _ahead(kit: Kit) -> int:
    """Dispatched, and not due yet."""
    return len(kit.queue.waiting)


def test_b43_two_weeks_of_a_minutely_job_come_back_in_portions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kit = Kit(NOON)
    functions = Functions(kit, monkeypatch)
    kit.job(schedule={"rate": 60}, misfire="run_all")
    kit.clock.set(NOON + 3 * MINUTE)
    kit.deliver_all()
    kit.clock.set(NOON + timedelta(days=14))
    back = kit.clock.now()
    portions = []
    for _ in range(20):
        before = len(kit.target.calls)
        kit.tick()
        kit.deliver_all()
        new = [c.scheduled_for for c in kit.target.calls[before:]]
        portions.append(sum(o < kit.clock.now() - timedelta(seconds=GRACE) for o in new))
        kit.clock.advance(60)
    assert max(portions) == 100
    assert portions[:14] == [100] * 14
    assert portions[-1] == 0
    done = ran(kit)[3:]
    assert done == sorted(done)
    status, body = functions.call("GET", "/jobs/a/missed")
    assert status == 200
    shown = json.loads(body)["missed"]
    assert {(m["policy"], m["reason"]) for m in shown} == {("run_all", "missed")}
    dropped = sum(m["count"] for m in shown)
    assert dropped >= 13 * 1440 - 4
    skipped = kit.statuses().count("skipped")
    stands = kit.next_of()
    assert stands is not None
    assert stands > back
    assert 3 + len(done) + dropped + skipped + _ahead(kit) == (stands - NOON) // MINUTE - 1


def test_b43_a_quarter_of_a_million_missed_starts_are_a_number() -> None:
    kit = Kit(NOON)
    kit.job(schedule={"rate": 5}, misfire={"policy": "run_all", "window": "10m"})
    kit.queue.purge()
    kit.clock.set(NOON + timedelta(days=14))
    report = kit.tick()
    assert report.sent == 100
    [(_, _, count, policy, _)] = kit.missed()
    assert policy == "run_all"
    assert count > 14 * 17_280 - 200


# --- B44


@pytest.mark.parametrize("grace", [1, 60])
def test_b44_a_grace_below_the_rhythm_of_the_tick_is_refused(grace: int) -> None:
    kit = Kit(NOON)
    with pytest.raises(Invalid) as refusal:
        kit.job(misfire={"grace": grace})
    assert [f.pointer for f in refusal.value.faults] == ["/misfire/grace"]


@pytest.mark.parametrize(
    ("grace", "late", "runs"),
    [
        (90, 4, True),
        (75, 4, True),
        (75, 75, True),
        (75, 76, False),
        (90, 90, True),
        (90, 91, False),
    ],
)
def test_b44_as_late_as_the_grace_runs_and_a_second_more_is_missed(
    grace: int, late: int, *, runs: bool
) -> None:
    kit = Kit(NOON - timedelta(hours=1))
    kit.job(schedule="0 12 * * *", misfire={"policy": "skip", "grace": grace})
    kit.clock.set(NOON + timedelta(seconds=late))
    kit.tick()
    kit.deliver_all()
    assert ran(kit) == ([NOON] if runs else [])
    twelve = to_api(NOON)
    assert kit.missed() == ([] if runs else [(twelve, twelve, 1, "skip", "missed")])
    assert kit.next_of() == NOON + timedelta(days=1)


# --- B45, B46, B47


@pytest.mark.parametrize("policy", ["run_once", "run_all", "skip"])
@pytest.mark.parametrize("delete_after", [None, "1h"])
def test_b45_a_one_time_job_of_an_outage_runs_late_or_is_recorded(
    policy: str, delete_after: str | None
) -> None:
    kit = Kit(at("2026-11-29T11:00"))
    more: dict[str, Any] = {"delete_after": delete_after} if delete_after else {}
    kit.job(schedule={"at": "2026-11-29T12:00:00Z"}, misfire=policy, **more)
    kit.clock.set(at("2026-11-29T12:30"))
    kit.tick()
    # Before any run has ended, the job goes only where there is none that could.
    missed_and_gone = delete_after is not None and policy == "skip"
    assert (kit.control.get("a").job.expires_at is not None) == missed_and_gone
    kit.deliver_all()
    job = kit.control.get("a").job
    assert (job.status, job.next) == ("ended", None)
    if policy == "skip":
        twelve = to_api(NOON)
        assert (ran(kit), kit.missed()) == ([], [(twelve, twelve, 1, "skip", "missed")])
    else:
        assert (ran(kit), kit.missed()) == ([NOON], [])
    assert (job.expires_at is not None) == (delete_after is not None)
    kit.run_for(2 * 3600)
    if job.expires_at is not None:
        with pytest.raises(JobNotFound):
            kit.control.get("a")
    assert kit.statuses() == ([] if policy == "skip" else ["succeeded"])
    assert len(kit.missed()) == (policy == "skip")
    assert len(ran(kit)) == (policy != "skip")


def test_b46_a_job_inside_its_grace_does_not_run_again_when_another_is_made() -> None:
    kit = Kit(at("2026-11-29T11:00"))
    kit.job("a", "1 11 * * *", misfire={"grace": "1h", "late_limit": "1h"})
    kit.run_until(at("2026-11-29T11:30"))
    assert ran(kit) == [at("2026-11-29T11:01")]
    kit.job("b", "45 11 * * *", misfire={"grace": "1h", "late_limit": "1h"})
    kit.tick()
    kit.run_until(at("2026-11-29T12:30"))
    assert ran(kit) == [at("2026-11-29T11:01")]
    assert ran(kit, "b") == [at("2026-11-29T11:45")]


def test_b47_an_edit_counts_from_the_moment_of_the_edit() -> None:
    """Monthly on the 10th, which ran; on the 12th changed to the 11th."""
    kit = Kit(at("2026-11-09T23:58"))
    kit.job(schedule="0 0 10 * *")
    kit.run_until(at("2026-11-10T00:05"))
    assert ran(kit) == [at("2026-11-10T00:00")]
    kit.clock.set(at("2026-11-12T09:00"))
    kit.tick()
    kit.job(schedule="0 0 11 * *")
    assert kit.next_of() == at("2026-12-11T00:00")
    kit.run_for(600)
    assert ran(kit) == [at("2026-11-10T00:00")]
    assert kit.missed() == []
    kit.clock.set(at("2026-12-10T23:58"))
    kit.run_for(600)
    assert ran(kit) == [at("2026-11-10T00:00"), at("2026-12-11T00:00")]


# --- B49


@pytest.mark.parametrize("policy", ["run_once", "skip"])
def test_b49_a_slot_inside_a_pause_is_recorded_as_paused(policy: str) -> None:
    kit = Kit(at("2026-11-29T00:59"))
    kit.job(schedule="0 2 * * *", misfire=policy)
    kit.clock.set(at("2026-11-29T01:00"))
    kit.control.pause("a", by="me")
    kit.run_until(at("2026-11-29T07:49"))
    kit.control.resume("a", by="me")
    kit.run_until(at("2026-11-29T08:30"))
    assert ran(kit) == []
    assert kit.runs("a") == []
    two = "2026-11-29T02:00:00Z"
    assert kit.missed() == [(two, two, 1, policy, "paused")]
    assert kit.next_of() == at("2026-11-30T02:00")


@pytest.mark.parametrize(
    ("pause", "resume"),
    [
        ("02:00:00", "02:00:00"),
        ("01:59:30", "02:00:00"),
        ("02:00:00", "02:00:30"),
        ("01:59:30", "02:00:30"),
        ("01:59:10", "01:59:50"),
        ("02:00:10", "02:00:50"),
    ],
)
@pytest.mark.parametrize("dispatched", [False, True])
@pytest.mark.parametrize("policy", ["run_once", "skip"])
def test_b49_a_pause_inside_the_minute_of_the_slot(
    pause: str, resume: str, policy: str, *, dispatched: bool
) -> None:
    """Neither lost nor doubled, whether its message was on its way or not."""
    kit = Kit(at("2026-11-29T01:50"))
    kit.job(schedule="0 2 * * *", misfire=policy)
    if dispatched:
        kit.clock.set(at("2026-11-29T01:59"))
        kit.tick()
    two = at("2026-11-29T02:00")
    kit.clock.set(at(f"2026-11-29T{pause}"))
    kit.control.pause("a", by="me")
    kit.clock.set(at(f"2026-11-29T{resume}"))
    kit.control.resume("a", by="me")
    kit.run_until(at("2026-11-29T02:30"))
    recorded = [run.status for run in kit.runs("a") if run.key.scheduled_for == two]
    paused = [why for first, _, _, _, why in kit.missed() if from_api(first) == two]
    assert (recorded, paused) in (
        (["succeeded"], []),
        (["cancelled"], []),
        ([], ["paused"]),
        (["missed"], ["paused"]),
    )
    assert len(ran(kit)) == recorded.count("succeeded")
    if resume < "02:00:00" or pause > "02:00:00":
        assert ran(kit) == [two]
    elif pause < "02:00:00":
        assert ran(kit) == []
    assert kit.next_of() == two + timedelta(days=1)


def from_api(text: str) -> datetime:
    return from_wire(text.replace("Z", ".000Z"))
