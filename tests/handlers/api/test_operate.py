"""What operators ask, over each store: nothing here may write."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.dispatch import tick
from cronce.domain.identity import RunKey, parse_run_id
from cronce.domain.instants import to_api
from cronce.domain.run import Entry, LogPointer
from cronce.domain.transitions import Claim, Ending
from cronce.operate.look import Look

from .conftest import NOW, TARGET, Api

HISTORY = 30 * 86_400
CRON = {"cron": "*/5 * * * *"}


def ticked(api: Api) -> None:
    now = api.clock.now()
    tick(
        api.control.ports,
        api.control.settings,
        event_time=now,
        deadline=now + timedelta(seconds=45),
    )


def key_of(api: Api, n: int = 0) -> RunKey:
    """Of the n-th message that was sent."""
    return api.outbox.sent[n].message.key


def claimed(api: Api, key: RunKey, late: float = 0.2) -> str:
    """By a worker, so many seconds after now; the owner."""
    message = next(o.message for o in reversed(api.outbox.sent) if o.message.key == key)
    now = api.clock.advance(late)
    claim = Claim(
        owner=f"owner-{now.timestamp()}",
        message_id="m",
        due=message.due,
        lease_expires_at=now + timedelta(seconds=30),
        log=LogPointer("/aws/lambda/worker", "2026/11/30/x", "req-1"),
        dispatched_at=message.first_sent,
    )
    result = api.store.claim(key, claim, now=now)
    assert result.run is not None
    assert result.run.owner == claim.owner
    return claim.owner


def succeeded(api: Api, key: RunKey, late: float = 0.2) -> None:
    owner = claimed(api, key, late)
    now = api.clock.advance(1)
    api.store.succeed(key, owner, Ending("http_200", "", HISTORY), now=now)


def failed(api: Api, key: RunKey) -> None:
    owner = claimed(api, key)
    now = api.clock.advance(1)
    entry = Entry(1, "failed", "http_500", "<b>oops</b>", now - timedelta(seconds=1), now)
    api.store.fail(key, owner, entry, Ending("http_500", "<b>oops</b>", HISTORY), now=now)


def explained(api: Api, key: RunKey) -> Any:
    answer = api.call("GET", f"/jobs/{key.job_id}/runs/{key.run_id}/explain")
    assert answer.status == 200, answer.body
    return answer.json


def said(document: Any) -> list[tuple[str, str]]:
    return [(line["what"], line["text"]) for line in document["story"]]


# --- the story of a run


def test_a_run_that_succeeded_and_left_its_record(api: Api) -> None:
    api.put("a", schedule=CRON)
    api.clock.set(NOW + timedelta(minutes=2))
    ticked(api)
    key = key_of(api)
    api.clock.set(key.scheduled_for)
    succeeded(api, key)
    api.clock.set(key.scheduled_for + timedelta(minutes=3))
    ticked(api)  # reconciles the record, which lists the run no more
    look = Look(api.control.ports, api.control.settings)
    records = list(look.records(NOW, api.clock.now(), latest_first=False))
    assert records[0].dispatched_at == NOW + timedelta(minutes=2)
    assert not records[0].runs
    told = explained(api, key)
    assert told["run"]["status"] == "succeeded"
    (dispatch,) = told["dispatches"]
    assert dispatch["dispatched_at"] == "2026-11-30T10:02:00Z"
    assert said(told) == [
        ("intended", "the schedule meant it for 2026-11-30T10:05:00Z"),
        ("dispatched", "sent by a tick of slice 0, 3 min before it might start"),
        ("attempt", "attempt 1 was claimed, 200 ms after it was due"),
        ("ended", "succeeded after 1 s: http_200"),
        ("log", "/aws/lambda/worker stream 2026/11/30/x, request req-1"),
    ]
    assert told["searched"] is True


def test_a_run_now_that_failed(api: Api) -> None:
    api.put("a", schedule="@yearly")
    run = api.call("POST", "/jobs/a/run", {"id": "mine"}).json
    key = parse_run_id("a", run["run_id"])
    assert key is not None
    failed(api, key)
    told = said(explained(api, key))
    assert told[0][0] == "triggered"
    assert told[0][1].endswith("role/Editor/alice, as mine")
    assert told[1:] == [
        ("dispatched", "sent at once by the API"),
        ("attempt", "attempt 1 was claimed, 200 ms after it was due"),
        ("failed", "attempt 1 failed: http_500, <b>oops</b>"),
        ("ended", "failed after 1 s: http_500, <b>oops</b>"),
        ("log", "/aws/lambda/worker stream 2026/11/30/x, request req-1"),
    ]


def test_a_redriven_run(api: Api) -> None:
    api.put("a", schedule="@yearly")
    run = api.call("POST", "/jobs/a/run", {"id": "mine"}).json
    key = parse_run_id("a", run["run_id"])
    assert key is not None
    failed(api, key)
    api.clock.advance(60)
    path = f"/jobs/a/runs/{key.run_id}"
    ops = "arn:aws:iam::123456789012:user/ops"
    assert api.call("POST", f"{path}/redrive", caller=ops).status == 202
    redriven_at = api.clock.now()
    claimed(api, key, late=0.3)
    told = explained(api, key)
    assert said(told)[0] == ("triggered", "run now was asked for, as mine")
    ended, redriven, again = (
        next(line for line in told["story"] if line["text"].startswith(start))
        for start in ("attempt 1 failed", "the failed run", "attempt 2 was")
    )
    assert ended["text"] == "attempt 1 failed, and the run with it: http_500, <b>oops</b>"
    assert redriven["what"] == "redriven"
    assert redriven["text"] == f"the failed run was given new attempts by {ops}"
    assert redriven["at"] == to_api(redriven_at)
    assert again["text"] == "attempt 2 was claimed, 300 ms after that"
    times = [line["at"] for line in (ended, redriven, again)]
    assert times == sorted(times)


def test_lateness_of_a_run_that_was_held_counts_from_its_turn(api: Api) -> None:
    api.put("a", schedule="@hourly")
    asked = {"from": "2026-11-30T05:00:00Z", "to": "2026-11-30T09:00:00Z", "id": "b", "pace": 10}
    assert api.call("POST", "/jobs/a/backfill", asked).status == 201
    key = key_of(api, 2)
    turn = api.outbox.sent[2].message.held_until
    assert turn == NOW + timedelta(seconds=12)
    api.clock.set(turn)
    message = api.outbox.sent[2].message
    now = api.clock.advance(0.008)
    claim = Claim("o", "m", message.due, now + timedelta(seconds=30), held_until=turn)
    api.store.claim(key, claim, now=now)
    assert ("attempt", "attempt 1 was claimed, 8 ms after its turn came") in said(
        explained(api, key)
    )


def test_a_lost_attempt_and_one_that_runs(api: Api) -> None:
    api.put("a", schedule=CRON)
    ticked(api)
    api.clock.set(NOW + timedelta(minutes=2))
    ticked(api)
    key = key_of(api)
    api.clock.set(key.scheduled_for)
    claimed(api, key)
    seen = api.store.read_run(key)
    assert seen is not None
    now = api.clock.advance(31)
    claim = Claim("o2", "m", key.scheduled_for, now + timedelta(seconds=30))
    api.store.take_over(key, claim, seen=seen, now=now)
    whats = said(explained(api, key))
    assert ("failed", "attempt 1 was lost: its lease ran out and nobody had renewed it") in whats
    assert ("attempt", "attempt 2 was claimed") in whats
    assert whats[-1] == ("waiting", "running; its lease ends in 30 s unless it is renewed")
    api.clock.advance(31)
    last = said(explained(api, key))[-1]
    assert last[1].startswith("the lease ran out")


def test_a_run_that_was_sent_and_not_claimed(api: Api) -> None:
    api.put("a", schedule=CRON)
    api.clock.set(NOW + timedelta(minutes=2))
    ticked(api)
    key = key_of(api)
    told = explained(api, key)
    assert told["run"] is None
    assert said(told)[-1] == ("waiting", "its message waits; it may start in 3 min")
    api.clock.set(key.scheduled_for + timedelta(seconds=90))
    text = said(explained(api, key))[-1][1]
    assert text.startswith("no worker has claimed it, 1 min 30 s after it might have started")
    assert "sent again after 2026-11-30T10:07:00Z" in text


def test_an_occurrence_ahead_and_one_that_never_was(api: Api) -> None:
    made = api.put("a", schedule={"cron": "0 12 * * *"}).json
    uid = made["status"]["uid"]
    ahead = RunKey("a", uid, NOW + timedelta(hours=2))
    assert said(explained(api, ahead))[-1] == ("waiting", "not dispatched yet; due in 2 h")
    for run_id in (f"20261130T113000Z-{uid}", "20261130T120000Z-otheruid", "nonsense"):
        assert api.call("GET", f"/jobs/a/runs/{run_id}/explain").status == 404
    assert api.call("GET", f"/jobs/b/runs/{ahead.run_id}/explain").status == 404
    assert api.call("GET", f"/jobs/a%20b/runs/{ahead.run_id}/explain").status == 422


def test_a_missed_occurrence(api: Api) -> None:
    made = api.put("a", schedule=CRON, misfire="skip").json
    api.clock.set(NOW + timedelta(hours=1))
    ticked(api)
    key = RunKey("a", made["status"]["uid"], NOW + timedelta(minutes=10))
    text = said(explained(api, key))[-1][1]
    assert text.startswith("did not run: counted with 11 from 2026-11-30T10:05:00Z")
    listed = api.call("GET", "/jobs/a/missed").json
    assert [(m["count"], m["policy"], m["reason"]) for m in listed["missed"]] == [
        (11, "skip", "missed")
    ]
    assert listed["more"] is False
    assert api.call("GET", "/jobs/nobody/missed").json == {"missed": [], "more": False}


# --- over all jobs


def test_an_overview_of_what_went_how(api: Api) -> None:
    api.put("good", schedule=CRON)
    api.put("bad", schedule=CRON)
    api.put("hung", schedule=CRON)
    api.put("gone", schedule="rate(1 minute)", misfire="skip")
    api.call("POST", "/jobs/gone/pause")
    api.clock.set(NOW + timedelta(minutes=2))
    ticked(api)
    good, bad, hung = (
        next(o.message.key for o in api.outbox.sent if o.message.key.job_id == job)
        for job in ("good", "bad", "hung")
    )
    api.clock.set(good.scheduled_for)
    succeeded(api, good)
    failed(api, bad)
    claimed(api, hung, late=0)
    before = api.call("GET", "/overview").json
    assert before["outcomes"] == {"succeeded": 1, "failed": 1}
    assert before["lateness"] == {}
    assert [hour["at"] for hour in before["hours"]] == ["2026-11-30T10:00:00Z"]
    assert before["hours"][0]["runs"] == before["runs"]
    assert before["hours"][0]["outcomes"] == before["outcomes"]  # none is reconciled yet
    api.clock.set(good.scheduled_for + timedelta(minutes=2, seconds=1))
    ticked(api)
    seen = api.call("GET", "/overview").json
    assert seen["outcomes"] == before["outcomes"]
    assert seen["runs"] == before["runs"] + 3  # the next occurrence of each
    assert seen["lateness"] == {"250": 1, "2500": 1}
    opened = [(r["job_id"], r["status"], r["late"]) for r in seen["open"]]
    assert ("hung", "running", True) in opened
    assert ("good", "pending", False) in opened
    assert seen["complete"] is True
    none = api.call("GET", "/overview", query={"to": "2026-11-30T09:59:59Z"}).json
    assert (none["runs"], none["open"], none["from"]) == (0, [], "2026-11-29T21:59:59Z")


def test_what_was_missed_lately(api: Api) -> None:
    for job in ("a", "b"):
        api.put(job, schedule=CRON, misfire="skip")
    api.clock.set(NOW + timedelta(hours=15))
    ticked(api)
    seen = api.call("GET", "/overview").json
    assert sorted((m["job_id"], m["count"]) for m in seen["missed"]) == [("a", 179), ("b", 179)]
    # In the index beside the runs that need attention, and not among them.
    assert api.call("GET", "/runs").json["runs"] == []
    earlier = api.call("GET", "/overview", query={"to": "2026-12-01T00:00:00Z"}).json
    assert earlier["missed"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"from": "2026-11-30T11:00:00Z", "to": "2026-11-30T10:00:00Z"},
        {"from": "2026-11-01T00:00:00Z"},
        {"from": "yesterday"},
    ],
)
def test_a_time_that_is_not_looked_at(over_memory: Api, query: dict[str, str]) -> None:
    answer = over_memory.call("GET", "/overview", query=query)
    assert answer.status == 422
    assert answer.faults[0][0] == "query:from"


def test_the_next_hour(api: Api) -> None:
    api.put("often", schedule={"rate": "10s"})
    api.put("hourly", schedule={"cron": "1 * * * *"})
    api.put("later", schedule={"cron": "0 12 * * *"})
    api.put("twice", schedule={"rate": "20m", "max_runs": 2})
    api.put("resting", schedule=CRON)
    api.call("POST", "/jobs/resting/pause")
    ticked(api)  # dispatches `hourly`, whose next occurrence is more than an hour away
    coming = api.call("GET", "/upcoming").json
    jobs = {job["job_id"]: job for job in coming["jobs"]}
    assert set(jobs) == {"often", "hourly", "twice"}
    assert [(c["scheduled_for"], c["dispatched"]) for c in jobs["hourly"]["occurrences"]] == [
        ("2026-11-30T10:01:00Z", True)
    ]
    assert jobs["often"]["total"] >= 340
    assert len(jobs["often"]["occurrences"]) >= 60
    assert jobs["twice"]["total"] == 2
    assert coming["complete"] is True
    soon = api.call("GET", "/upcoming", query={"within": "60"}).json
    assert {job["job_id"] for job in soon["jobs"]} == {"often", "hourly"}
    assert api.call("GET", "/upcoming", query={"within": "59"}).status == 422


def test_deep_health(api: Api) -> None:
    fresh = api.call("GET", "/health/deep").json
    assert fresh["status"] == "trouble"
    assert fresh["ticks"] == [{"slice": 0, "last_tick": None, "claimed_up_to": None}]
    api.put("a", schedule=CRON)
    ticked(api)
    well = api.call("GET", "/health/deep").json
    assert well["status"] == "ok"
    assert well["ticks"][0]["last_tick"] == "2026-11-30T10:00:00Z"
    assert well["overdue"] == []
    api.clock.set(NOW + timedelta(minutes=10))
    ill = api.call("GET", "/health/deep").json
    assert ill["status"] == "trouble"
    assert ill["overdue"] == [{"job_id": "a", "next_run": "2026-11-30T10:05:00Z"}]
    assert ill["more"] is False


def test_nothing_is_written(api: Api) -> None:
    api.put("a", schedule=CRON, target=TARGET)
    api.clock.set(NOW + timedelta(minutes=2))
    ticked(api)
    key = key_of(api)
    before = api.rows.all()
    for path in ("/overview", "/upcoming", "/health/deep", "/jobs/a/missed"):
        assert api.call("GET", path).status == 200
    explained(api, key)
    assert api.rows.all() == before
