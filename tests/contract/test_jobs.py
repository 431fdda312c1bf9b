"""Job rows: users' edits and the dispatcher's writes side by side."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cronce.adapters.items import UnknownVersion
from cronce.adapters.wire import Item
from cronce.domain.errors import Unplannable
from cronce.domain.job import Definition, Job, StoredJob
from cronce.domain.plan import Due, Missed
from cronce.domain.retry import RetryPolicy
from cronce.ports import BrokenRow, DueJob
from support import samples as s
from support.stores import Engine

JOB = s.a_job()
SPEC = s.a_definition()
ALL_SHARDS = range(s.SHARDS)
NEXT = Due(s.after(60), s.after(67))


def created(engine: Engine, job: Job = JOB, definition: Definition = SPEC) -> Job:
    assert engine.store.create_job(job, definition) is None
    return job


def stored(engine: Engine) -> StoredJob:
    found = engine.store.read_job("report")
    assert found is not None
    return found


def due(engine: Engine) -> list[object]:
    return list(engine.store.due(ALL_SHARDS, s.after(10**6)))


class TestRoundTrip:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"next": Due(s.AT, s.after(29)), "runs_planned": 7, "group": "nightly"},
            {"status": "paused", "next": None, "reason": "holidays", "generation": 5},
            {"status": "error", "next": None, "reason": "unknown zone Mars/Phobos"},
        ],
        ids=["plain", "jittered", "paused", "in error"],
    )
    def test_job(self, engine: Engine, changes: Mapping[str, object]) -> None:
        job = created(engine, s.a_job(**changes))
        assert stored(engine).job == job

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"payload": None},
            {"payload": "", "payload_is_json": False},
            {"payload": "líne\r\n\t\x01 ✓ 𝄞", "payload_is_json": False},
            {"payload": '{"a":1.1,"c":12345678901234567890123456789012345678901,"g":""}'},
            {"document": {"x": 1.5, "target": {"sqs": {"queue": "q"}}}, "target": {"other": {}}},
            {"retry": RetryPolicy(20, 1, 10, 86_400), "timeout": 840, "overlap": "queue_one"},
            {"start_deadline": 0, "history": 15 * 86_400},
            {"created_at": None, "created_by": "", "updated_at": None, "updated_by": ""},
        ],
        ids=str,
    )
    def test_definition(self, engine: Engine, changes: Mapping[str, object]) -> None:
        """B55: what the user wrote comes back as written; numbers never go through the table's."""
        definition = s.a_definition(**changes)
        created(engine, definition=definition)
        assert stored(engine).definition == definition

    def test_definition_may_be_large(self, engine: Engine) -> None:
        definition = s.a_definition(payload='"' + "€" * 43_000 + '"')
        created(engine, definition=definition)
        assert stored(engine).definition == definition

    def test_no_job(self, engine: Engine) -> None:
        assert engine.store.read_job("report") is None

    def test_row_is_under_one_kilobyte(self, engine: Engine) -> None:
        """An advance pays for the whole of it."""
        created(engine, s.a_job(group="nightly-reports", next=Due(s.AT, s.after(29))))
        assert size(engine.rows.get("JOB#report", "JOB")) < 700


class TestCreate:
    def test_of_another_uid_finds_the_first(self, engine: Engine) -> None:
        created(engine)
        other = s.a_job(uid="another1")
        assert engine.store.create_job(other, s.a_definition(timeout=5)) == JOB
        assert stored(engine) == StoredJob(JOB, SPEC)


