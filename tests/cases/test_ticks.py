"""The tick: crashes, repetitions, refusals, long delays, broken rows. B17 to B25."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import limits
from cronce.domain.errors import Unavailable
from cronce.ports import Lease
from cronce.targets.contract import Answer, Call, retried, succeeded
from support.functions import Doom, Functions, Killed, Kit, Recorder

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


# --- B17


def deaths(applied: bool, prepare: Callable[[], Kit], act: Callable[[Kit, Doom], None]) -> set[str]:
    """After each call of the path in turn. Whoever died, each occurrence is executed once. The
    names of the calls at which somebody died."""
    names: set[str] = set()
    for n in range(1, 60):
        kit = prepare()
        doom = Doom(n, applied)
        try:
            act(kit, doom)
        except Killed:
            names.add(doom.calls[-1])
        else:
            assert len(doom.calls) < n
            return names
        kit.run_until(later(1800))
        occurrences = {("a", later(600)): 1}
        occurrences |= {("b", later(300 * k)): 1 for k in range(1, 7)}
        assert kit.target.executions == occurrences, (n, doom.calls)
        for run in (*kit.runs("a"), *kit.runs("b")):
            assert (run.status, run.attempt) == ("succeeded", 1)
        assert kit.missed() == []
        assert kit.queue.waiting == []
    raise AssertionError("a path without end")


AT = {"at": "2026-11-29T12:10:00Z"}


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
def test_b17_a_dispatcher_that_dies_at_any_call_loses_and_doubles_nothing(*, applied: bool) -> None:
    def two_jobs() -> Kit:
        kit = Kit(NOON)
        kit.job("a", AT)
        kit.job("b", "rate(5 minutes)")
        kit.run_until(later(6 * 60 + 30))
        return kit

    def tick(kit: Kit, doom: Doom) -> None:
        kit.clock.set(later(7 * 60))
        kit.tick_of(doom.around(kit.ports))

    names = deaths(applied, two_jobs, tick)
    assert names >= {"acquire_lease", "due", "put_record", "send", "advance"}


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
def test_b17_a_create_that_dies_and_is_made_again_fires_once(*, applied: bool) -> None:
    """What is due inside the horizon is dispatched by the API's own call."""

    def one_job() -> Kit:
        kit = Kit(NOON)
        kit.job("b", "rate(5 minutes)")
        kit.run_until(later(8 * 60))
        return kit

    def create(kit: Kit, doom: Doom) -> None:
        whole, control = kit.control, type(kit.control)
        kit.control = control(doom.around(kit.ports), kit.settings)
        try:
            kit.job("a", AT)
        except Killed:
            kit.control = whole
            kit.job("a", AT)
            raise

    names = deaths(applied, one_job, create)
    assert names >= {"create_job", "put_record", "send", "advance"}


# --- B18


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Functions:
    return Functions(Kit(NOON - HOUR), monkeypatch)


