"""Named calendars and their users: whatever the order, no job names a calendar that is gone."""

from dataclasses import replace

import pytest

from cronce.adapters.calendar_items import calendar_pk
from cronce.adapters.items import UnknownVersion
from cronce.domain.calendar import Calendar
from cronce.domain.errors import CalendarNotFound, CronceError, Invalid, Unplannable
from cronce.domain.plan import Due
from cronce.domain.stamps import Stamp, stamp_of
from cronce.ports import Store
from support import samples as s
from support.stores import Engine

from .test_races import at_once

CALENDAR = s.a_calendar()
CHANGED = replace(s.a_calendar(version=2), changed_by="another")
PLAN = s.a_plan(CALENDAR)


def job(n: int = 0, **changes: object):  # type: ignore[no-untyped-def]
    return replace(s.a_job(f"report-{n}", uid=f"uid{n:05d}", plan=PLAN), **changes)


def users(store: Store) -> tuple[int, list[object]]:
    found = store.read_calendar("closed")
    assert found is not None
    return found.users, list(store.list_users("closed", limit=100).items)


def test_it_is_read_as_it_was_written(engine: Engine) -> None:
    assert engine.store.put_calendar(None, CALENDAR)
    assert engine.store.read_calendar("closed") == CALENDAR
    assert engine.store.read_calendar("other") is None
    plain = replace(s.a_calendar("plain"), calendar=Calendar(weekends=True).named("plain", 1))
    assert engine.store.put_calendar(None, plain)
    assert engine.store.read_calendar("plain") == plain