class TestEdit:
    def test_leaves_the_dispatchers_fields_alone(self, engine: Engine) -> None:
        """B61: an advance in between is not undone by an edit that does not plan anew."""
        created(engine)
        engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        edited = s.a_job(version=2, group="nightly")
        assert engine.store.edit_job(JOB, edited, s.a_definition(timeout=5), replan=False)
        assert stored(engine).job == replace(edited, next=NEXT, runs_planned=1)
        assert stored(engine).definition.timeout == 5

    def test_with_a_new_plan_sets_where_the_job_stands(self, engine: Engine) -> None:
        created(engine)
        engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        then = Due(s.after(3600), s.after(3600))
        edited = s.a_job(version=2, generation=2, next=then, changed_at=s.after(9))
        assert engine.store.edit_job(JOB, edited, SPEC, replan=True)
        assert stored(engine).job == edited
        assert due(engine) == [s.due_job(edited)]

    def test_second_of_two_is_refused(self, engine: Engine) -> None:
        created(engine)
        first = s.a_job(version=2, group="first")
        assert engine.store.edit_job(JOB, first, SPEC, replan=False)
        second = s.a_job(version=2, group="second")
        assert not engine.store.edit_job(JOB, second, s.a_definition(timeout=9), replan=False)
        assert stored(engine) == StoredJob(first, SPEC)

    def test_second_of_two_that_differ_in_the_definition_only_is_refused(
        self, engine: Engine
    ) -> None:
        """Both write version 2; what the second one wrote is nowhere, so it must hear so."""
        created(engine)
        edited = s.a_job(version=2)
        assert engine.store.edit_job(JOB, edited, s.a_definition(timeout=5), replan=False)
        assert not engine.store.edit_job(JOB, edited, s.a_definition(timeout=9), replan=False)
        assert stored(engine).definition.timeout == 5

    @pytest.mark.parametrize(
        "change",
        [
            {"status": "paused", "next": None, "generation": 2},
            {"plan": {"schedule": {"kind": "rate"}, "misfire": {"policy": "skip"}}},
            {"group": "other"},
            {"reason": "because"},
            {"generation": 2},
            {"shard": 3},
            {"runs_planned": 3},
            {"next": None},
        ],
        ids=str,
    )
    def test_of_each_field_alone(self, engine: Engine, change: Mapping[str, object]) -> None:
        """B58: every path is taken once on an engine that knows the reserved words."""
        created(engine)
        edited = s.a_job(version=2, **change)
        assert engine.store.edit_job(JOB, edited, SPEC, replan=True)
        assert stored(engine).job == edited

    def test_of_a_job_created_again_in_between(self, engine: Engine) -> None:
        created(engine)
        engine.store.delete_job(JOB)
        other = created(engine, s.a_job(uid="another1"))
        assert not engine.store.edit_job(JOB, s.a_job(version=2), SPEC, replan=True)
        assert stored(engine).job == other


class TestDelete:
    def test_takes_both_rows(self, engine: Engine) -> None:
        created(engine)
        assert engine.store.delete_job(JOB)
        assert engine.rows.all() == []

    def test_of_another_version_is_refused(self, engine: Engine) -> None:
        created(engine)
        edited = s.a_job(version=2)
        engine.store.edit_job(JOB, edited, SPEC, replan=False)
        assert not engine.store.delete_job(JOB)
        assert stored(engine).job == edited

    def test_of_another_creation_is_refused(self, engine: Engine) -> None:
        created(engine, s.a_job(uid="another1"))
        assert not engine.store.delete_job(JOB)
        assert stored(engine).job.uid == "another1"

    def test_leaves_runs_as_they_are(self, engine: Engine) -> None:
        created(engine)
        engine.store.claim(s.a_key(), s.a_claim(), now=s.AT)
        engine.store.delete_job(JOB)
        assert engine.store.read_run(s.a_key()) is not None


