"""Every case of tests/cases/schedule.jsonl: real expressions that other schedulers got wrong.

The contested ones hold too; docs/schedules.md says which reading we chose.
"""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cronce.domain.errors import Invalid
from cronce.domain.instants import to_api
from cronce.domain.schedule import Schedule, parse_schedule

LINES = (Path(__file__).parents[1] / "cases" / "schedule.jsonl").read_text().splitlines()
CASES = [json.loads(line) for line in LINES]
REFUSED = [case for case in CASES if isinstance(case["expect"], dict)]
FIRING = [case for case in CASES if isinstance(case["expect"], list)]


def read(case: dict[str, Any], now: datetime) -> tuple[Schedule, datetime | None]:
    """The case's schedule, and the end of its window."""
    document = dict(case["schedule"])
    until, anchor = document.pop("until", None), document.pop("anchor", None)
    if "rate_seconds" in document:
        document["rate"] = document.pop("rate_seconds")
    document["timezone"] = case["timezone"]
    schedule = parse_schedule(
        document, now=now, anchor=datetime.fromisoformat(anchor) if anchor else None
    )
    return schedule, datetime.fromisoformat(until) if until else None


@pytest.mark.parametrize("case", FIRING, ids=lambda case: case["id"])
def test_fires_when_it_should(case: dict[str, Any]) -> None:
    start = datetime.fromisoformat(case["start"])
    schedule, until = read(case, start - timedelta(days=1))
    found: list[str] = []
    at: datetime | None = schedule.next_after(start)
    while at is not None and len(found) < len(case["expect"]) and (until is None or at <= until):
        found.append(to_api(at))
        at = schedule.next_after(at)
    assert found == case["expect"]
    if case.get("exhausted"):
        assert at is None or (until is not None and at > until)
    if until is not None:
        assert schedule.count(start, until) == len(case["expect"])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_is_refused_at_its_field(case: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        read(case, datetime.fromisoformat(case["start"]))
    (kind,) = case["schedule"]
    named = "/timezone" if case["id"].startswith("tz-") else "/" + kind.removesuffix("_seconds")
    assert {fault.pointer for fault in refused.value.faults} == {named}
    assert all(fault.detail and fault.accepted for fault in refused.value.faults)


def test_none_is_left_out() -> None:
    assert len(FIRING) + len(REFUSED) == len(LINES) == 119
