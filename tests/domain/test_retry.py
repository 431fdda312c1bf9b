"""Retry decisions: bounds at both extremes of the draw, what counts as an attempt (B37, B39)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.domain.errors import Invalid
from cronce.domain.retry import GiveUp, RetryAt, RetryPolicy, decide, delay, parse_retry

NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)


def decision(policy: RetryPolicy, attempt: int, **over: object) -> RetryAt | GiveUp:
    given_ = {
        "allowed": policy.max_attempts,
        "permanent": False,
        "retry_after": None,
        "now": NOW,
        "fraction": 1.0,
    } | over
    return decide(policy, attempt=attempt, **given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(("max_attempts", "executions"), [(1, 1), (2, 2), (5, 5)])
def test_b37_max_attempts_counts_executions(max_attempts: int, executions: int) -> None:
    policy = RetryPolicy(max_attempts=max_attempts)
    made = 1
    while isinstance(decision(policy, made), RetryAt):
        made += 1
    assert made == executions
    assert decision(policy, made) == GiveUp("attempts_exhausted")


@pytest.mark.parametrize("n", [0, -1, 21, True, 2.0, "3", None])
def test_b37_other_max_attempts_are_refused(n: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_retry({"max_attempts": n})
    assert [f.pointer for f in refused.value.faults] == ["/retry/max_attempts"]


@pytest.mark.parametrize("attempt", [1, 2, 3, 19, 20, 60, 200, 10_000])
@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("retry_after", [None, 0, 5, 3600, 10**9])
def test_b39_every_delay_is_a_whole_second_within_bounds(
    attempt: int, fraction: float, retry_after: int | None
) -> None:
    wait = delay(RetryPolicy(), attempt, retry_after, fraction)
    assert isinstance(wait, int)
    assert 1 <= wait <= 3600


def test_b39_the_ceiling_never_falls() -> None:
    ceilings = [delay(RetryPolicy(), n, None, 1.0) for n in range(1, 200)]
    assert ceilings == sorted(ceilings)


@given(
    st.integers(1, 20),
    st.integers(1, 86_400),
    st.integers(1, 10),
    st.integers(1, 86_400),
    st.floats(0, 1),
)
def test_full_jitter_stays_below_the_exponential(
    attempt: int, backoff: int, factor: int, cap: int, fraction: float
) -> None:
    policy = RetryPolicy(20, backoff, factor, cap)
    wait = delay(policy, attempt, None, fraction)
    assert 1 <= wait <= max(1, min(backoff * factor ** (attempt - 1), cap))


def test_a_permanent_failure_is_final_at_once() -> None:
    assert decision(RetryPolicy(), 1, permanent=True) == GiveUp("permanent")


def test_the_target_may_ask_for_more_time_but_not_for_less() -> None:
    assert decision(RetryPolicy(), 1, retry_after=60) == RetryAt(NOW + timedelta(seconds=60))
    assert decision(RetryPolicy(), 1, retry_after=1) == RetryAt(NOW + timedelta(seconds=10))


def test_all_faults_of_a_policy_come_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        parse_retry({"max_attempts": 0, "backoff": "soon", "tries": 3})
    assert {(f.pointer, f.code) for f in refused.value.faults} == {
        ("/retry/max_attempts", "out_of_range"),
        ("/retry/backoff", "bad_duration"),
        ("/retry/tries", "unknown_field"),
    }
