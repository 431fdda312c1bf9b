"""Calendars: what they exclude, and where occurrences go."""

from datetime import date, datetime

import pytest

from cronce.domain.calendar import MAX_INLINE_DATES, MAX_NAMED_DATES, parse_calendar
from cronce.domain.errors import Invalid
from cronce.domain.instants import to_api
from cronce.domain.schedule import parse_schedule
from cronce.holidays_source import holidays_from

START = datetime.fromisoformat("2026-12-01T00:00:00Z")


def fires(cron, calendar, count=4, start=START, zone="UTC"):
    document = {"cron": cron, "timezone": zone, "calendar": calendar}
    schedule = parse_schedule(document, now=start, holidays=holidays_from(2026, 2))
    found, at = [], start
    while len(found) < count:
        at = schedule.next_after(at)
        found.append(to_api(at)[:10])
    return found


CHRISTMAS = {"dates": ["2026-12-24", "2026-12-25"], "weekends": True}


@pytest.mark.parametrize(
    ("on_excluded", "expected"),
    [
        ("skip", ["2026-12-22", "2026-12-23", "2026-12-28", "2026-12-29"]),
        ("next_business_day", ["2026-12-22", "2026-12-23", "2026-12-28", "2026-12-29"]),
        ("previous_business_day", ["2026-12-22", "2026-12-23", "2026-12-28", "2026-12-29"]),
    ],
)
def test_a_daily_job_keeps_the_business_days(at, on_excluded, expected):
    calendar = {"exclude": CHRISTMAS, "on_excluded": on_excluded}
    assert fires("0 9 * * *", calendar, start=at("2026-12-21T12:00:00Z")) == expected


@pytest.mark.parametrize(
    ("on_excluded", "expected"),
    [
        ("skip", ["2027-02-25", "2027-03-25"]),
        ("next_business_day", ["2026-12-28", "2027-01-25"]),
        ("previous_business_day", ["2026-12-23", "2027-01-25"]),
    ],
)
def test_a_monthly_job_moves(on_excluded, expected):
    calendar = {"exclude": CHRISTMAS, "on_excluded": on_excluded}
    found = fires("0 9 25 * *", calendar, 3)
    assert found[: len(expected)] == expected or found[1:] == expected


def test_a_shift_crosses_months_and_years():
    excluded = {"dates": ["2026-12-31", "2027-01-01"], "weekends": True}
    forward = {"exclude": excluded, "on_excluded": "next_business_day"}
    assert fires("0 9 31 12 *", forward, 1) == ["2027-01-04"]
    back = {"exclude": excluded, "on_excluded": "previous_business_day"}
    assert fires("0 9 1 1 *", back, 1) == ["2026-12-30"]


def test_what_meets_on_one_day_is_one_occurrence():
    calendar = {"exclude": {"weekends": True}, "on_excluded": "next_business_day"}
    assert fires("0 9 5-7 12 *", calendar, 1) == ["2026-12-07"]
    schedule = parse_schedule({"cron": "0 9 5-7 12 *", "calendar": calendar}, now=START)
    assert schedule.count(START, datetime.fromisoformat("2026-12-31T00:00:00Z")) == 1


def test_the_date_is_the_local_one():
    calendar = {"exclude": {"dates": ["2026-12-02"]}}
    assert fires("0 1 * * *", calendar, 2, zone="Asia/Tokyo") == ["2026-12-02", "2026-12-03"]


def test_an_occurrence_without_a_business_day_within_a_month_does_not_fire():
    dates = [date(2026, 12, 1).toordinal() + n for n in range(40)]
    closed = {"dates": [date.fromordinal(d).isoformat() for d in dates]}
    calendar = {"exclude": closed, "on_excluded": "next_business_day"}
    assert fires("0 9 2 12 *", calendar, 1) == ["2027-12-02"]
    assert fires("0 9 20 12 *", calendar, 1) == ["2027-01-10"]


