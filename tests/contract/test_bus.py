"""Announcements over EventBridge: packed, offered again, given up, never raised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cronce.adapters.events import BUS_CONFIG, BusAnnouncer
from cronce.adapters.observer import METRICS, NOT_ANNOUNCED, PowertoolsObserver
from cronce.domain.outcome import Outcome
from cronce.testing.observer import RecordingObserver

BUS = "outcomes"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield boto3.client("events", region_name="eu-central-1", config=BUS_CONFIG)


def outcomes(n: int) -> list[Outcome]:
    return [Outcome("Cronce Run Failed", {"v": 1, "job": f"job-{i}"}) for i in range(n)]


def test_all_arrive_however_many(client: Any) -> None:
    client.create_event_bus(Name=BUS)
    sent: list[list[dict[str, Any]]] = []
    client.meta.events.register(
        "provide-client-params.events.PutEvents",
        lambda params, **_: sent.append(params["Entries"]),
    )
    observer = RecordingObserver()
    BusAnnouncer(client, BUS, "jobs", observer).announce(outcomes(23))
    assert [len(entries) for entries in sent] == [10, 10, 3]
    entries = [entry for each in sent for entry in each]
    details = [json.loads(entry["Detail"]) for entry in entries]
    assert details == [{"deployment": "jobs", "v": 1, "job": f"job-{i}"} for i in range(23)]
    assert {(e["Source"], e["DetailType"], e["EventBusName"]) for e in entries} == {
        ("cronce", "Cronce Run Failed", BUS)
    }
    assert observer.events == []


class Refusing:
    """A bus that takes all but the first entry of each call, so many times."""

    def __init__(self, times: int) -> None:
        self.times, self.sizes = times, []  # type: int, list[int]

    def put_events(self, Entries: list[Any]) -> dict[str, Any]:
        self.sizes.append(len(Entries))
        fine: list[dict[str, str]] = [{"EventId": "e"} for _ in Entries]
        if len(self.sizes) <= self.times:
            fine[0] = {"ErrorCode": "ThrottlingException"}
        return {"Entries": fine}


def test_what_is_refused_is_offered_once_more() -> None:
    bus, observer = Refusing(1), RecordingObserver()
    BusAnnouncer(bus, BUS, "jobs", observer).announce(outcomes(3))
    assert bus.sizes == [3, 1]
    assert observer.events == []


def test_what_is_refused_twice_is_counted_as_lost() -> None:
    bus, observer = Refusing(2), RecordingObserver()
    BusAnnouncer(bus, BUS, "jobs", observer).announce(outcomes(3))
    (lost,) = observer.of("not_announced")
    assert lost.fields == {"count": 1, "reason": "ThrottlingException"}


def test_a_bus_that_does_not_answer_is_given_up_at_once() -> None:
    from botocore.exceptions import EndpointConnectionError

    calls = []

    class Gone:
        def put_events(self, Entries: list[Any]) -> dict[str, Any]:
            calls.append(Entries)
            raise EndpointConnectionError(endpoint_url="https://localhost")

    observer = RecordingObserver()
    BusAnnouncer(Gone(), BUS, "jobs", observer).announce(outcomes(25))
    assert len(calls) == 1
    assert [e.fields["count"] for e in observer.of("not_announced")] == [25]


def test_a_fault_of_ours_is_no_fault_of_the_run(client: Any) -> None:
    observer = RecordingObserver()
    BusAnnouncer(client, "no such bus!", "jobs", observer).announce(outcomes(1))
    assert [e.fields["count"] for e in observer.of("not_announced")] == [1]


def test_lost_ones_are_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    observer = PowertoolsObserver("jobs")
    observer.event("not_announced", count=3, reason="x")
    observer.flush()
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [w[NOT_ANNOUNCED] for w in written if NOT_ANNOUNCED in w] in ([3], [[3.0]])
    assert NOT_ANNOUNCED in METRICS