def test_what_is_put_takes_all_of_the_old_away(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    engine.store.create_job(job(), s.a_definition())
    bare = replace(CHANGED, calendar=Calendar(frozenset({20_000})).named("closed", 2))
    assert engine.store.put_calendar(CALENDAR, bare)
    assert engine.store.read_calendar("closed") == replace(bare, users=1)


def test_only_the_version_that_was_read_is_replaced(engine: Engine) -> None:
    assert not engine.store.put_calendar(CALENDAR, CHANGED)
    engine.store.put_calendar(None, CALENDAR)
    other = replace(CALENDAR, created_by="somebody else")
    assert not engine.store.put_calendar(None, other)
    assert engine.store.put_calendar(CALENDAR, CHANGED)
    assert not engine.store.put_calendar(CALENDAR, replace(CHANGED, changed_by="a third"))
    assert not engine.store.delete_calendar(CALENDAR)
    assert engine.store.read_calendar("closed") == CHANGED
    assert engine.store.delete_calendar(CHANGED)
    assert engine.rows.all() == []


def test_users_are_counted_by_what_writes_jobs(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    for n in range(3):
        assert engine.store.create_job(job(n), s.a_definition()) is None
    assert users(engine.store) == (3, ["report-0", "report-1", "report-2"])
    first = job(0)
    same = replace(first, version=2, group="nightly")
    assert engine.store.edit_job(first, same, s.a_definition(), replan=False)
    without = replace(same, version=3, plan=s.a_job().plan)
    assert engine.store.edit_job(same, without, s.a_definition(), replan=True)
    assert users(engine.store) == (2, ["report-1", "report-2"])
    assert engine.store.delete_job(without)
    assert engine.store.delete_job(job(1))
    assert engine.store.delete_job(job(1))
    assert users(engine.store) == (1, ["report-2"])
    assert not engine.store.delete_calendar(CALENDAR)
    assert engine.store.delete_job(job(2))
    assert engine.store.delete_calendar(CALENDAR)
    assert engine.rows.all() == []


def test_a_lost_edit_counts_nobody(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    engine.store.create_job(job(), s.a_definition())
    stale = job(version=7)
    assert not engine.store.edit_job(
        stale, replace(stale, version=8, plan=s.a_job().plan), s.a_definition(), replan=True
    )
    assert not engine.store.delete_job(stale)
    assert engine.store.create_job(job(uid="another1"), s.a_definition()) == job()
    assert users(engine.store) == (1, ["report-0"])


def test_a_job_of_a_calendar_that_is_not_there_is_not_written(engine: Engine) -> None:
    with pytest.raises(CalendarNotFound):
        engine.store.create_job(job(), s.a_definition())
    assert engine.rows.all() == []
    free = replace(job(), plan=s.a_job().plan)
    engine.store.create_job(free, s.a_definition())
    rows = engine.rows.all()
    with pytest.raises(CalendarNotFound):
        engine.store.edit_job(free, job(version=2), s.a_definition(), replan=True)
    assert engine.rows.all() == rows


def test_a_job_outlives_a_calendar_that_somebody_took_out_of_the_table(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    for n in range(2):
        engine.store.create_job(job(n), s.a_definition())
    lost_rows(engine)
    assert engine.store.delete_job(job(0))
    mended = job(1, version=2)
    mended = replace(mended, plan=s.a_job().plan)
    assert engine.store.edit_job(job(1), mended, s.a_definition(), replan=True)
    assert engine.store.list_users("closed", limit=10).items == ()
    found = engine.store.read_job("report-1")
    assert found is not None
    assert found.job.version == 2


def lost_rows(engine: Engine) -> None:
    """As if by hand: the calendar's row goes, whoever uses it."""
    if engine.client is None:
        engine.rows.delete(calendar_pk("closed"), "CALENDAR")  # type: ignore[attr-defined]
    else:
        key = {"pk": {"S": calendar_pk("closed")}, "sk": {"S": "CALENDAR"}}
        engine.client.delete_item(TableName=engine.table, Key=key)


def test_a_calendar_of_a_newer_release_is_left_alone(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    [row] = engine.rows.all()
    engine.rows.put({**row, "v": 2})
    with pytest.raises(UnknownVersion):
        engine.store.read_calendar("closed")
    with pytest.raises(UnknownVersion):
        engine.store.create_job(job(), s.a_definition())
    assert len(engine.rows.all()) == 1


@pytest.mark.parametrize(
    "broken", [{"on_excluded": "later"}, {"dates": "{"}, {"dates": '["x"]'}, {"version": "1"}]
)
def test_an_unreadable_row_says_so(engine: Engine, broken: dict[str, object]) -> None:
    engine.store.put_calendar(None, CALENDAR)
    [row] = engine.rows.all()
    engine.rows.put({**row, **broken})
    with pytest.raises(Unplannable):
        engine.store.read_calendar("closed")
    assert engine.store.list_calendars(limit=10).items == ()


def test_listings_go_on_where_they_ended(engine: Engine) -> None:
    for name in ("c", "a", "b"):
        engine.store.put_calendar(None, s.a_calendar(name))
    engine.store.create_job(s.a_job(), s.a_definition())
    seen, cursor = [], None
    for _ in range(4):
        page = engine.store.list_calendars(limit=1, cursor=cursor)
        seen += [named.name for named in page.items]  # type: ignore[attr-defined]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ["a", "b", "c"]
    assert [j.job_id for j in engine.store.list_jobs(limit=10).items] == ["report"]  # type: ignore[attr-defined]


def test_listing_of_users_is_paged_and_keeps_to_its_calendar(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    for n in range(3):
        engine.store.create_job(job(n), s.a_definition())
    first = engine.store.list_users("closed", limit=2)
    rest = engine.store.list_users("closed", limit=2, cursor=first.cursor)
    assert first.items + rest.items == ("report-0", "report-1", "report-2")
    assert rest.cursor is None
    with pytest.raises(Invalid):
        engine.store.list_users("other", limit=2, cursor=first.cursor)
    with pytest.raises(Invalid):
        engine.store.list_calendars(limit=2, cursor=first.cursor)


def test_a_stamp_leaves_the_rest_of_the_plan_alone(engine: Engine) -> None:
    engine.store.put_calendar(None, CALENDAR)
    engine.store.create_job(job(), s.a_definition())
    edited = replace(job(version=2), plan={**PLAN, "misfire": {"policy": "skip"}})
    assert engine.store.edit_job(job(), edited, s.a_definition(), replan=False)
    then = Due(s.after(60), s.after(60))
    stamp = Stamp("2099a", 7_200, 5)
    assert engine.store.advance(s.due_job(job()), then, runs_planned=1, stamp=stamp)
    found = engine.store.read_job("report-0")
    assert found is not None
    assert found.job.plan["misfire"] == {"policy": "skip"}
    assert stamp_of(found.job.plan) == stamp
    assert found.job.schedule(CALENDAR.calendar).expression == "* * * * *"
    assert (found.job.next, found.job.version) == (then, 2)


def test_create_and_delete_at_once(racing: Engine) -> None:
    """Either the calendar is gone and no job names it, or it is there and counts them all."""
    for round_ in range(6):
        racing.store.put_calendar(None, CALENDAR)

        def work(n: int, base: int = round_ * 10) -> object:
            try:
                if n % 3 == 0:
                    return racing.store.delete_calendar(CALENDAR)
                return racing.store.create_job(job(base + n), s.a_definition())
            except CronceError as e:
                return e

        results = at_once(work, 9)
        created = sum(r is None for r in results)
        named = [row for row in racing.rows.all() if str(row["sk"]).startswith("JOB#report")]
        found = racing.store.read_calendar("closed")
        assert len(named) == created
        if found is None:
            assert created == 0
            continue
        assert found.users == created
        for n in range(9):
            racing.store.delete_job(job(round_ * 10 + n))
        assert users(racing.store) == (0, [])
        assert racing.store.delete_calendar(CALENDAR)