@pytest.mark.parametrize("leaders", ["one", "all"])
def test_b18_the_same_tick_three_times_is_one_run_each(
    functions: Functions, monkeypatch: pytest.MonkeyPatch, leaders: str
) -> None:
    """Twice at once, and again 20 s later, on an index that is behind. One leader is an economy,
    not the guarantee."""
    kit = functions.kit
    if leaders == "all":
        everybody = lambda slice_, owner, **more: Lease(slice_, owner, more["shards"])  # noqa: E731
        monkeypatch.setattr(kit.store, "acquire_lease", everybody)
    for n in range(40):
        kit.job(f"job-{n}", "0 * * * *")
    kit.clock.set(NOON)
    kit.store.lag = timedelta(seconds=30)
    gate = threading.Barrier(2)
    answers: list[dict[str, Any]] = []

    def invoke() -> None:
        gate.wait(30)
        answers.append(functions.tick(NOON))

    threads = [threading.Thread(target=invoke) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    kit.clock.advance(20)
    answers.append(functions.tick(NOON))
    assert [a["led"] for a in answers].count(True) == (1 if leaders == "one" else 3)
    assert sum(a["sent"] for a in answers) == (40 if leaders == "one" else 120)
    kit.deliver_all()
    assert kit.target.executions == {(f"job-{n}", NOON): 1 for n in range(40)}
    assert {kit.next_of(f"job-{n}") for n in range(40)} == {NOON + HOUR}


# --- B19


def hundred(kit: Kit) -> dict[tuple[str, datetime], int]:
    for n in range(100):
        kit.job(f"job-{n}", "0 * * * *")
    kit.clock.set(NOON)
    return {(f"job-{n}", NOON): 1 for n in range(100)}


def test_b19_a_tick_that_died_half_way_is_replayed(functions: Functions) -> None:
    """Killed at the 50th job; the same event comes again 1 and 3 minutes later."""
    kit = functions.kit
    expected = hundred(kit)
    advanced: list[str] = []
    advance = kit.store.advance

    def noted(item: Any, *args: Any, **more: Any) -> bool:
        if len(advanced) == 50 and kit.clock.now() == NOON:
            raise Killed
        advanced.append(item.job_id)
        return advance(item, *args, **more)

    kit.store.advance = noted  # type: ignore[method-assign]
    with pytest.raises(Killed):
        functions.tick(NOON)
    kit.deliver_all()
    left = []
    for minutes in (1, 3):
        kit.clock.set(NOON + minutes * MINUTE)
        left.append(functions.tick(NOON)["sent"])
        kit.deliver_all()
    assert left == [50, 0]
    assert Counter(advanced) == {f"job-{n}": 1 for n in range(100)}
    assert kit.target.executions == expected


def test_b19_one_bad_item_does_not_fail_the_tick(functions: Functions) -> None:
    kit = functions.kit
    expected = hundred(kit)
    advance = kit.store.advance
    bad = {"job-50"}

    def troubled(item: Any, *args: Any, **more: Any) -> bool:
        if item.job_id in bad:
            bad.clear()
            raise Unavailable("no answer")
        return advance(item, *args, **more)

    kit.store.advance = troubled  # type: ignore[method-assign]
    assert functions.tick(NOON) == {"led": True, "finished": True, "sent": 100}
    stay = [n for n in range(100) if kit.next_of(f"job-{n}") == NOON]
    assert stay == [50]
    kit.clock.advance(60)
    assert functions.tick(NOON + MINUTE)["sent"] == 1
    kit.deliver_all()
    assert kit.target.executions == expected


# --- B20


@pytest.mark.parametrize("refusals", [1, 3])
def test_b20_what_the_queue_refused_of_a_batch_stays_due(refusals: int) -> None:
    """Nine accepted, one not; the others are not sent again, and it is, until it is accepted."""
    kit = Kit(NOON - HOUR)
    for n in range(10):
        kit.job(f"job-{n}", "0 * * * *")
    kit.clock.set(NOON)
    send = kit.queue.send
    until = NOON + refusals * MINUTE

    def partly(outgoing: Any) -> list[bool]:
        taken = [o.message.key.job_id != "job-3" or kit.clock.now() >= until for o in outgoing]
        send([o for o, ok in zip(outgoing, taken, strict=True) if ok])
        return taken

    kit.queue.send = partly  # type: ignore[method-assign]
    reports = []
    for _ in range(refusals + 2):
        reports.append(kit.tick())
        kit.deliver_all()
        kit.clock.advance(60)
    assert [(r.sent, r.advanced, r.failed) for r in reports] == [
        (9, 9, 1),
        *[(0, 0, 1)] * (refusals - 1),
        (1, 1, 0),
        (0, 0, 0),
    ]
    assert kit.target.executions == {(f"job-{n}", NOON): 1 for n in range(10)}


# --- B23


# Of what SQS delays by itself, without chains of delays.
SOON = min(limits.HORIZON, limits.QUEUE_MAX_DELAY)


def longest_wait(kit: Kit) -> float:
    waits = [(m.visible_at - kit.clock.now()).total_seconds() for m in kit.queue.waiting]
    return max(waits, default=0)


def test_b23_a_retry_an_hour_away_waits_in_the_table() -> None:
    def fails_once(call: Call) -> Answer:
        return retried("http_503", "no") if call.attempt == 1 else succeeded("http_200")

    kit = Kit(NOON, Recorder(fails_once))
    kit.ports.random.fraction = lambda: 1.0  # type: ignore[method-assign]
    kit.job(
        schedule={"at": "2026-11-29T12:01:00Z"},
        retry={"max_attempts": 2, "backoff": "1h", "max_backoff": "1h"},
    )
    kit.run_until(later(90))
    [run] = kit.runs("a")
    assert (run.status, run.retry_at, run.indexed_at) == ("retrying", later(3660), later(3660))
    assert kit.queue.waiting == []
    for _ in range(70):
        kit.run_for(60)
        assert longest_wait(kit) <= SOON
    [run] = kit.runs("a")
    assert (run.status, run.attempt, run.started_at) == ("succeeded", 2, later(3660))
    assert len(kit.target.calls) == 2


def test_b23_half_an_hour_of_jitter_waits_in_the_table() -> None:
    kit = Kit(NOON)
    jobs = [f"job-{n}" for n in range(12)]
    for name in jobs:
        kit.job(name, {"cron": "30 12 * * *", "jitter": "30m"})
    dues = {name: kit.next_of(name) for name in jobs}
    assert max(filter(None, dues.values())) > later(1800 + limits.QUEUE_MAX_DELAY)
    for _ in range(62):
        kit.run_for(60)
        assert longest_wait(kit) <= SOON
    for name in jobs:
        [run] = kit.runs(name)
        assert (run.status, run.attempt, run.started_at) == ("succeeded", 1, dues[name])
    assert kit.target.executions == {(name, later(1800)): 1 for name in jobs}


# --- B25


def test_b25_broken_rows_are_shown_in_the_api_and_stop_nobody(functions: Functions) -> None:
    kit = functions.kit
    broken: dict[str, dict[str, Any]] = {
        "a-cron": {"plan": {"schedule": {"cron": "0 0 31 2 *"}, "misfire": {}}},
        "a-zone": {"plan": {"schedule": {"cron": "0 * * * *", "timezone": "Mars/Phobos"}}},
        "a-type": {"plan": {"schedule": {"cron": 5}, "misfire": {}}},
        "a-time": {"next_run": None},
    }
    good = [f"z-{n}" for n in range(5)]
    for name in (*broken, *good):
        kit.job(name, "0 * * * *")
    for name, change in broken.items():
        row = {**kit.row(name), "next_run": "2026-11-29T11:59:59.000Z", **change}
        kit.store.rows.put({k: v for k, v in row.items() if v is not None})
    kit.clock.set(NOON)
    assert functions.tick(NOON) == {"led": True, "finished": True, "sent": 5}
    kit.deliver_all()
    assert kit.target.executions == {(name, NOON): 1 for name in good}
    shown = {}
    for name in broken:
        status, body = functions.call("GET", f"/jobs/{name}")
        assert status == 200, body
        shown[name] = json.loads(body)["status"]
        assert shown[name]["next_run"] is None
        assert "next_run" not in kit.row(name)
    assert [s["state"] for s in shown.values()] == ["error", "error", "error", "active"]
    assert all(shown[name]["reason"] for name in ("a-cron", "a-zone", "a-type"))
    status, body = functions.call("GET", "/jobs")
    states = {job["id"]: job["status"]["state"] for job in json.loads(body)["jobs"]}
    assert [states[name] for name in broken] == [s["state"] for s in shown.values()]
    kit.clock.set(later(61))
    assert functions.tick(later(61))["sent"] == 0
