"""Preview: the same occurrences as the tick's, with what is unusual about them, and warnings."""

from datetime import datetime, timedelta

import pytest

from cronce.describe import describe
from cronce.domain.plan import Misfire, first_due, plan
from cronce.domain.preview import shortest_period, upcoming, warnings
from cronce.domain.schedule import parse_schedule

NOW = datetime.fromisoformat("2026-03-01T00:00:00Z")


def look(document, start, count=3):
    schedule = parse_schedule(document, now=NOW)
    return upcoming(schedule, uid="u", after=datetime.fromisoformat(start), count=count)


def berlin(cron, **more):
    return {"cron": cron, "timezone": "Europe/Berlin", **more}


def test_utc_and_local_time_of_each():
    first, second, _ = look(berlin("0 9 * * *"), "2026-03-28T00:00:00Z")
    assert (first.local, second.local) == ("2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00")
    assert (first.note, second.note) == (None, None)


@pytest.mark.parametrize(
    ("document", "start", "note"),
    [
        (berlin("30 2 * * *"), "2026-03-28T12:00:00Z", "moved out of a gap"),
        (berlin("30 2 * * *"), "2026-10-24T12:00:00Z", "the second pass is skipped"),
        (berlin("30 2 * * *", dst={"overlap": "second"}), "2026-10-24T12:00:00Z",
         "the first pass is skipped"),
        (berlin("*/30 * * * *"), "2026-10-25T00:00:00Z", "first of two passes"),
        (berlin("*/30 * * * *"), "2026-10-25T01:00:00Z", "second of two passes"),
        (berlin("0 9 1 5 *", calendar={"exclude": {"dates": ["2026-05-01"]},
                                       "on_excluded": "next_business_day"}),
         "2026-04-01T00:00:00Z", "shifted from 2026-05-01"),
        ({"at": "2026-03-29T02:30:00", "timezone": "Europe/Berlin"}, "2026-03-28T12:00:00Z",
         "moved out of a gap"),
        ({"at": "2026-10-25T02:30:00", "timezone": "Europe/Berlin"}, "2026-03-28T12:00:00Z",
         "first of two passes"),
    ],
)  # fmt: skip
def test_notes(document, start, note):
    assert note in look(document, start, 1)[0].note


def test_an_ordinary_occurrence_at_the_end_of_a_gap_is_not_moved():
    (only,) = look(berlin("0,30 2,3 * * *"), "2026-03-28T12:00:00Z", 1)
    assert only.local == "2026-03-29T03:00:00+02:00"
    assert only.note is None


def test_a_day_that_fires_by_itself_is_not_shifted():
    calendar = {"exclude": {"weekends": True}, "on_excluded": "next_business_day"}
    daily = look(berlin("0 9 * * *", calendar=calendar), "2026-04-30T12:00:00Z", 2)
    assert [each.local[:10] for each in daily] == ["2026-05-01", "2026-05-04"]
    assert [each.note for each in daily] == [None, None]


def test_preview_and_tick_cannot_differ():
    schedule = parse_schedule(berlin("*/20 1-3 * * *", jitter=600), now=NOW)
    at = datetime.fromisoformat("2026-10-24T12:00:00Z")
    seen = upcoming(schedule, uid="k3f9a2qd", after=at, count=40)
    current, fired = first_due("k3f9a2qd", schedule, at), []
    while len(fired) < 40:
        found = plan(uid="k3f9a2qd", schedule=schedule, misfire=Misfire(), current=current,
                     now=current.due, horizon=timedelta(seconds=195))  # fmt: skip
        fired += found.fire
        current = found.next
    assert [(u.scheduled_for, u.due) for u in seen] == [
        (f.scheduled_for, f.due) for f in fired[:40]
    ]


def test_it_ends_where_the_schedule_ends():
    assert len(look({"rate": 60, "max_runs": 2}, "2026-03-01T00:00:00Z", 10)) == 2
    assert len(look({"at": "2026-12-24T18:00:00Z"}, "2026-03-01T00:00:00Z", 10)) == 1
    schedule = parse_schedule({"rate": 60, "max_runs": 5}, now=NOW)
    assert len(upcoming(schedule, uid="u", after=NOW, count=9, runs_planned=3)) == 2


@pytest.mark.parametrize(
    ("document", "timeout", "overlap", "said"),
    [
        ({"rate": 10}, 60, "allow", "longer than the shortest time between two occurrences, 10s"),
        ("0,1 9 * * *", 61, "allow", "longer than the shortest time"),
        ("0 6 1-7 * 1", 60, "skip", "the first Monday of the month is 1#1"),
        ("0 6 8-14 * FRI", 60, "skip", "the second Friday of the month is 5#2"),
        ("0 6 13 * 5", 60, "skip", "match either"),
        ("*/45 * * * *", 60, "skip", "for every 45 minutes throughout use a rate"),
        ("0 */7 * * *", 60, "skip", "for every 7 hours throughout use a rate"),
    ],
)
def test_warnings(document, timeout, overlap, said):
    (warning,) = warnings(parse_schedule(document, now=NOW), timeout, overlap)
    assert said in warning


@pytest.mark.parametrize(
    ("document", "timeout", "overlap"),
    [
        ({"rate": 10}, 60, "skip"),
        ({"rate": 60}, 60, "allow"),
        ("*/15 * * * *", 840, "allow"),
        ("0 9 * * *", 840, "allow"),
        ({"at": "2026-12-24T18:00:00Z"}, 840, "allow"),
        ("@hourly", 60, "allow"),
        ("cron(0/45 10 ? * 2-6 *)", 60, "allow"),
        ("0 6 * * 1#1", 60, "allow"),
    ],
)
def test_no_warning(document, timeout, overlap):
    assert warnings(parse_schedule(document, now=NOW), timeout, overlap) == []


def test_the_shortest_period_is_the_one_between_the_closest_two():
    assert shortest_period(parse_schedule("0 9,10,22 * * *", now=NOW)) == 3_600
    assert shortest_period(parse_schedule("at(2026-12-24T18:00:00)", now=NOW)) is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("*/15 * * * *", "Every 15 minutes, UTC"),
        (berlin("0 9 * * MON-FRI"), "At 09:00, Monday through Friday, Europe/Berlin"),
        ("cron(0 10 ? * 2-6 *)", "At 10:00, Monday through Friday, UTC"),
        ("@daily", "At 00:00, UTC"),
        ("rate(5 minutes)", "Every 5 minutes"),
        ({"rate": 90, "max_runs": 3}, "Every 90 seconds, 3 times"),
        ({"rate": "1h"}, "Every hour"),
        ({"at": "2026-12-24T18:00:00Z"}, "Once, at 2026-12-24 18:00:00Z"),
        ({"at": "2026-12-24T18:00", "timezone": "Asia/Tokyo"},
         "Once, at 2026-12-24 18:00:00, Asia/Tokyo"),
        ("0 0 * * L", "Cron 0 0 * * L, UTC"),
        (berlin("0 9 * * *", jitter="10m", end="2027-01-01T00:00:00Z",
                calendar={"exclude": {"weekends": True}}),
         "At 09:00, Europe/Berlin, until 2027-01-01T00:00:00Z, except on days excluded by a"
         " calendar, spread over 10m"),
    ],
)  # fmt: skip
def test_words(document, words):
    assert describe(parse_schedule(document, now=NOW)) == words
