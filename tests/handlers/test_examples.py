"""Every example is a valid job, and so is the one in the README."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from cronce.domain.allowed import parse_allowed
from cronce.domain.definition import parse_job
from cronce.jsontext import parse
from cronce.targets.registry import payload_faults, target_faults

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 30, tzinfo=UTC)
ALLOWED = parse_allowed(
    ["https://*.example.com", "arn:aws:secretsmanager:us-east-1:123456789012:secret:*"],
    profile="aws",
)
README_JOB = re.search(r"## A job\n+```json\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
EXAMPLES = sorted((ROOT / "examples").glob("*.json"))
FIRST_RUNS = {
    "from-eventbridge": datetime(2026, 11, 30, 18, tzinfo=UTC),
    "internal-report": datetime(2026, 11, 30, 11, tzinfo=UTC),
    "invoices": datetime(2026, 11, 30, 1, 30, tzinfo=UTC),
    "poll-orders": datetime(2026, 11, 30, 0, 0, 10, tzinfo=UTC),
    "trial-end-4711": datetime(2030, 6, 30, 16, tzinfo=UTC),
}


def first_run(text: bytes) -> datetime | None:
    check = partial(target_faults, profile="aws", allowed=ALLOWED)
    spec = parse_job(
        parse(text), now=NOW, anchor=NOW, check_target=check, check_payload=payload_faults
    )
    return spec.schedule.next_after(NOW)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_when_its_description_says(path: Path) -> None:
    assert first_run(path.read_bytes()) == FIRST_RUNS[path.stem]


def test_the_job_in_the_readme_is_valid() -> None:
    assert README_JOB is not None
    assert json.loads(README_JOB[1])["timeout"] == "5m"
    assert first_run(README_JOB[1].encode()) == FIRST_RUNS["invoices"]
