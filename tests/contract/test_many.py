"""Rows of backfills and groups, and jobs that go away: B11 among them."""

from dataclasses import replace

import pytest

from cronce.adapters.items import JOB_SK, SPEC_SK, job_pk
from cronce.domain.backfill import Backfill
from cronce.domain.errors import Invalid
from cronce.domain.groups import Group
from cronce.domain.instants import epoch_seconds
from cronce.domain.job import Job
from cronce.ports import DueBackfill, Page
from support import samples as s
from support.stores import Engine
from support.writes import BACKFILL, GROUP, MOVED, SPREAD

# --- backfills


def test_a_backfill_comes_back_as_it_was_written(engine: Engine) -> None:
    assert engine.store.create_backfill(BACKFILL) is None
    assert engine.store.read_backfill("report", "november") == BACKFILL
    over = MOVED.moved(None, started=1, existing=0, over=True, now=s.after(60))
    for believed, then in ((BACKFILL, MOVED), (MOVED, over)):
        assert engine.store.update_backfill(believed, then)
        assert engine.store.read_backfill("report", "november") == then
    [row] = engine.rows.all()
    assert "next_run" not in row
    assert row["expires_at"] == epoch_seconds(s.after(60)) + 30 * 86_400


def test_an_id_is_used_once(engine: Engine) -> None:
    engine.store.create_backfill(BACKFILL)
    other = replace(BACKFILL, pace=1, created_by="another")
    assert engine.store.create_backfill(other) == BACKFILL
    assert engine.store.read_backfill("report", "november") == BACKFILL


@pytest.mark.parametrize(
    "believed", [replace(BACKFILL, version=2), replace(BACKFILL, uid="zzzzzzzz")]
)
def test_somebody_moved_it_on(engine: Engine, believed: Backfill) -> None:
    engine.store.create_backfill(BACKFILL)
    assert not engine.store.update_backfill(believed, replace(MOVED, started=99))
    assert engine.store.read_backfill("report", "november") == BACKFILL


def test_it_lies_in_the_index_until_it_is_over(engine: Engine) -> None:
    engine.store.create_backfill(BACKFILL)
    due = list(engine.store.due(range(16), s.after(0)))
    assert due == [DueBackfill("report", "november", s.AT)]
    assert list(engine.store.due(range(16), s.after(-1))) == []
    engine.store.update_backfill(BACKFILL, BACKFILL.cancelled("why", s.after(5)))
    assert list(engine.store.due(range(16), s.after(9_999))) == []


def test_backfills_are_listed_by_id(engine: Engine) -> None:
    for name in ("c", "a", "b"):
        engine.store.create_backfill(replace(BACKFILL, id=name))
    engine.store.create_backfill(replace(BACKFILL, id="d", job_id="other"))
    first = engine.store.list_backfills("report", limit=2)
    assert [b.id for b in first.items if isinstance(b, Backfill)] == ["a", "b"]
    second = engine.store.list_backfills("report", limit=2, cursor=first.cursor)
    assert second == Page((replace(BACKFILL, id="c"),), None)
    for job, cursor in (("other", first.cursor), ("report", "x")):
        with pytest.raises(Invalid):
            engine.store.list_backfills(job, limit=2, cursor=cursor)


def test_backfills_are_no_part_of_the_job_or_its_runs(engine: Engine) -> None:
    engine.store.create_job(s.a_job(), s.a_definition())
    engine.store.create_backfill(BACKFILL)
    stored = engine.store.read_job("report")
    assert stored is not None
    assert stored.lock is None
    assert engine.store.list_runs("report", limit=10).items == ()
    assert engine.store.find_missed(s.a_key()) is None


# --- groups


def test_a_group_comes_back_as_it_was_written(engine: Engine) -> None:
    assert engine.store.read_group("nightly") is None
    assert engine.store.write_group(None, GROUP)
    assert engine.store.read_group("nightly") == GROUP
    assert engine.store.write_group(GROUP, SPREAD)
    assert engine.store.read_group("nightly") == SPREAD


def test_places_are_given_away_once(engine: Engine) -> None:
    engine.store.write_group(None, GROUP)
    assert not engine.store.write_group(None, replace(GROUP, per_thousand_seconds=1))
    assert engine.store.write_group(GROUP, SPREAD)
    late = replace(GROUP, busy=((1, 2),), version=2)
    assert not engine.store.write_group(GROUP, late)
    assert not engine.store.delete_group(GROUP)
    assert engine.store.read_group("nightly") == SPREAD
    assert engine.store.delete_group(SPREAD)
    assert engine.rows.all() == []


def test_the_same_places_by_another_writer_are_taken(engine: Engine) -> None:
    """Two dispatchers that come to the same answer must not both believe that it is theirs."""
    engine.store.write_group(None, GROUP)
    assert engine.store.write_group(GROUP, SPREAD)
    assert engine.store.write_group(GROUP, SPREAD)
    assert not engine.store.write_group(GROUP, replace(SPREAD, writer="another"))


