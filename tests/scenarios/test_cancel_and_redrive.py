"""What operators ask of runs, and what they must not be able to ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.domain.errors import RunNotFound, WrongState
from cronce.domain.identity import RunKey
from cronce.domain.run import Run
from cronce.targets.contract import Answer, Call, retried, succeeded
from cronce.testing.driver import Driver

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
URL = {"http": {"url": "https://example.com/"}}
MINUTE, DAY = 60, 86_400


class Target:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def execute(self, call: Call) -> Answer:
        return self.answer


OK, NO = succeeded("ok"), retried("http_503", "no")


def driven(answer: Answer, **document: object) -> Driver:
    driver = Driver(Target(answer), at=AT)
    driver.put("a", {"schedule": {"rate": 300}, "target": URL, **document})
    return driver


def id_at(run: Run, second: float) -> str:
    """Of the occurrence so many seconds after the beginning."""
    return f"{AT + timedelta(seconds=second):%Y%m%dT%H%M%SZ}-{run.key.uid}"


def statuses(driver: Driver) -> list[str]:
    return [run.status for run in driver.runs("a")]


def test_an_occurrence_that_is_counted_as_missed_cannot_be_cancelled() -> None:
    driver = driven(OK, schedule={"rate": 60}, misfire="skip")
    driver.run_until_idle(at_most=180)
    driver.clock.advance(3600)
    driver.tick()
    before = driver.runs("a")
    for second in (600, 1200, 2400):
        with pytest.raises(RunNotFound):
            driver.control.cancel_run("a", id_at(before[0], second), by="me")
    assert {run.key for run in driver.runs("a")} == {run.key for run in before}


def test_a_run_whose_row_has_expired_is_not_recorded_anew_as_cancelled() -> None:
    driver = driven(OK, schedule={"rate": DAY}, history="15d")
    driver.run_for(DAY + MINUTE)
    [run] = driver.runs("a")
    assert run.status == "succeeded"
    driver.clock.advance(15 * DAY)
    driver.store.rows.delete("JOB#a", f"RUN#2026-11-30T10:00:00.000Z#{run.key.uid}#")
    assert driver.runs("a") == []
    with pytest.raises(RunNotFound):
        driver.control.cancel_run("a", run.key.run_id, by="me")
    assert driver.runs("a") == []


def test_what_is_dispatched_and_has_no_row_yet_can_be_cancelled() -> None:
    driver = driven(OK, schedule={"rate": 120})
    run_id = id_at(Run(driver_key(driver), "pending", AT), 120)
    assert driver.control.cancel_run("a", run_id, by="me").status == "cancelled"
    driver.run_for(300)
    assert statuses(driver) == ["cancelled", "succeeded"]


def driver_key(driver: Driver) -> RunKey:
    stored = driver.store.read_job("a")
    assert stored is not None
    return RunKey("a", stored.job.uid, AT)


def test_a_failed_run_of_a_paused_job_is_redriven_after_the_resume() -> None:
    """The pause would cancel it, and nobody could redrive it any more."""
    driver = driven(NO, retry={"max_attempts": 1}, pause_on_failure=1)
    driver.run_for(310)
    [run] = driver.runs("a")
    with pytest.raises(WrongState, match="of a paused job: redrive before resume"):
        driver.control.redrive_run("a", run.key.run_id, by="me")
    assert statuses(driver) == ["failed"]
    driver.control.resume("a", by="me")
    driver.target = Target(OK)
    driver.control.redrive_run("a", run.key.run_id, by="me")
    driver.run_for(30)
    assert statuses(driver) == ["succeeded"]


def test_a_failed_run_by_request_is_redriven_during_a_pause() -> None:
    driver = driven(NO, retry={"max_attempts": 1})
    run, _ = driver.control.run_now("a", by="me")
    driver.run_for(10)
    driver.control.pause("a", by="me")
    driver.target = Target(OK)
    driver.control.redrive_run("a", run.key.run_id, by="me")
    driver.run_for(30)
    assert statuses(driver) == ["succeeded"]


def test_a_job_whose_last_run_is_cancelled_goes_away() -> None:
    """Its retry lies in the index, so no message comes to see to it."""
    retry = {"max_attempts": 2, "backoff": "20h", "max_backoff": "20h"}
    at = {"at": "2026-11-29T10:05:00Z"}
    driver = driven(NO, schedule=at, retry=retry, delete_after="1h")
    driver.run_for(400)
    [run] = driver.runs("a")
    assert (run.status, run.indexed_at is None) == ("retrying", False)
    driver.control.cancel_run("a", run.key.run_id, by="me")
    driver.run_for(3500)
    assert driver.store.read_job("a") is not None
    driver.run_for(200)
    assert driver.store.read_job("a") is None
    assert statuses(driver) == ["cancelled"]
