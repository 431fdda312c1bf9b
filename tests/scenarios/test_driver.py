"""The driver that users test their own jobs with."""

from __future__ import annotations

from datetime import UTC, datetime

from cronce.targets.contract import Answer, Call, retried, succeeded
from cronce.testing.driver import Driver

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
URL = {"http": {"url": "https://example.com/"}}


class Noting:
    """Fails as often as it is told, then succeeds."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[Call] = []
        self.failures = failures

    def execute(self, call: Call) -> Answer:
        self.calls.append(call)
        return retried("http_503", "no") if len(self.calls) <= self.failures else succeeded("ok")


def test_a_job_runs_at_every_occurrence_and_never_early() -> None:
    target = Noting()
    driver = Driver(target, at=AT)
    driver.put("a", {"schedule": "*/5 * * * *", "target": URL})
    driver.run_for(1800)
    runs = driver.runs("a")
    assert [(r.status, r.attempt) for r in runs] == [("succeeded", 1)] * 6
    assert [r.key.scheduled_for.minute for r in runs] == [5, 10, 15, 20, 25, 30]
    assert all(r.started_at is not None and r.started_at >= r.key.scheduled_for for r in runs)
    assert len(target.calls) == 6


def test_a_failure_is_retried() -> None:
    driver = Driver(Noting(failures=2), at=AT)
    driver.put("a", {"schedule": "at(2026-11-29T10:01:00)", "target": URL})
    driver.run_until_idle()
    (run,) = driver.runs("a")
    assert (run.status, run.attempt) == ("succeeded", 3)
    assert [entry.code for entry in run.entries] == ["http_503", "http_503"]


def test_a_lost_message_is_sent_again() -> None:
    driver = Driver(Noting(), at=AT)
    driver.put("a", {"schedule": "at(2026-11-29T10:01:00)", "target": URL})
    assert driver.queue.purge() == 1
    driver.run_for(300)
    assert [run.status for run in driver.runs("a")] == ["succeeded"]


def test_tick_and_delivery_can_be_taken_one_by_one() -> None:
    target = Noting()
    driver = Driver(target, at=AT)
    driver.put("a", {"schedule": "rate(10 minutes)", "target": URL})
    assert driver.tick().sent == 0
    driver.clock.set(datetime(2026, 11, 29, 10, 9, tzinfo=UTC))
    assert driver.tick().sent == 1
    assert driver.deliver() is None
    driver.clock.set(datetime(2026, 11, 29, 10, 10, tzinfo=UTC))
    assert driver.deliver() is not None
    assert [call.scheduled_for.minute for call in target.calls] == [10]
