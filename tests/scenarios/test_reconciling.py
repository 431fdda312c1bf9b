"""Dispatch records: what is sent again, what is given up, and what says nothing about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cronce.domain.identity import RunKey
from cronce.domain.record import DispatchRecord, Sent
from cronce.domain.transitions import Claim
from cronce.targets.contract import Answer, Call, retried, succeeded
from cronce.testing.driver import Driver

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
URL = {"http": {"url": "https://example.com/"}}
LONG_AGO = timedelta(days=14, hours=1)


class Target:
    def execute(self, call: Call) -> Answer:
        return retried("http_503", "no") if call.job_id == "fails" else succeeded("ok")


def test_an_earlier_attempt_does_not_say_that_the_queue_has_passed_a_backlog() -> None:
    """Workers are busy elsewhere: nothing is lost, so nothing is sent again."""
    driver = Driver(Target(), at=AT)
    driver.put("fails", {"schedule": {"rate": 86_400}, "retry": {"max_attempts": 1}, "target": URL})
    failed, _ = driver.control.run_now("fails", by="me")
    driver.run_until_idle(at_most=300)
    driver.put("waits", {"schedule": "at(2026-11-29T10:01:00)", "target": URL})
    driver.clock.set(AT + timedelta(seconds=90))
    driver.control.redrive_run("fails", failed.key.run_id, by="me")
    for _ in range(6):
        driver.clock.advance(60)
        driver.tick()
    assert driver.observer.of("resent") == []
    assert len(driver.queue.waiting) == 2
    driver.run_for(60)
    assert [run.status for run in driver.runs("waits")] == ["succeeded"]


def of_long_ago(driver: Driver, key: RunKey) -> None:
    """The record of its dispatch, due to be looked at."""
    at = AT - LONG_AGO
    sent = Sent(key, 1, at)
    record = DispatchRecord(0, "long-ago", 0, at, (sent,), 1, "tick", AT)
    driver.store.put_record(record)


def key_of(driver: Driver) -> RunKey:
    stored = driver.store.read_job("a")
    assert stored is not None
    return RunKey("a", stored.job.uid, (AT - LONG_AGO).replace(microsecond=0))


def test_a_run_that_has_begun_is_sent_again_however_old_its_dispatch_is() -> None:
    """It waited in line for two weeks; then its worker died."""
    driver = Driver(Target(), at=AT)
    driver.put("a", {"schedule": {"rate": 86_400}, "target": URL})
    key = key_of(driver)
    claim = Claim("o", "m", key.scheduled_for, AT - timedelta(seconds=1))
    driver.store.claim(key, claim, now=AT - timedelta(seconds=31))
    of_long_ago(driver, key)
    driver.tick()
    driver.run_for(10)
    assert [(run.status, run.attempt) for run in driver.runs("a")] == [("succeeded", 2)]


def test_a_run_that_never_began_is_given_up_and_its_job_goes_away() -> None:
    driver = Driver(Target(), at=AT)
    driver.put("a", {"schedule": "at(2026-11-29T11:00:00)", "target": URL, "delete_after": "1h"})
    stored = driver.store.read_job("a")
    assert stored is not None
    key = key_of(driver)
    ended = replace(stored.job, status="ended", next=None, version=2)
    assert driver.store.edit_job(stored.job, ended, stored.definition, replan=True)
    of_long_ago(driver, key)
    driver.tick()
    assert [(run.status, run.code) for run in driver.runs("a")] == [("missed", "too_old")]
    driver.clock.advance(3601)
    assert driver.store.read_job("a") is None
