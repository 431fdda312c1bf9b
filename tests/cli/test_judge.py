"""The demo's judge is fed with every fault that it is there to find."""

from __future__ import annotations

import ast
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cronce.cli.demo import judge as judging
from cronce.cli.demo.judge import Received, Verdict, judge, percentile

T = 1_795_946_400  # a whole minute


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


class World:
    """What happened when all went well: a rate, a job that fails twice, a killed worker, a run by
    hand. Tests break one thing in it."""

    def __init__(self) -> None:
        self.expected: dict[str, dict[str, Any]] = {
            "rate": {"kind": "every", "anchor": T, "step": 5, "until": T + 12},
            "flaky": {"kind": "once", "instants": [T + 3], "attempts": 3},
            "victim": {"kind": "once", "instants": [T + 7], "reclaimed": True},
            "hand": {"kind": "triggered", "instants": [T], "trigger": "m-1", "run_id": "r-hand"},
        }
        self.calls: list[Received] = []
        self.records: dict[str, list[dict[str, Any]]] = {name: [] for name in self.expected}
        self.seen: list[dict[str, Any]] = []
        for at in (T, T + 5, T + 10):
            self.ran("rate", at)
        self.ran("flaky", T + 3, outcomes=("failed", "failed"))
        self.ran("victim", T + 7, outcomes=("lost",))
        self.ran("hand", T, run="r-hand", trigger="m-1")

    def ran(
        self,
        job: str,
        instant: float,
        outcomes: tuple[str, ...] = (),
        run: str = "",
        trigger: str = "",
    ) -> dict[str, Any]:
        run = run or f"r{instant - T}"
        for n, outcome in enumerate((*outcomes, "succeeded"), 1):
            at = instant + 0.1 * n
            self.calls.append(Received(at, job, run, instant, n, outcome != "lost"))
        record = {
            "job_id": job,
            "run_id": run,
            "status": "succeeded",
            "scheduled_for": iso(instant),
            "due": iso(instant),
            "trigger": trigger,
            "attempt": len(outcomes) + 1,
            "finished_at": iso(instant + 1),
            "attempts": [{"attempt": n, "outcome": each} for n, each in enumerate(outcomes, 1)],
        }
        self.records[job].append(record)
        self.seen.append(dict(record))
        return record

    def drop_calls(
        self, job: str, attempt: int | None = None, instant: float | None = None
    ) -> None:
        self.calls = [
            call
            for call in self.calls
            if call.job != job
            or attempt not in (None, call.attempt)
            or instant not in (None, call.instant)
        ]

    def judge(self) -> Verdict:
        return judge(self.expected, self.calls, self.records, self.seen)


@pytest.fixture
def world() -> World:
    return World()


def test_when_all_went_well(world: World) -> None:
    verdict = world.judge()
    assert verdict.findings == []
    assert verdict.passed
    assert verdict.line() == (
        "demo: 6 due, 6 succeeded, 0 failed, 0 lost, 0 duplicated, 0 early, 1 reclaimed,"
        " lateness p50 0.100s p99 0.100s"
    )


def test_nothing_at_all_is_no_success() -> None:
    assert not judge({}, [], {}).passed


def test_no_record_is_lost(world: World) -> None:
    world.records["rate"] = world.records["rate"][:2]
    world.seen = []
    verdict = world.judge()
    assert (verdict.lost, verdict.due, verdict.passed) == (1, 6, False)


def test_a_record_that_has_not_ended_is_lost(world: World) -> None:
    world.records["rate"][0]["status"] = "running"
    world.seen = []
    assert world.judge().lost == 1


def test_a_record_without_a_call_is_lost(world: World) -> None:
    world.drop_calls("rate", instant=T + 5)
    verdict = world.judge()
    assert (verdict.lost, verdict.succeeded, verdict.passed) == (1, 5, False)


def test_a_skipped_run_was_not_called_and_is_lost(world: World) -> None:
    world.records["rate"][1]["status"] = "skipped"
    world.drop_calls("rate", instant=T + 5)
    world.seen = []
    assert world.judge().lost == 1


def test_an_attempt_called_twice_is_duplicated(world: World) -> None:
    world.calls.append(world.calls[0])
    verdict = world.judge()
    assert (verdict.duplicated, verdict.passed) == (1, False)


def test_a_second_terminal_record_is_duplicated(world: World) -> None:
    world.records["rate"].append({**world.records["rate"][0], "run_id": "other"})
    verdict = world.judge()
    assert (verdict.duplicated, verdict.passed) == (1, False)


def test_the_same_record_listed_twice_is_duplicated(world: World) -> None:
    world.records["rate"].append(dict(world.records["rate"][0]))
    assert world.judge().duplicated == 1