class TestAdvance:
    def test_moves_from_t_to_the_next(self, engine: Engine) -> None:
        created(engine)
        assert engine.store.advance(s.due_job(JOB), NEXT, runs_planned=4)
        assert stored(engine).job == replace(JOB, next=NEXT, runs_planned=4)

    def test_never_touches_the_version(self, engine: Engine) -> None:
        created(engine)
        engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        edited = s.a_job(version=2)
        assert engine.store.edit_job(JOB, edited, SPEC, replan=False)

    @pytest.mark.parametrize(
        "stale",
        [
            {"uid": "another1"},
            {"generation": 2},
            {"next": Due(s.after(-60), s.after(-60))},
            {"next": Due(s.AT, s.after(1))},
        ],
        ids=str,
    )
    def test_only_from_what_was_planned(self, engine: Engine, stale: Mapping[str, object]) -> None:
        """B03: the index may show a row as it was; the row itself decides."""
        created(engine)
        seen = replace(s.due_job(JOB), **stale)  # type: ignore[arg-type]
        assert not engine.store.advance(seen, NEXT, runs_planned=1)
        assert not engine.store.set_error(seen, "cannot be planned")
        assert stored(engine).job == JOB

    def test_after_an_edit_to_the_same_instant_is_refused(self, engine: Engine) -> None:
        """The new schedule's next occurrence is not the one that was dispatched."""
        created(engine)
        edited = s.a_job(version=2, generation=2)
        engine.store.edit_job(JOB, edited, SPEC, replan=True)
        assert not engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        assert stored(engine).job == edited

    def test_second_tick_on_a_stale_index_advances_nothing(self, engine: Engine) -> None:
        """B03, B10: it has gone on to another instant, and never goes back."""
        created(engine)
        engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        moved = stored(engine).job
        later = Due(s.after(120), s.after(120))
        engine.store.advance(s.due_job(moved), later, runs_planned=2)
        assert not engine.store.advance(s.due_job(JOB), NEXT, runs_planned=1)
        assert stored(engine).job.next == later

    def test_at_the_end_leaves_the_index_and_stays_readable(self, engine: Engine) -> None:
        """B57: the attribute is removed, not emptied."""
        created(engine)
        assert engine.store.advance(s.due_job(JOB), None, runs_planned=1, reason="over")
        ended = stored(engine).job
        assert (ended.status, ended.next, ended.reason) == ("ended", None, "over")
        item = engine.rows.get("JOB#report", "JOB")
        assert item is not None
        assert {"next_run", "next_occurrence"}.isdisjoint(item)
        assert due(engine) == []


class TestError:
    def test_leaves_the_index_with_the_reason(self, engine: Engine) -> None:
        """B25."""
        created(engine)
        assert engine.store.set_error(s.due_job(JOB), "unknown zone Mars/Phobos")
        job = stored(engine).job
        assert (job.status, job.reason, job.next) == ("error", "unknown zone Mars/Phobos", None)
        assert due(engine) == []

    @pytest.mark.parametrize(
        "broken",
        [
            {"plan": "not a map"},
            {"uid": None},
            {"generation": "one"},
            {"next_run": "2026-11-30"},
            {"next_run": "0000"},
            {"next_occurrence": "yesterday"},
            {"runs_planned": "many"},
            {"v": None},
            {"v": "one"},
        ],
        ids=str,
    )
    def test_of_a_row_that_cannot_be_read(
        self, engine: Engine, broken: Mapping[str, object]
    ) -> None:
        """B25: it is told apart, stops nobody, and leaves the index."""
        good = created(engine, s.a_job("good"))
        created(engine)
        spoil(engine, "JOB#report", "JOB", broken)
        found = due(engine)
        [row] = [item for item in found if isinstance(item, BrokenRow)]
        assert [item for item in found if isinstance(item, DueJob)] == [s.due_job(good)]
        assert (row.pk, row.sk) == ("JOB#report", "JOB")
        assert row.reason
        assert engine.store.set_error(row, row.reason)
        assert due(engine) == [s.due_job(good)]
        item = engine.rows.get("JOB#report", "JOB")
        assert item is not None
        assert (item["status"], item["reason"]) == ("error", row.reason)

    def test_of_a_broken_row_that_was_mended_in_between(self, engine: Engine) -> None:
        created(engine)
        row = BrokenRow("JOB#report", "JOB", "0000", "cannot be read", s.AT)
        assert not engine.store.set_error(row, "cannot be read")
        assert stored(engine).job == JOB

    def test_of_a_run_takes_it_out_of_the_index_only(self, engine: Engine) -> None:
        key = s.a_key(trigger="b-may")
        engine.store.trigger(key, triggered_by="somebody", now=s.AT)
        spoil(engine, "JOB#report", "RUN#2026-11-30T10:00:00.000Z#k3f9a2qd#b-may", {"v": None})
        [row] = due(engine)
        assert isinstance(row, BrokenRow)
        assert engine.store.set_error(row, "no version")
        assert due(engine) == []
        item = engine.rows.get(row.pk, row.sk)
        assert item is not None
        assert item["status"] == "pending"


