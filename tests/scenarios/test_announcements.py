"""Who is told what: from ticks and runs to the outcomes that are announced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cronce.domain.outcome import KINDS, Outcome
from cronce.ports import Ports
from cronce.targets.contract import Answer, Call, refused, succeeded
from simulation.kernel import Process
from support.stage import Stage

SAMPLES = Path(__file__).parents[2] / "events" / "outcomes"


class Telling(Stage):
    """A deployment that announces; told: what, in order."""

    success = False

    def __post_init__(self) -> None:
        self.told: list[Outcome] = []
        super().__post_init__()
        self.settings = replace(
            self.settings, announce=True, announce_success=self.success, overdue_after=600
        )

    def announce(self, outcomes: Sequence[Outcome]) -> None:
        self.told += outcomes

    def ports(self, process: Process) -> Ports:
        return replace(super().ports(process), announcer=self)

    def kinds(self) -> list[str]:
        return [o.kind for o in self.told]

    def only(self, kind: str) -> list[dict[str, object]]:
        return [dict(o.detail) for o in self.told if o.kind == kind]


@pytest.fixture
def telling() -> Iterator[Callable[..., Telling]]:
    made: list[Telling] = []

    def make(**choices: Any) -> Telling:
        made.append(Telling(**choices))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


def by_minute(*failing: int) -> Callable[[Call], Answer]:
    """Fails the runs of these minutes, for good."""

    def answer(call: Call) -> Answer:
        bad = call.scheduled_for.minute in failing
        return refused("http_400", "secret words") if bad else succeeded("http_200")

    return answer


def test_a_failure_and_then_a_recovery(telling: Callable[..., Telling]) -> None:
    stage = telling(answer=by_minute(2, 3))
    stage.put(schedule="* * * * *", group="billing")
    stage.run(7 * 60)
    assert stage.kinds() == ["Cronce Run Failed", "Cronce Run Failed", "Cronce Run Recovered"]
    failed, _, recovered = (dict(o.detail) for o in stage.told)
    runs = stage.runs()
    assert [failed["run"], recovered["run"]] == [
        next(r.key.run_id for r in runs if r.key.scheduled_for.minute == m) for m in (2, 4)
    ]
    assert (failed["group"], failed["status"], failed["code"]) == ("billing", "failed", "http_400")
    assert (failed["attempt"], failed["v"]) == (1, 1)
    assert recovered["status"] == "succeeded"


def test_what_a_target_said_is_not_told(telling: Callable[..., Telling]) -> None:
    stage = telling(answer=by_minute(2))
    stage.put(schedule="* * * * *")
    stage.run(4 * 60)
    assert stage.told
    assert "secret words" not in json.dumps([dict(o.detail) for o in stage.told])


def test_an_ordinary_success_writes_and_tells_nothing(telling: Callable[..., Telling]) -> None:
    stage = telling(answer=by_minute(2))
    stage.put(schedule="* * * * *")
    stage.run(9 * 60)
    assert stage.statuses().count("succeeded") >= 5
    assert stage.calls["set_failing"] == 2
    assert len(stage.told) == 2


def test_failures_in_a_row_write_once(telling: Callable[..., Telling]) -> None:
    stage = telling(answer=by_minute(2, 3, 4))
    stage.put(schedule="* * * * *")
    stage.run(5 * 60)
    assert stage.kinds() == ["Cronce Run Failed"] * 3
    assert stage.calls["set_failing"] == 1


def test_of_successes_at_once_one_has_recovered(telling: Callable[..., Telling]) -> None:
    """Both began while the job was failing."""
    stage = telling(answer=by_minute(2), takes=lambda call: 90.0)
    stage.put(schedule="* * * * *", timeout="5m")
    stage.run(9 * 60)
    assert stage.kinds().count("Cronce Run Recovered") == 1


def test_a_deployment_that_does_not_announce_marks_nothing(stage: Stage) -> None:
    stage.answer = by_minute(2)
    stage.put(schedule="* * * * *")
    stage.run(4 * 60)
    assert "failed" in stage.statuses()
    assert stage.calls["set_failing"] == 0


def test_successes_by_choice(telling: Callable[..., Telling], monkeypatch: Any) -> None:
    monkeypatch.setattr(Telling, "success", True)
    stage = telling(answer=by_minute(2))
    stage.put(schedule="* * * * *")
    stage.run(4 * 60)
    counts = {kind: stage.kinds().count(kind) for kind in stage.kinds()}
    succeeded_ = stage.statuses().count("succeeded")
    assert counts == {
        "Cronce Run Failed": 1,
        "Cronce Run Recovered": 1,
        "Cronce Run Succeeded": succeeded_,
    }


def test_a_run_skipped_for_another(telling: Callable[..., Telling]) -> None:
    stage = telling(takes=lambda call: 50.0)
    stage.put(schedule={"rate": "30s"}, overlap="skip")
    stage.run(4 * 60)
    skipped = stage.only("Cronce Run Skipped")
    assert len(skipped) == stage.statuses().count("skipped") > 0
    assert {s["code"] for s in skipped} == {"overlap"}
    assert all("attempt" not in s for s in skipped)


def test_after_an_outage_the_missed_and_the_overdue(telling: Callable[..., Telling]) -> None:
    stage = telling(ticks=False)
    stage.put(schedule="*/5 * * * *", group="nightly")
    stage.run(40 * 60)
    stage.tick()
    stage.run(30)
    (missed,) = stage.only("Cronce Occurrences Missed")
    (overdue,) = stage.only("Cronce Job Overdue")
    assert isinstance(missed["count"], int)
    assert missed["count"] > 3
    assert (missed["policy"], missed["group"], missed["reason"]) == (
        *("run_once", "nightly", "missed"),
    )
    assert isinstance(overdue["overdue_seconds"], int)
    assert overdue["overdue_seconds"] > 600


def test_a_job_that_cannot_be_planned(telling: Callable[..., Telling]) -> None:
    stage = telling()
    stage.put(schedule="*/5 * * * *")
    rows = stage.store.rows
    row = next(r for r in rows.all() if r["sk"] == "JOB")
    rows.put({**row, "plan": {"schedule": {"cron": "nonsense"}}})
    stage.run(10 * 60)
    (error,) = stage.only("Cronce Job In Error")
    assert error["job"] == "a"
    assert error["reason"]


def test_a_tick_tells_a_bounded_number_and_counts_the_rest(
    telling: Callable[..., Telling], monkeypatch: Any
) -> None:
    monkeypatch.setattr("cronce.announce.MOST_OF_A_TICK", 3)
    stage = telling(ticks=False)
    for n in range(5):
        stage.put(f"job-{n}", schedule="*/5 * * * *")
    stage.run(40 * 60)
    stage.tick()
    stage.run(5)
    assert len(stage.told) == 3
    (left,) = stage.observer.of("not_announced")
    assert left.fields["count"] == 7


def test_samples_are_of_every_kind_and_of_the_fields_that_the_code_tells(
    telling: Callable[..., Telling], monkeypatch: Any
) -> None:
    samples = {e["detail-type"]: e for e in (json.loads(p.read_text()) for p in SAMPLES.iterdir())}
    assert set(samples) == set(KINDS)
    monkeypatch.setattr(Telling, "success", True)
    stage = telling(answer=by_minute(2), takes=lambda call: 50.0 if call.job_id == "b" else 0.1)
    stage.put("a", schedule="* * * * *")
    stage.put("b", schedule={"rate": "30s"}, overlap="skip")
    stage.run(4 * 60)
    stage.ticks = False
    told = {o.kind: o for o in stage.told}
    assert set(told) >= {"Cronce Run Failed", "Cronce Run Recovered", "Cronce Run Skipped"}
    for kind, outcome in told.items():
        detail = samples[kind]["detail"]
        optional = {"trigger"}
        assert set(detail) - optional == {"deployment", *outcome.detail} - optional, kind
        assert detail["v"] == outcome.detail["v"]
        assert samples[kind]["source"] == "cronce"