@pytest.mark.parametrize(
    ("name", "value"), [("finished_at", iso(T + 99)), ("attempt", 1), ("status", "failed")]
)
def test_a_terminal_record_that_changed_is_duplicated(world: World, name: str, value: Any) -> None:
    world.seen[3] = {**world.seen[3], name: value}
    verdict = world.judge()
    assert (verdict.duplicated, verdict.passed) == (1, False)


def test_a_terminal_record_that_vanished_is_found(world: World) -> None:
    world.seen.append({**world.seen[0], "run_id": "gone"})
    assert not world.judge().passed


def test_an_occurrence_called_under_two_run_ids_is_duplicated(world: World) -> None:
    world.calls.append(Received(T + 0.2, "rate", "other", T, 1, True))
    assert world.judge().duplicated == 1


def test_a_run_that_was_not_due_is_found(world: World) -> None:
    world.ran("rate", T + 6)
    verdict = world.judge()
    assert verdict.due == 6
    assert verdict.duplicated == 2  # its call and its record


def test_a_call_before_its_instant_is_early(world: World) -> None:
    first = world.calls[0]
    world.calls[0] = Received(T - 0.001, first.job, first.run, first.instant, 1, True)
    verdict = world.judge()
    assert (verdict.early, verdict.passed) == (1, False)


def test_at_its_instant_is_not_early(world: World) -> None:
    first = world.calls[0]
    world.calls[0] = Received(T, first.job, first.run, first.instant, 1, True)
    assert world.judge().passed


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_missing_attempt_is_found(world: World, attempt: int) -> None:
    world.drop_calls("flaky", attempt=attempt)
    verdict = world.judge()
    assert verdict.lost == 1
    assert not verdict.passed


def test_an_attempt_missing_in_the_record_is_found(world: World) -> None:
    del world.records["flaky"][0]["attempts"][0]
    verdict = world.judge()
    assert not verdict.passed


def test_an_attempt_that_the_record_does_not_know_is_found(world: World) -> None:
    world.calls.append(Received(T + 9, "rate", "r0", T, 2, True))
    assert world.judge().duplicated == 1


def test_an_attempt_recorded_twice_is_found(world: World) -> None:
    world.records["flaky"][0]["attempts"][1]["attempt"] = 1
    assert not world.judge().passed


def test_a_lost_attempt_need_not_have_called(world: World) -> None:
    """A worker may die between its claim and its call; the record says so."""
    world.ran("rate", T + 15, outcomes=("lost",))
    world.expected["rate"]["until"] = T + 15
    world.drop_calls("rate", attempt=1, instant=T + 15)
    verdict = world.judge()
    assert verdict.passed
    assert verdict.reclaimed == 1


@pytest.mark.parametrize("outcomes", [(), ("failed",), ("failed", "failed", "failed")])
def test_failing_twice_means_attempt_three(world: World, outcomes: tuple[str, ...]) -> None:
    world.records["flaky"].clear()
    world.drop_calls("flaky")
    world.seen = []
    world.ran("flaky", T + 3, outcomes=outcomes)
    verdict = world.judge()
    assert not verdict.passed
    assert (verdict.lost, verdict.duplicated) == (0, 0)


def test_without_a_reclaimed_run_nothing_was_shown(world: World) -> None:
    world.records["victim"].clear()
    world.drop_calls("victim")
    world.seen = []
    world.ran("victim", T + 7)
    verdict = world.judge()
    assert (verdict.reclaimed, verdict.passed) == (0, False)


def test_a_victim_that_failed_was_not_reclaimed(world: World) -> None:
    world.records["victim"][0].update(status="failed", attempt=1)
    world.drop_calls("victim", attempt=2)
    world.seen = []
    verdict = world.judge()
    assert (verdict.reclaimed, verdict.passed) == (0, False)


def test_a_failed_run_is_counted(world: World) -> None:
    world.records["rate"][0]["status"] = "failed"
    world.seen = []
    verdict = world.judge()
    assert (verdict.succeeded, verdict.failed, verdict.lost) == (5, 1, 0)


@pytest.mark.parametrize(("due", "passes"), [(0, True), (3, True), (-1, False), (4, False)])
def test_jitter_stays_in_its_window(world: World, due: float, passes: bool) -> None:
    world.expected["rate"]["jitter"] = 3
    world.records["rate"][0]["due"] = iso(T + due)
    assert world.judge().passed is passes


def test_lateness_counts_from_the_first_call(world: World) -> None:
    world.expected = {"victim": world.expected["victim"]}
    world.calls = [call for call in world.calls if call.job == "victim"]
    assert world.judge().latenesses == [pytest.approx(0.1)]


def test_percentiles_by_nearest_rank() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert (percentile(values, 50), percentile(values, 99)) == (50.0, 99.0)
    assert percentile([7.0], 99) == 7.0


def test_the_judge_imports_nothing_of_cronce() -> None:
    tree = ast.parse(Path(judging.__file__).read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "cronce"]
        )
    }
    assert imported <= sys.stdlib_module_names
