"""What an invocation writes beside its log lines: one blob of metrics, with one dimension."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.adapters import observer
from cronce.adapters.observer import PowertoolsObserver

DUE = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> PowertoolsObserver:
    monkeypatch.delenv("POWERTOOLS_SERVICE_NAME", raising=False)
    return PowertoolsObserver("jobs")


def blobs(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if "_aws" in line]


def test_the_deployment_is_the_only_dimension(
    watched: PowertoolsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        watched.event("succeeded", job="a", run="r", attempt=1)
        watched.flush()
    for blob in blobs(capsys):
        (described,) = blob["_aws"]["CloudWatchMetrics"]
        assert described["Namespace"] == "cronce"
        assert described["Dimensions"] == [["deployment"]]
        assert blob["deployment"] == "jobs"
        assert blob["Succeeded"] == [1.0]


def test_a_line_of_the_log_names_the_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    PowertoolsObserver("logging").event("succeeded", job="a", run="r", attempt=1)
    (line,) = capsys.readouterr().out.splitlines()
    logged = json.loads(line)
    assert (logged["service"], logged["action"]) == ("logging", "succeeded")
    assert (logged["level"], logged["job"], logged["attempt"]) == ("INFO", "a", 1)


def test_everything_that_is_measured_has_a_name_that_is_listed(
    watched: PowertoolsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    for action in observer._COUNTED:
        watched.event(action)
    watched.event("tick", sent=3, advanced=2)
    watched.event("missed", count=4)
    watched.event("not_announced", count=1)
    watched.event("claimed", attempt=1, due=DUE, started_at=DUE + timedelta(milliseconds=250))
    watched.event("watched", overdue=7.0)
    watched.flush()
    (blob,) = blobs(capsys)
    (described,) = blob["_aws"]["CloudWatchMetrics"]
    assert {metric["Name"] for metric in described["Metrics"]} == observer.METRICS
    assert (blob["Dispatched"], blob["Missed"]) == ([3.0], [4.0])
    assert (blob["Lateness"], blob["OverdueSeconds"]) == ([250.0], [7.0])


def test_nothing_measured_writes_nothing(
    watched: PowertoolsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    watched.flush()
    assert blobs(capsys) == []
