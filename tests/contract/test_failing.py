"""The mark on a job whose last run failed: one writer is told that it made the difference."""

from cronce.domain.job import Job
from support import samples as s
from support.stores import Engine


def stored(engine: Engine) -> Job:
    found = engine.store.read_job("report")
    assert found is not None
    return found.job


def test_the_first_one_is_told(engine: Engine) -> None:
    job = s.a_job()
    engine.store.create_job(job, s.a_definition())
    assert not engine.store.set_failing(job, False)
    assert [engine.store.set_failing(job, True) for _ in range(2)] == [True, False]
    assert stored(engine).failing
    assert [engine.store.set_failing(job, False) for _ in range(2)] == [True, False]
    assert stored(engine) == job


def test_another_job_of_the_same_name_is_not_marked(engine: Engine) -> None:
    engine.store.create_job(s.a_job(uid="another1"), s.a_definition())
    assert not engine.store.set_failing(s.a_job(), True)
    assert not stored(engine).failing


def test_edits_and_advances_keep_the_mark(engine: Engine) -> None:
    job = s.a_job()
    engine.store.create_job(job, s.a_definition())
    engine.store.set_failing(job, True)
    edited = s.a_job(version=2, group="nightly")
    assert engine.store.edit_job(job, edited, s.a_definition(), replan=False)
    assert engine.store.advance(s.due_job(edited), None, runs_planned=1)
    assert stored(engine).failing
    assert stored(engine).group == "nightly"