class TestReading:
    @pytest.mark.parametrize(
        "broken",
        [{"status": "asleep"}, {"plan": None}, {"changed_at": "now"}, {"v": None}],
        ids=str,
    )
    def test_broken_job_is_named(self, engine: Engine, broken: Mapping[str, object]) -> None:
        created(engine)
        spoil(engine, "JOB#report", "JOB", broken)
        with pytest.raises(Unplannable, match="JOB#report"):
            engine.store.read_job("report")

    @pytest.mark.parametrize(
        "broken",
        [
            {"document": "{"},
            {"document": "[" * 100_000},
            {"overlap": "sometimes"},
            {"retry": {"tries": 3}},
            {"timeout": None},
        ],
        ids=lambda b: str(b)[:30],
    )
    def test_broken_definition_is_named(self, engine: Engine, broken: Mapping[str, object]) -> None:
        created(engine)
        spoil(engine, "JOB#report", "JOB#SPEC", broken)
        with pytest.raises(Unplannable, match="JOB#SPEC"):
            engine.store.read_job("report")

    def test_job_without_definition(self, engine: Engine) -> None:
        created(engine)
        item = engine.rows.get("JOB#report", "JOB")
        assert item is not None
        engine.rows.put({**item, "pk": "JOB#alone"})
        with pytest.raises(Unplannable, match="no definition"):
            engine.store.read_job("alone")

    @pytest.mark.parametrize("sk", ["JOB", "JOB#SPEC"])
    def test_newer_release_is_told_apart(self, engine: Engine, sk: str) -> None:
        created(engine)
        spoil(engine, "JOB#report", sk, {"v": 2})
        with pytest.raises(UnknownVersion):
            engine.store.read_job("report")

    def test_release_before_is_read(self, engine: Engine) -> None:
        created(engine)
        for sk in ("JOB", "JOB#SPEC"):
            spoil(engine, "JOB#report", sk, {"v": 0})
        assert stored(engine) == StoredJob(JOB, SPEC)
        assert due(engine) == [s.due_job(JOB)]

    def test_newer_row_in_the_index_is_passed_over(self, engine: Engine) -> None:
        created(engine)
        good = created(engine, s.a_job("good"))
        spoil(engine, "JOB#report", "JOB", {"v": 2, "plan": "in another form"})
        assert due(engine) == [s.due_job(good)]


class TestMissed:
    MISSED = Missed(s.after(-600), s.after(-60), 10, "run_once")

    @pytest.mark.parametrize(
        ("seconds", "covered"), [(-601, 0), (-600, 1), (-300, 1), (-60, 1), (-59, 0)]
    )
    def test_covers_from_its_first_to_its_last(
        self, engine: Engine, seconds: int, *, covered: bool
    ) -> None:
        put_missed(engine, self.MISSED)
        key = replace(s.a_key(), scheduled_for=s.after(seconds))
        assert engine.store.find_missed(key) == (self.MISSED if covered else None)

    def test_of_another_uid_does_not(self, engine: Engine) -> None:
        put_missed(engine, self.MISSED, uid="another1")
        key = replace(s.a_key(), scheduled_for=s.after(-300))
        assert engine.store.find_missed(key) is None
        put_missed(engine, self.MISSED)
        assert engine.store.find_missed(key) == self.MISSED

    def test_same_outage_seen_again_overwrites_it(self, engine: Engine) -> None:
        put_missed(engine, self.MISSED)
        longer = replace(self.MISSED, last=s.after(0), count=11)
        put_missed(engine, longer)
        assert engine.store.find_missed(s.a_key()) == longer
        assert len(engine.rows.all()) == 1

    def test_is_found_behind_many_that_do_not_cover(self, engine: Engine) -> None:
        put_missed(engine, self.MISSED)
        for n in range(1, 40):
            at = s.after(-300 - n)
            put_missed(engine, Missed(at, at, 1, "skip", "paused"))
        key = replace(s.a_key(), scheduled_for=s.after(-100))
        assert engine.store.find_missed(key) == self.MISSED


def put_missed(engine: Engine, missed: Missed, uid: str = s.UID) -> None:
    engine.store.put_missed("report", uid, missed, now=s.AT, history=s.HISTORY)


def spoil(engine: Engine, pk: str, sk: str, changes: Mapping[str, object]) -> None:
    item = engine.rows.get(pk, sk)
    assert item is not None
    changed = {**item, **changes}
    engine.rows.put({name: value for name, value in changed.items() if value is not None})


def size(value: Item | object | None) -> int:
    """Of an item, in bytes, as DynamoDB counts."""
    if isinstance(value, dict):
        return 3 + sum(1 + len(str(k)) + size(v) for k, v in value.items())
    if isinstance(value, list):
        return 3 + sum(1 + size(v) for v in value)
    return len(str(value).encode())
