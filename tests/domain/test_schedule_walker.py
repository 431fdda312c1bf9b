"""The engine against the brute-force walker. `make fuzz-schedules` is the same with more of it."""

import pytest

from cronce.domain.schedule import parse_schedule
from support.expressions import OPERATORS
from support.fuzz_schedules import main, run

SEEDS = (1, 20_261_129)


@pytest.fixture(scope="module")
def report():
    reports = [run(seed, 1_250) for seed in SEEDS]
    whole = reports[0]
    for other in reports[1:]:
        whole.cases += other.cases
        whole.fired += other.fired
        whole.never += other.never
        whole.instants += other.instants
        whole.near_transition += other.near_transition
        whole.zones |= other.zones
        whole.operators += other.operators
    print("\n".join(whole.lines()))
    return whole


def test_the_engine_agrees_with_the_walker_everywhere(report):
    assert report.cases == 2_500
    assert report.fired > 50_000


def test_half_of_the_instants_are_within_two_days_of_a_transition(report):
    assert 2 * report.near_transition >= report.instants > 15_000


def test_at_least_sixty_zones(report):
    assert len(report.zones) >= 60


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_at_least_200_times(report, operator):
    assert report.operators[operator] >= 200


def test_the_walker_notices_an_engine_that_is_wrong(monkeypatch):
    monkeypatch.setattr("cronce.domain.wall_clock.WallClock._opens", lambda self, era: era.start)
    with pytest.raises(AssertionError):
        run(1, 500)


def test_the_command_prints_its_seed_and_counts(capsys):
    assert main(["--cases", "10", "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("seed 7\n")
    assert "10 schedules in " in printed


def test_the_last_occurrences_of_a_finite_schedule_lie_in_the_second_pass(at):
    schedule = parse_schedule(
        {"cron": "cron(0/30 1 1 11 ? 2026)", "timezone": "America/New_York"},
        now=at("2026-10-01T00:00:00Z"),
    )
    assert schedule.next_after(at("2026-11-01T05:30:00Z")) == at("2026-11-01T06:00:00Z")
    assert schedule.next_after(at("2026-11-01T06:00:00Z")) == at("2026-11-01T06:30:00Z")
    assert schedule.next_after(at("2026-11-01T06:30:00Z")) is None