def test_public_holidays_of_a_subdivision():
    bavaria = {"exclude": {"holidays": {"country": "DE", "subdivision": "BY"}}}
    assert fires("0 9 6 1 *", bavaria, 1) == ["2028-01-06"]
    germany = {"exclude": {"holidays": {"country": "DE"}}}
    assert fires("0 9 6 1 *", germany, 1) == ["2027-01-06"]


def test_a_calendar_that_excludes_every_occurrence_never_fires():
    with pytest.raises(Invalid, match="never fires"):
        parse_schedule(
            {"cron": "0 9 * * SAT", "calendar": {"exclude": {"weekends": True}}}, now=START
        )


@pytest.mark.parametrize(
    "document",
    [
        {"exclude": {"weekends": True}},
        {"exclude": CHRISTMAS, "on_excluded": "previous_business_day"},
        {"exclude": {"holidays": {"country": "DE", "subdivision": "BY"}, "dates": ["2026-12-24"]}},
        {"exclude": {"holidays": {"country": "FR"}}},
    ],
)
def test_the_document_comes_back(document):
    known = holidays_from(2026, 2)
    calendar = parse_calendar(document, holidays=known)
    assert calendar.to_document()["exclude"] == document["exclude"]
    assert parse_calendar(calendar.to_document(), holidays=known) == calendar


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (None, ""),
        ("plant", ""),
        ({}, "/exclude"),
        ({"exclude": {}}, "/exclude"),
        ({"exclude": {"weekends": True}, "on": "skip"}, "/on"),
        ({"exclude": {"weekends": True}, "on_excluded": "later"}, "/on_excluded"),
        ({"exclude": {"weekends": True}, "on_excluded": ["skip"]}, "/on_excluded"),
        ({"exclude": {"weekends": 1}}, "/exclude/weekends"),
        ({"exclude": {"days": []}}, "/exclude/days"),
        ({"exclude": {"dates": "2026-12-24"}}, "/exclude/dates"),
        ({"exclude": {"dates": ["2026-02-30"]}}, "/exclude/dates/0"),
        ({"exclude": {"dates": ["2026-12-24", "24.12.2026"]}}, "/exclude/dates/1"),
        ({"exclude": {"dates": [20261224]}}, "/exclude/dates/0"),
        ({"exclude": {"dates": ["2026-12-24"] * (MAX_INLINE_DATES + 1)}}, "/exclude/dates"),
        ({"exclude": {"holidays": "DE"}}, "/exclude/holidays"),
        ({"exclude": {"holidays": {}}}, "/exclude/holidays"),
        ({"exclude": {"holidays": {"country": "XX"}}}, "/exclude/holidays/country"),
        ({"exclude": {"holidays": {"country": "Germany"}}}, "/exclude/holidays/country"),
        (
            {"exclude": {"holidays": {"country": "DE", "subdivision": "XX"}}},
            "/exclude/holidays/subdivision",
        ),
        (
            {"exclude": {"holidays": {"country": "DE", "subdivision": 5}}},
            "/exclude/holidays/subdivision",
        ),
        ({"exclude": {"holidays": {"country": "DE", "region": "BY"}}}, "/exclude/holidays/region"),
    ],
    ids=str,
)
def test_what_is_refused_names_its_field(document, pointer):
    with pytest.raises(Invalid) as refused:
        parse_calendar(document, holidays=holidays_from(2026, 2))
    assert pointer in [fault.pointer for fault in refused.value.faults]
    assert all(fault.accepted for fault in refused.value.faults)


def test_too_many_holidays_for_a_jobs_row_want_a_named_calendar():
    document = {"exclude": {"holidays": {"country": "DE", "subdivision": "BY"}}}
    with pytest.raises(Invalid, match="a named calendar"):
        parse_calendar(document, holidays=holidays_from(2026, 10))
    named = parse_calendar(document, holidays=holidays_from(2026, 10), max_dates=MAX_NAMED_DATES)
    assert len(named.holiday_dates) > 100


def test_who_knows_no_holidays_says_so():
    with pytest.raises(Invalid, match="not known here"):
        parse_calendar({"exclude": {"holidays": {"country": "DE"}}})
