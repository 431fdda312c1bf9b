"""What follows the end of a run: pause_on_failure, delete_after, jobs that end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from cronce.adapters.items import JOB_SK, SPEC_SK, job_pk
from cronce.domain.errors import JobNotFound, WrongState
from cronce.domain.instants import to_api
from cronce.domain.job import Job, StoredJob
from cronce.targets.contract import Call, refused, succeeded
from simulation.kernel import START
from support.stage import Stage, failing

Stages = Callable[..., Stage]
HOUR = 3600
ONE_TRY = {"max_attempts": 1}


def job_of(stage: Stage, job_id: str = "a") -> Job:
    stored: StoredJob = stage.api(lambda control: control.get(job_id))
    return stored.job


def at(second: int) -> dict[str, Any]:
    return {"at": to_api(START + timedelta(seconds=second))}


# --- pause_on_failure


def test_a_job_that_keeps_failing_is_paused_by_cronce(stages: Stages) -> None:
    stage = stages(answer=failing)
    stage.put(schedule="rate(1 minute)", retry=ONE_TRY, pause_on_failure=3)
    stage.run_to(175)
    assert job_of(stage).status == "active"
    stage.run_to(190)
    stored: StoredJob = stage.api(lambda control: control.get("a"))
    assert (stored.job.status, stored.job.generation) == ("paused", 2)
    assert stored.job.reason == "paused after 3 failed runs in a row"
    assert stored.definition.updated_by == "cronce"
    [event] = stage.observer.of("job_paused_on_failure")
    assert event.fields == {"job": "a", "count": 3}
    stage.run_to(600)
    assert set(stage.statuses()) == {"failed", "cancelled"}
    assert stage.statuses()[:3] == ["failed"] * 3


def test_a_success_in_between_counts_from_zero(stages: Stages) -> None:
    def answer(call: Call) -> Any:
        return succeeded("http_200") if call.scheduled_for.minute % 3 == 0 else failing(call)

    stage = stages(answer=answer)
    stage.put(schedule="* * * * *", retry=ONE_TRY, pause_on_failure=3)
    stage.run_to(900)
    assert job_of(stage).status == "active"
    assert {"failed", "succeeded"} == set(stage.statuses())


def test_skipped_and_cancelled_runs_say_nothing(stages: Stages) -> None:
    stage = stages(answer=lambda call: refused("http_400", "no"), takes=lambda call: 100)
    stage.put(schedule="rate(1 minute)", overlap="skip", timeout=200, pause_on_failure=2)
    stage.run_to(330)
    assert stage.statuses()[:4] == ["failed", "skipped", "failed", "skipped"]
    assert job_of(stage).status == "paused"


def test_after_a_resume_the_count_begins_again(stages: Stages) -> None:
    stage = stages(answer=failing)
    stage.put(schedule="rate(1 minute)", retry=ONE_TRY, pause_on_failure=2)
    stage.run_to(150)
    assert job_of(stage).status == "paused"
    stage.api(lambda control: control.resume("a", by="me"))
    stage.run_to(235)
    assert job_of(stage).status == "active"
    stage.run_to(250)
    assert job_of(stage).status == "paused"


def test_retries_are_one_failed_run(stages: Stages) -> None:
    stage = stages(answer=failing)
    stage.put(
        schedule="rate(5 minutes)", retry={"max_attempts": 3, "backoff": 1}, pause_on_failure=2
    )
    stage.run_to(590)
    assert [run.attempt for run in stage.runs()] == [3]
    assert job_of(stage).status == "active"
    stage.run_to(650)
    assert job_of(stage).status == "paused"


def test_a_success_pays_nothing_for_it(stages: Stages) -> None:
    counts = []
    for more in ({}, {"pause_on_failure": 2}):
        stage = stages()
        stage.put(schedule="rate(1 minute)", **more)
        stage.run_to(600)
        counts.append(dict(stage.calls))
    assert counts[0] == counts[1]


def test_a_worker_that_dies_before_it_pauses_is_made_up_for(stages: Stages) -> None:
    deaths = 0
    for n in range(1, 20):
        stage = stages(answer=failing, doom=("worker", n))
        stage.put(schedule="rate(1 minute)", retry=ONE_TRY, pause_on_failure=2)
        stage.run_to(700)
        if not stage.died:
            break
        deaths += 1
        assert job_of(stage).status == "paused", n
    assert deaths >= 5


# --- jobs that end, and go away


def test_b45_a_one_time_job_ends_and_is_shown(stage: Stage) -> None:
    stage.put(schedule=at(90))
    stage.run_to(130)
    job = job_of(stage)
    assert (job.status, job.next, job.expires_at) == ("ended", None, None)
    assert stage.statuses() == ["succeeded"]
    with pytest.raises(WrongState) as refusal:
        stage.api(lambda control: control.resume("a", by="me"))
    assert refusal.value.state == "ended"
    with pytest.raises(WrongState):
        stage.api(lambda control: control.pause("a", by="me"))


def test_max_runs_ends_a_job_and_a_new_schedule_wakes_it(stage: Stage) -> None:
    stage.put(schedule={"rate": 60, "max_runs": 3})
    stage.run_to(400)
    assert stage.statuses() == ["succeeded"] * 3
    assert (job_of(stage).status, job_of(stage).runs_planned) == ("ended", 3)
    stage.put(schedule={"rate": 300, "max_runs": 2})
    assert (job_of(stage).status, job_of(stage).generation) == ("active", 2)
    stage.run_to(1_100)
    assert stage.statuses() == ["succeeded"] * 5
    assert job_of(stage).status == "ended"


def test_an_ended_job_is_deleted_and_its_runs_stay(stage: Stage) -> None:
    stage.put(schedule=at(90), delete_after="1h")
    stage.run_to(100)
    assert job_of(stage).status == "ended"
    expires = job_of(stage).expires_at
    assert expires is not None
    ended = stage.runs()[0].finished_at
    assert ended is not None
    assert expires == int(ended.timestamp()) + HOUR
    stage.run_to(90 + HOUR - 5)
    assert job_of(stage).status == "ended"
    stage.run_to(90 + HOUR + 5)
    with pytest.raises(JobNotFound):
        job_of(stage)
    assert stage.statuses() == ["succeeded"]
    run = stage.runs()[0]
    found = stage.api(lambda control: control.get_run("a", run.key.run_id))
    assert found == run
    assert (
        stage.api(lambda c: c.list_jobs(group=None, status=None, limit=9, cursor=None)).items == ()
    )
    assert stage.store.rows.get(job_pk("a"), JOB_SK) is not None


def test_b11_the_rows_of_an_expired_job_are_in_nobodys_way(stage: Stage) -> None:
    stage.put(schedule=at(90), delete_after="1h")
    stage.run_to(90 + 2 * HOUR)
    stage.put(schedule="rate(1 minute)")
    job = job_of(stage)
    assert (job.status, job.generation, job.expires_at) == ("active", 1, None)
    for sk in (JOB_SK, SPEC_SK):
        row = stage.store.rows.get(job_pk("a"), sk)
        assert row is not None
        assert "expires_at" not in row


def test_the_time_counts_from_the_last_of_all_runs(stages: Stages) -> None:
    """Three runs side by side; each takes longer than the time to the next one."""
    stage = stages(takes=lambda call: 150)
    stage.put(schedule={"rate": 60, "max_runs": 3}, timeout=300, delete_after="1h")
    stage.run_to(305)
    assert stage.statuses() == ["succeeded", "succeeded", "running"]
    assert job_of(stage).status == "ended"
    assert job_of(stage).expires_at is None
    stage.run_to(340)
    last = stage.runs()[-1].finished_at
    assert last is not None
    assert job_of(stage).expires_at == int(last.timestamp()) + HOUR


def test_a_run_that_goes_on_keeps_its_job(stages: Stages) -> None:
    """Redriven just before the job would have gone; its retry comes after that."""
    fates = iter([refused("http_400", "no"), failing(None)])  # type: ignore[arg-type]
    stage = stages(answer=lambda call: next(fates, succeeded("http_200")))
    retry = {"max_attempts": 2, "backoff": 600, "max_backoff": 1200}
    stage.put(schedule=at(90), delete_after="1h", retry=retry)
    stage.run_to(90 + HOUR - 60)
    [failed] = stage.runs()
    assert failed.status == "failed"
    stage.api(lambda control: control.redrive_run("a", failed.key.run_id, by="me"))
    stage.run_to(90 + 2 * HOUR)
    [run] = stage.runs()
    assert (run.status, run.attempt) == ("succeeded", 3)
    ended = run.finished_at
    assert ended is not None
    assert job_of(stage).expires_at == int(ended.timestamp()) + HOUR


def test_a_new_schedule_before_that_keeps_the_job(stage: Stage) -> None:
    stage.put(schedule=at(90), delete_after="1h")
    stage.run_to(200)
    assert job_of(stage).expires_at is not None
    stage.put(schedule=at(2 * HOUR), delete_after="1h")
    assert job_of(stage).expires_at is None
    stage.run_to(2 * HOUR + 60)
    assert stage.statuses() == ["succeeded"] * 2
    assert job_of(stage).status == "ended"


def test_another_delete_after_counts_from_then_on_and_none_keeps_it(stage: Stage) -> None:
    stage.put(schedule=at(90), delete_after="1h")
    stage.run_to(300)
    stage.put(schedule=at(90), delete_after="2h")
    assert job_of(stage).expires_at == int(START.timestamp()) + 300 + 2 * HOUR
    stage.put(schedule=at(90))
    assert job_of(stage).expires_at is None
    stage.run_to(4 * HOUR)
    assert job_of(stage).status == "ended"


def test_a_job_that_is_not_moved_on_yet_is_asked_about_again(stages: Stages) -> None:
    """The dispatcher dies after it has sent, before it advances: the run ends first."""
    stage = stages(doom=("dispatcher", 2))
    stage.put(schedule=at(230), delete_after="1h")
    stage.run_to(240)
    assert stage.died
    assert stage.statuses() == ["succeeded"]
    stage.run_to(400)
    assert job_of(stage).status == "ended"
    assert job_of(stage).expires_at is not None


def test_a_worker_that_dies_before_it_expires_the_job_is_made_up_for(stages: Stages) -> None:
    for n in (1, 2):
        stage = stages(doom=("worker", n))
        stage.put(schedule=at(90), delete_after="1h")
        stage.run_to(400)
        assert stage.died
        assert stage.statuses() == ["succeeded"]
        assert job_of(stage).expires_at is not None
