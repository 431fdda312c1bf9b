"""Where croniter is right the two must agree: in UTC, without the forms that it misreads."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from croniter import croniter

from cronce.domain.schedule import parse_schedule


def expression(rng: Random) -> str:
    def field(low: int, high: int) -> str:
        a, b = sorted(rng.sample(range(low, high + 1), 2))
        step = rng.randint(2, max(2, (high - low) // 2))
        forms = ("*", "*", str(a), f"{a},{b}", f"{a}-{b}", f"{a}-{b}/{step}", f"*/{step}")
        return rng.choice(forms)

    day, weekday = field(1, 31), field(0, 6)
    if rng.random() < 0.2:
        day, weekday = "L", "*"
    if rng.random() < 0.2:
        day, weekday = "*", f"{rng.randint(0, 6)}#{rng.randint(1, 5)}"
    return f"{field(0, 59)} {field(0, 23)} {day} {field(1, 12)} {weekday}"


@pytest.mark.parametrize("seed", range(4))
def test_the_same_next_and_previous_occurrences(seed):
    rng = Random(seed)
    compared = 0
    for _ in range(150):
        text = expression(rng)
        start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(1_000_000))
        theirs = croniter(text, start)
        try:
            expected = [theirs.get_next(datetime) for _ in range(5)]
        except ValueError:
            continue
        ours = parse_schedule(text, now=start)
        at, found = start, []
        for _ in range(5):
            at = ours.next_after(at)
            found.append(at)
        assert found == expected, text
        assert ours.latest_at_or_before(at - timedelta(seconds=1), not_before=start) == found[-2]
        compared += 1
    assert compared > 140
