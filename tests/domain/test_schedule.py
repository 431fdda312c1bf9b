"""Reading, storing and asking a schedule, apart from what the walker covers."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from cronce.domain.calendar import parse_calendar
from cronce.domain.errors import Invalid, Unplannable
from cronce.domain.instants import to_api
from cronce.domain.schedule import Schedule, jittered, parse_schedule

NOW = datetime.fromisoformat("2026-11-29T10:00:00.250Z")


def read(document: object, **more: object) -> Schedule:
    return parse_schedule(document, now=NOW, **more)


def after(schedule: Schedule, count: int = 3, start: datetime = NOW) -> list[str]:
    found: list[str] = []
    at: datetime | None = start
    while len(found) < count and (at := schedule.next_after(at)):
        found.append(to_api(at))
    return found


DOCUMENTS = [
    "*/15 * * * *",
    "@daily",
    "cron(0 10 ? * MON-FRI *)",
    "rate(2 minutes)",
    "rate(1 hour)",
    "at(2026-12-24T18:00:00)",
    {"cron": "10,40 * * * * *", "seconds": True},
    {"cron": "0 0 1 1 *", "timezone": "Pacific/Apia"},
    {"rate": "90s", "start": "2026-12-01T00:00:00Z", "end": "2027-12-01T00:00:00Z"},
    {"rate": "PT15M"},
    {"rate": 1, "max_runs": 1_000_000},
    {"at": "2026-12-24T18:00", "timezone": "Asia/Tokyo"},
    {"at": "2026-12-24T18:00:00+05:45"},
    {"at": "2026-12-24T18:00:00-09:30"},
    {"cron": "0 9 * * *", "timezone": "Europe/Kiev", "jitter": "10m", "max_runs": 5},
    {"cron": "0 9 * * *", "timezone": "Etc/GMT+5", "dst": {"gap": "skip", "overlap": "both"}},
    {"cron": "0 9 L * *", "calendar": {"exclude": {"weekends": True}}},
    {
        "cron": "0 9 * * *",
        "start": "2026-12-01T00:00:00",
        "timezone": "Europe/Berlin",
        "calendar": {
            "exclude": {"dates": ["2026-12-24", "2026-12-31"], "weekends": True},
            "on_excluded": "previous_business_day",
        },
    },
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_what_is_read_survives_both_forms(document):
    anchor = datetime(2026, 11, 1, tzinfo=UTC)
    schedule = read(document, anchor=anchor)
    assert read(schedule.to_document(), anchor=anchor) == schedule
    assert hash(read(schedule.to_document(), anchor=anchor)) == hash(schedule)
    stored = schedule.to_plan()
    assert Schedule.from_plan(json.loads(json.dumps(stored))) == schedule
    assert Schedule.from_plan(_as_the_table_answers(stored)) == schedule
    assert after(Schedule.from_plan(stored)) == after(schedule)


def _as_the_table_answers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_the_table_answers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_the_table_answers(each) for each in value]
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_the_stored_form_is_small_and_plain(document):
    stored = read(document).to_plan()
    assert len(json.dumps(stored)) < 200
    assert _plain(stored)
    assert stored["tzdata"]


def _plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(_plain(each) for each in value)
    return type(value) in (str, int, bool)


def test_the_largest_inline_calendar_fits_into_a_row():
    dates = [f"2027-{month:02d}-{day:02d}" for month in range(1, 11) for day in (1, 9, 17, 25)]
    schedule = read(
        {
            "cron": "*/15 * * * *",
            "timezone": "America/Argentina/ComodRivadavia",
            "calendar": {"exclude": {"dates": dates, "weekends": True}},
        }
    )
    assert len(json.dumps(schedule.to_plan())) < 500


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        "x",
        {},
        {"cron": "* * * * *"},
        {"cron": "* * * * *", "timezone": "Mars/Phobos"},
        {"cron": "* * * * *", "timezone": None},
        {"cron": "61 * * * *", "timezone": "UTC"},
        {"cron": None, "timezone": "UTC"},
        {"cron": "* * * * *", "rate": 5, "timezone": "UTC"},
        {"rate": "5", "timezone": "UTC"},
        {"rate": 0, "timezone": "UTC"},
        {"rate": 1.5, "timezone": "UTC"},
        {"rate": True, "timezone": "UTC"},
        {"rate": 5, "anchor": 10**30, "timezone": "UTC"},
        {"at": "yesterday", "timezone": "UTC"},
        {"cron": "* * * * *", "timezone": "UTC", "jitter": "5"},
        {"cron": "* * * * *", "timezone": "UTC", "gap": "jump"},
        {"cron": "* * * * *", "timezone": "UTC", "start": -1},
        {"cron": "* * * * *", "timezone": "UTC", "start": Decimal("1.5")},
        {"cron": "* * * * *", "timezone": "UTC", "end": b"x"},
        {"cron": "* * * * *", "timezone": "UTC", "calendar": 5},
        {"cron": "* * * * *", "timezone": "UTC", "calendar": {}},
        {"cron": "* * * * *", "timezone": "UTC", "calendar": {"on": "skip", "dates": ["x"]}},
        {"cron": "* * * * *", "timezone": "UTC", "calendar": {"on": "skip", "of": []}},
        {"cron": "* * * * *", "timezone": "UTC", "calendar": {"name": "gone", "version": 1}},
    ],
    ids=str,
)
def test_b25_a_broken_row_is_unplannable_and_nothing_else(stored):
    with pytest.raises(Unplannable):
        Schedule.from_plan(stored)


def test_a_plan_is_parsed_once():
    stored = read("*/7 * * * *").to_plan()
    assert Schedule.from_plan(stored) is Schedule.from_plan(dict(reversed(stored.items())))


def test_a_string_copied_from_eventbridge_means_what_it_means_there(at):
    assert after(read("cron(0 10 ? * 2 *)"), 1) == ["2026-11-30T10:00:00Z"]
    assert after(read("rate(1 hour)"), 1) == ["2026-11-29T11:00:00Z"]
    assert after(read("at(2026-12-24T18:00:00)")) == ["2026-12-24T18:00:00Z"]


def test_blanks_around_and_between_fields_do_not_matter():
    assert read("  0\t12  * *   mon-fri ") == read("0 12 * * MON-FRI")
    assert read("cron( 0 10 ? * MON-FRI * )") == read("cron(0 10 ? * MON-FRI *)")
    assert read(" @hourly ") == read("@hourly")


def test_seconds_come_first_when_they_are_asked_for():
    schedule = read({"cron": "5,35 */30 * * * *", "seconds": True})
    assert after(schedule, 3) == [
        "2026-11-29T10:00:05Z", "2026-11-29T10:00:35Z", "2026-11-29T10:30:05Z",
    ]  # fmt: skip


def test_the_zone_is_utc_unless_it_is_named():
    assert read("0 9 * * *").timezone == "UTC"
    assert read({"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}).timezone == "Asia/Tokyo"


def test_start_and_end_are_inclusive(at):
    schedule = read(
        {"cron": "0 * * * *", "start": "2026-11-29T12:00:00Z", "end": "2026-11-29T14:00:00Z"}
    )
    assert after(schedule, 5) == [f"2026-11-29T{hour}:00:00Z" for hour in (12, 13, 14)]
    assert schedule.count(NOW, NOW + timedelta(days=9)) == 3
    assert schedule.latest_at_or_before(NOW + timedelta(days=9), not_before=NOW) == at(
        "2026-11-29T14:00:00Z"
    )
    assert not schedule.contains(at("2026-11-29T11:00:00Z"))
    assert not schedule.contains(at("2026-11-29T15:00:00Z"))


def test_start_and_end_may_be_local_times():
    schedule = read({"rate": "1d", "start": "2027-03-28T02:30:00", "timezone": "Europe/Berlin"})
    assert to_api(schedule.start) == "2027-03-28T01:00:00Z"


def test_a_rate_counts_from_start_else_from_creation_else_from_now(at):
    assert after(read({"rate": "1h", "start": "2026-12-01T00:30:00Z"}), 2) == [
        "2026-12-01T00:30:00Z", "2026-12-01T01:30:00Z",
    ]  # fmt: skip
    assert after(read({"rate": "1h"}, anchor=at("2020-01-01T00:10:00Z")), 1) == [
        "2026-11-29T10:10:00Z"
    ]
    assert after(read({"rate": "1h"}), 1) == ["2026-11-29T11:00:00Z"]


def test_a_rate_asked_anywhere(at):
    schedule = read({"rate": 60}, anchor=at("2026-01-01T00:00:30Z"))
    assert schedule.count(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:10:30Z")) == 11
    assert (
        schedule.latest_at_or_before(
            at("2026-01-01T00:00:29Z"), not_before=at("2020-01-01T00:00:00Z")
        )
        is None
    )
    assert (
        schedule.latest_at_or_before(
            at("2026-01-01T00:05:29Z"), not_before=at("2026-01-01T00:05:00Z")
        )
        is None
    )
    assert schedule.next_after(at("2019-01-01T00:00:00Z")) == at("2026-01-01T00:00:30Z")


def test_leap_days_are_found_across_a_century_without_one(at):
    schedule = read("0 0 29 2 *")
    assert after(schedule, 1, at("2096-03-01T00:00:00Z")) == ["2104-02-29T00:00:00Z"]
    assert after(read("0 0 * 2 1#5"), 2) == ["2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z"]


def test_the_last_year_of_eventbridge_is_reached(at):
    schedule = read("cron(0 0 31 12 ? 2199)")
    assert after(schedule) == ["2199-12-31T00:00:00Z"]


@pytest.mark.parametrize("far", ["9999-12-31T23:59:59Z", "9000-01-01T00:00:00Z"])
@pytest.mark.parametrize("expression", ["* * * * *", "0 0 29 2 *", "cron(0 10 ? * 2 2027)"])
def test_the_end_of_time_is_an_end_and_no_error(at, far, expression):
    assert read({"cron": expression, "timezone": "Asia/Tokyo"}).next_after(at(far)) is None


def test_nothing_fires_before_1970(at):
    assert after(read("0 0 * * *"), 1, at("1960-01-01T00:00:00Z")) == ["1970-01-01T00:00:00Z"]
    assert read("0 0 * * *").count(at("1960-01-01T00:00:00Z"), at("1970-01-02T00:00:00Z")) == 2


def test_instants_in_other_zones_are_the_same_instants(at):
    schedule = read("0 12 * * *")
    east = timezone(timedelta(hours=9))
    assert schedule.next_after(NOW.astimezone(east)) == schedule.next_after(NOW)
    assert schedule.contains(at("2026-11-29T12:00:00Z").astimezone(east))


@pytest.mark.parametrize("overlap", ["first", "second"])
def test_an_at_in_an_overlap(overlap):
    document = {
        "at": "2027-11-07T01:30:00", "timezone": "America/New_York", "dst": {"overlap": overlap}
    }  # fmt: skip
    hour = {"first": "05", "second": "06"}[overlap]
    assert after(read(document)) == [f"2027-11-07T{hour}:30:00Z"]


def test_a_named_calendar_is_handed_in_and_kept_by_name():
    rows = parse_calendar({"exclude": {"dates": ["2026-11-30"]}}, max_dates=2000)
    calendar = rows.named("plant", 7)
    schedule = read({"cron": "0 9 * * *", "calendar": "plant"}, calendar=calendar)
    assert after(schedule, 1) == ["2026-12-01T09:00:00Z"]
    assert schedule.to_document()["calendar"] == "plant"
    stored = schedule.to_plan()
    assert stored["calendar"] == {"name": "plant", "version": 7}
    assert Schedule.from_plan(stored, calendar) == schedule
    with pytest.raises(Invalid):
        read({"cron": "0 9 * * *", "calendar": "other"}, calendar=calendar)


def test_jitter_is_the_same_for_the_same_run_and_spreads(at):
    schedule = read({"cron": "0 * * * *", "jitter": "10m"})
    ten = at("2026-11-29T10:00:00Z")
    dues = [jittered(f"uid{n:05d}", ten, schedule) for n in range(2_000)]
    assert dues == [jittered(f"uid{n:05d}", ten, schedule) for n in range(2_000)]
    offsets = sorted((due - ten).total_seconds() for due in dues)
    assert offsets[0] >= 0
    assert offsets[-1] <= 600
    for quarter in range(4):
        inside = sum(150 * quarter <= offset < 150 * (quarter + 1) for offset in offsets)
        assert 400 < inside < 600
    assert len({jittered("k3f9a2qd", ten + timedelta(hours=n), schedule).minute
                for n in range(48)}) > 5  # fmt: skip


@pytest.mark.parametrize("document", [{"rate": 1}, {"rate": 7}, {"cron": "0,1 * * * *"}])
def test_jitter_stays_before_the_next_occurrence(document):
    schedule = read({**document, "jitter": "1d"})
    at = schedule.next_after(NOW)
    for n in range(200):
        following = schedule.next_after(at)
        assert at <= jittered(f"u{n}", at, schedule) < following
        at = following


def test_the_last_occurrence_has_its_whole_window():
    schedule = read({"at": "2026-12-24T18:00:00Z", "jitter": "1h"})
    at = schedule.next_after(NOW)
    offsets = [(jittered(f"u{n}", at, schedule) - at).seconds for n in range(500)]
    assert max(offsets) > 3_500
    assert len(set(offsets)) > 400
