"""The overlap lock as rows: one writer wins, nothing else of the job is touched."""

import pytest

from cronce.domain.overlap import Lock
from cronce.domain.record import Sent
from support import samples as s
from support.stores import Engine

FIRST = Lock(s.UID, s.a_key(), (), 1, s.AT)


def test_there_is_none_before_the_first_run(engine: Engine) -> None:
    assert engine.store.read_lock("report") is None


def test_it_comes_back_as_it_was_written(engine: Engine) -> None:
    line = (
        Sent(s.a_key(1), 3, s.after(60)),
        Sent(s.a_key(2), 3, s.after(125)),
        Sent(s.a_key(3, trigger="m-now"), 0, s.after(180.5)),
        Sent(s.a_key(4, trigger="b-fill"), 0, s.after(240)),
    )
    for lock in (
        Lock(s.UID, s.a_key(trigger="m-now"), line, 1, s.AT),
        Lock(s.UID, s.a_key(), (), 2, s.AT),
        Lock(s.UID, None, line[:1], 3),
    ):
        believed = engine.store.read_lock("report")
        assert engine.store.write_lock("report", believed, lock)
        assert engine.store.read_lock("report") == lock


def test_it_is_read_with_the_job(engine: Engine) -> None:
    engine.store.create_job(s.a_job(), s.a_definition(overlap="skip"))
    engine.store.write_lock("report", None, FIRST)
    stored = engine.store.read_job("report")
    assert stored is not None
    assert stored.lock == FIRST


def test_only_the_first_of_two_takes_it(engine: Engine) -> None:
    assert engine.store.write_lock("report", None, FIRST)
    assert not engine.store.write_lock("report", None, Lock(s.UID, s.a_key(1), (), 1, s.AT))
    assert engine.store.read_lock("report") == FIRST


@pytest.mark.parametrize(
    "believed", [Lock(s.UID, version=2), Lock("zzzzzzzz", version=1), None], ids=str
)
def test_somebody_was_first(engine: Engine, believed: Lock | None) -> None:
    engine.store.write_lock("report", None, FIRST)
    mine = Lock(s.UID, s.a_key(1), (), 2, s.AT)
    assert not engine.store.write_lock("report", believed, mine)
    assert engine.store.read_lock("report") == FIRST


def test_the_lock_of_an_earlier_job_is_taken_over(engine: Engine) -> None:
    theirs = Lock("zzzzzzzz", s.a_key(), (), 5, s.AT)
    engine.store.write_lock("report", None, theirs)
    mine = Lock(s.UID, s.a_key(1), (), 6, s.AT)
    assert engine.store.write_lock("report", theirs, mine)
    assert engine.store.read_lock("report") == mine


def test_it_goes_with_the_job(engine: Engine) -> None:
    engine.store.create_job(s.a_job(), s.a_definition())
    engine.store.write_lock("report", None, FIRST)
    assert engine.store.delete_job(s.a_job())
    assert engine.rows.all() == []


def test_a_full_line_stays_small(engine: Engine) -> None:
    """Each join pays for the whole row."""
    line = tuple(Sent(s.a_key(n), 1, s.after(60 * n)) for n in range(100))
    engine.store.write_lock("report", None, Lock(s.UID, s.a_key(-1), line, 1, s.AT))
    [row] = engine.rows.all()
    waiting = row["waiting"]
    assert isinstance(waiting, list)
    assert sum(len(str(text)) + 1 for text in waiting) < 3_500