def test_groups_are_listed_by_name_and_are_no_jobs(engine: Engine) -> None:
    for name in ("c", "a", "b"):
        engine.store.write_group(None, replace(GROUP, name=name))
    engine.store.create_job(s.a_job(group="a"), s.a_definition())
    first = engine.store.list_groups(limit=2)
    assert [g.name for g in first.items if isinstance(g, Group)] == ["a", "b"]
    second = engine.store.list_groups(limit=2, cursor=first.cursor)
    assert [g.name for g in second.items if isinstance(g, Group)] == ["c"]
    jobs = engine.store.list_jobs(limit=10).items
    assert [j.job_id for j in jobs if isinstance(j, Job)] == ["report"]
    with pytest.raises(Invalid):
        engine.store.list_groups(limit=2, cursor="x")


def test_a_full_group_row_stays_small(engine: Engine) -> None:
    """Each batch of a hundred runs pays for it once."""
    start = 1_796_000_000_000_000
    busy = tuple((start + n * 1_000_000, start + n * 1_000_000 + 20_000) for n in range(200))
    group = replace(GROUP, busy=busy)
    engine.store.write_group(None, group)
    assert engine.store.read_group("nightly") == group
    [row] = engine.rows.all()
    assert len(str(row["busy"])) < 3_200


# --- jobs that go away


def ended(engine: Engine, **changes: object) -> Job:
    job = s.a_job(**changes)
    engine.store.create_job(job, s.a_definition(delete_after=3600))
    assert engine.store.advance(s.due_job(job), None, runs_planned=1)
    return job


def at(engine: Engine, seconds: float) -> int:
    """Epoch seconds, so long after the clock that tells what has expired."""
    return epoch_seconds(engine.clock.now()) + int(seconds)


def test_b11_an_expired_job_is_gone_while_its_rows_are_there(engine: Engine) -> None:
    job = ended(engine)
    assert engine.store.expire_job(job, at(engine, 3600))
    stored = engine.store.read_job("report")
    assert stored is not None
    assert (stored.job.status, stored.job.expires_at) == ("ended", at(engine, 3600))
    assert stored.definition.delete_after == 3600
    engine.clock.advance(3599)
    assert engine.store.read_job("report") is not None
    assert len(engine.store.list_jobs(limit=10).items) == 1
    engine.clock.advance(1)
    assert engine.store.read_job("report") is None
    assert engine.store.list_jobs(limit=10).items == ()
    rows = {row["sk"]: row for row in engine.rows.all()}
    assert set(rows) == {JOB_SK, SPEC_SK}
    assert {row["expires_at"] for row in rows.values()} == {at(engine, 0)}


def test_an_expired_definition_that_went_first_breaks_nothing(engine: Engine) -> None:
    """The table removes expired rows one by one."""
    job = ended(engine)
    engine.store.expire_job(job, at(engine, 3600))
    row = engine.rows.get(job_pk("report"), JOB_SK)
    assert row is not None
    engine.clock.advance(3601)
    engine.store.delete_job(engine.store.create_job(job, s.a_definition()) or job)
    engine.rows.put(row)
    assert engine.store.read_job("report") is None


def test_another_job_takes_the_name(engine: Engine) -> None:
    job = ended(engine)
    engine.store.expire_job(job, at(engine, 60))
    successor = s.a_job(uid="zzzzzzzz", changed_at=engine.clock.now())
    found = engine.store.create_job(successor, s.a_definition())
    assert found is not None
    assert found.uid == s.UID
    later = replace(successor, changed_at=engine.clock.advance(61))
    assert engine.store.create_job(later, s.a_definition()) is None
    stored = engine.store.read_job("report")
    assert stored is not None
    assert stored.job == later


@pytest.mark.parametrize(
    "changes", [{"uid": "zzzzzzzz"}, {"generation": 2}], ids=["other-uid", "other-generation"]
)
def test_only_the_job_that_ended_expires(engine: Engine, changes: dict[str, object]) -> None:
    job = ended(engine)
    rows = engine.rows.all()
    assert not engine.store.expire_job(replace(job, **changes), at(engine, 60))  # type: ignore[arg-type]
    assert engine.rows.all() == rows


def test_an_active_job_does_not_expire(engine: Engine) -> None:
    engine.store.create_job(s.a_job(), s.a_definition())
    rows = engine.rows.all()
    assert not engine.store.expire_job(s.a_job(), at(engine, 60))
    assert engine.rows.all() == rows


def test_a_new_schedule_takes_the_expiry_off(engine: Engine) -> None:
    job = ended(engine)
    engine.store.expire_job(job, at(engine, 60))
    stored = engine.store.read_job("report")
    assert stored is not None
    edited = replace(job, version=2, generation=2, expires_at=None)
    assert engine.store.edit_job(stored.job, edited, s.a_definition(), replan=True)
    assert not [row for row in engine.rows.all() if "expires_at" in row]
    engine.clock.advance(99)
    assert engine.store.read_job("report") is not None


def test_another_definition_expires_with_the_job(engine: Engine) -> None:
    job = ended(engine)
    engine.store.expire_job(job, at(engine, 60))
    stored = engine.store.read_job("report")
    assert stored is not None
    edited = replace(stored.job, version=2)
    definition = s.a_definition(timeout=9)
    assert engine.store.edit_job(stored.job, edited, definition, replan=False)
    assert {row["expires_at"] for row in engine.rows.all()} == {at(engine, 60)}
