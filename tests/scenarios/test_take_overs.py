"""A worker died with several runs; their messages come again in one batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.domain.message import Message
from cronce.domain.transitions import Claim
from cronce.ports import Changed
from cronce.targets.contract import Answer, Call, succeeded
from cronce.testing.driver import Driver

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
DUE = AT + timedelta(minutes=1)
LEASE_OVER = DUE + timedelta(seconds=31)
LONG = 50
JOBS = ("a", "b", "c")


class TakingLong:
    """Notes, at each call, how many messages other workers could receive meanwhile."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        self.calls: list[Call] = []
        self.visible: list[int] = []

    def execute(self, call: Call) -> Answer:
        assert self.driver is not None
        now = self.driver.clock.now()
        self.calls.append(call)
        self.visible.append(sum(m.visible_at <= now for m in self.driver.queue.waiting))
        self.driver.clock.advance(LONG)
        return succeeded("ok")


@pytest.fixture
def target() -> TakingLong:
    return TakingLong()


@pytest.fixture
def driver(target: TakingLong) -> Driver:
    """Three runs whose worker has claimed them and is gone, their leases expired."""
    driver = target.driver = Driver(target, at=AT)
    for job in JOBS:
        document = {
            "schedule": f"at({DUE:%Y-%m-%dT%H:%M:%S})",
            "target": {"http": {"url": "https://example.com/"}},
        }
        driver.put(job, document)
    driver.tick()
    driver.clock.set(DUE)
    for received in driver.queue.receive(10):
        message = Message.from_body(received.body)
        claim = Claim(
            owner=f"gone-{message.key.job_id}",
            message_id=received.message_id,
            due=message.due,
            lease_expires_at=DUE + timedelta(seconds=30),
        )
        assert isinstance(driver.store.claim(message.key, claim, now=DUE), Changed)
        driver.queue.hide([received.receipt], 30)
    driver.clock.set(LEASE_OVER)
    return driver


def test_one_is_taken_over_alone_and_the_others_wait_for_no_lease(
    driver: Driver, target: TakingLong
) -> None:
    report = driver.deliver()
    assert report is not None
    assert [call.attempt for call in target.calls] == [2]
    assert target.visible == [2]
    assert len(report.returned) == 2
    owners = {job: driver.runs(job)[0].owner for job in JOBS}
    assert [job for job in JOBS if owners[job] == f"gone-{job}"] == list(JOBS[1:])


def test_each_of_them_runs_once_more(driver: Driver, target: TakingLong) -> None:
    driver.run_until_idle()
    assert sorted(call.job_id for call in target.calls) == list(JOBS)
    for job in JOBS:
        assert [(run.status, run.attempt) for run in driver.runs(job)] == [("succeeded", 2)]
