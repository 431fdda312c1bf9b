"""`cronce preview` as a function: what it prints, and what it refuses."""

import io
import json

import pytest

from cronce.cli.preview import Asked, run


def nobody():
    raise AssertionError("no deployment is needed")


@pytest.fixture
def preview():
    def call(argument, *, timezone=None, after="2026-03-28T23:00:00Z", count=4, as_json=True):
        out, err = io.StringIO(), io.StringIO()
        code = run(Asked(argument, timezone, after, count), as_json, out, err, nobody)
        return code, out.getvalue(), err.getvalue()

    return call


def occurrences(answer):
    code, out, err = answer
    assert (code, err) == (0, "")
    return json.loads(out)["occurrences"]


def test_occurrences_are_bare_utc(preview):
    assert occurrences(preview("*/15 * * * *", timezone="Europe/Berlin")) == [
        "2026-03-28T23:15:00Z", "2026-03-28T23:30:00Z", "2026-03-28T23:45:00Z",
        "2026-03-29T00:00:00Z",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("@hourly", "2026-03-29T00:00:00Z"),
        ("cron(0 10 ? * 2 *)", "2026-03-30T10:00:00Z"),
        ("rate(5 minutes)", "2026-03-28T23:05:00Z"),
        ("at(2026-12-24T18:00:00)", "2026-12-24T18:00:00Z"),
        ('"0 9 * * *"', "2026-03-29T09:00:00Z"),
        ('{"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}', "2026-03-29T00:00:00Z"),
        ('{"rate": "1h", "start": "2026-04-01T00:30:00Z"}', "2026-04-01T00:30:00Z"),
        ('{"at": "2026-12-24T18:00:00", "timezone": "Asia/Tokyo"}', "2026-12-24T09:00:00Z"),
    ],
)
def test_every_form_of_a_schedule(preview, argument, expected):
    assert occurrences(preview(argument))[0] == expected


def test_start_and_end_bound_what_is_shown(preview):
    document = {"cron": "0 * * * *", "start": "2026-04-01T05:00:00Z", "end": "2026-04-01T06:00:00Z"}
    assert occurrences(preview(json.dumps(document))) == [
        "2026-04-01T05:00:00Z", "2026-04-01T06:00:00Z",
    ]  # fmt: skip


def test_the_zone_applies_to_every_form(preview):
    assert occurrences(preview("at(2026-12-24T18:00:00)", timezone="Asia/Tokyo"))[0] == (
        "2026-12-24T09:00:00Z"
    )
    assert occurrences(preview('{"cron": "0 9 * * *"}', timezone="Asia/Tokyo"))[0] == (
        "2026-03-29T00:00:00Z"
    )


def test_after_may_be_a_local_time_of_the_zone(preview):
    answer = preview("0 * * * *", timezone="Asia/Tokyo", after="2026-03-29T08:30:00")
    assert occurrences(answer)[0] == "2026-03-29T00:00:00Z"


def test_without_after_it_looks_from_now(preview):
    assert len(occurrences(preview("* * * * *", after=None, count=2))) == 2


def test_text_shows_utc_local_time_notes_and_warnings(preview):
    code, out, _ = preview("30 2 * * *", timezone="Europe/Berlin", count=1, as_json=False)
    assert code == 0
    assert out.splitlines()[0] == "At 02:30, Europe/Berlin"
    line = "2026-03-29T01:00:00Z  2026-03-29T03:00:00+02:00  moved out of a gap"
    assert out.splitlines()[2].startswith(line)
    _, out, _ = preview("0 6 1-7 * 1", as_json=False)
    assert out.splitlines()[-1].endswith("1#1")


@pytest.mark.parametrize(
    ("argument", "options", "said"),
    [
        ("61 * * * *", {}, "minute (field 1 of 5): 61 is outside 0-59"),
        ("0 0 30 2 *", {}, "never fires"),
        ("0 10 ? * 2-6 *", {}, '"seconds": true'),
        ("at(2020-01-01T00:00:00)", {}, "past"),
        ("* * * * *", {"timezone": "Mars/Phobos"}, "--timezone: "),
        ("* * * * *", {"count": 0}, "1 to 1000"),
        ("* * * * *", {"count": 1001}, "1 to 1000"),
        ("* * * * *", {"after": "yesterday"}, "cronce: --after: "),
        ("* * * * *", {"after": "2026-03-29T08:30:00"}, "cronce: --after: "),
        ('{"cron": "* * * * *"', {}, "not JSON"),
        ("[" * 10_000, {}, "/"),
        ('{"a":' * 9_000, {}, "16384"),
        ('{"timezone": "UTC", "cron": "* * * * *"}', {"timezone": "Asia/Tokyo"}, "different zones"),
        ('{"cron": "* * * * *", "rate": 5}', {}, "cron and rate"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_is_refused_says_why_and_exits_2(preview, argument, options, said):
    code, out, err = preview(argument, **options)
    assert (code, out) == (2, "")
    assert all(line.startswith("cronce: ") for line in err.splitlines())
    assert said in err
    assert "Traceback" not in err
