"""What a schedule may not be: each refusal names its field and says what is accepted."""

import pytest

from cronce.domain.errors import Invalid
from cronce.domain.schedule import parse_schedule


@pytest.fixture(scope="module")
def faults(at):
    def refuse(document):
        with pytest.raises(Invalid) as refused:
            parse_schedule(document, now=at("2026-11-29T10:00:00Z"))
        return refused.value.faults

    return refuse


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("* * * *", "4 fields where 5"),
        ("0 10 ? * 2-6 *", "may be seconds or a year"),
        ("0 0 10 ? * 2-6 *", "may be seconds or a year"),
        ("* * * * * * * *", "8 fields where 5"),
        ("", "is empty"),
        (" \t ", "is empty"),
        ("60 * * * *", "minute (field 1 of 5): 60 is outside 0-59"),
        ("* 24 * * *", "hour (field 2 of 5): 24 is outside 0-23"),
        ("* * 32 * *", "day-of-month (field 3 of 5): 32 is outside 1-31; the last day is L"),
        ("* * * 0 *", "month (field 4 of 5): 0 is outside 1-12"),
        ("* * * * 8", "day-of-week (field 5 of 5): 8 is outside 0-7"),
        ("-1 * * * *", "minute (field 1 of 5)"),
        ("1- * * * *", "minute (field 1 of 5)"),
        ("1-2-3 * * * *", "minute (field 1 of 5)"),
        ("1,,2 * * * *", "an element of the list is empty"),
        ("1, * * * *", "an element of the list is empty"),
        ("*/0 * * * *", "the step must be at least 1"),
        ("*/-5 * * * *", "the step '-5' is not a number"),
        ("*/ * * * *", "the step '' is not a number"),
        ("*/5/5 * * * *", "the step '5/5' is not a number"),
        ("5-10* * * * *", "minute (field 1 of 5)"),
        ("** * * * *", "'**' is not a value"),
        ("0.5 * * * *", "'0.5' is not a value"),
        ("1e3 * * * *", "'1E3' is not a value"),
        ("0x1 * * * *", "'0X1' is not a value"),
        ("+5 * * * *", "'+5' is not a value"),
        ("? * * * *", "minute (field 1 of 5): '?' is not a value"),
        ("L * * * *", "minute (field 1 of 5): 'L' is not a value"),
        ("H * * * *", "hashed and random fields"),
        ("H(0-29)/10 * * * *", "hashed and random fields"),
        ("R * * * *", "hashed and random fields"),
        ("0 0 32W * *", "32 is outside 1-31"),
        ("0 0 0W * *", "0 is outside 1-31"),
        ("0 0 W * *", "'W' is not a value"),
        ("0 0 1-5W * *", "day-of-month (field 3 of 5)"),
        ("0 0 L-0 * *", "is not a day"),
        ("0 0 L-31 * *", "is not a day"),
        ("0 0 L-x * *", "is not a day"),
        ("0 0 L/2 * *", "day-of-month (field 3 of 5)"),
        ("0 0 15L * *", "day-of-month (field 3 of 5)"),
        ("0 0 * * 1#0", "names no week"),
        ("0 0 * * 1#6", "names no week"),
        ("0 0 * * 1#", "names no week"),
        ("0 0 * * #1", "day-of-week (field 5 of 5)"),
        ("0 0 * * 1-3#1", "day-of-week (field 5 of 5)"),
        ("0 0 * * 8L", "day-of-week (field 5 of 5)"),
        ("0 0 * * L5", "'L5' is not a value"),
        ("0 0 * * Monday", "'MONDAY' is not a name"),
        ("0 0 * January *", "'JANUARY' is not a name"),
        ("0 0 * MON *", "month (field 4 of 5): 'MON' is not a value"),
        ("0 0 * * JAN", "day-of-week (field 5 of 5): 'JAN' is not a value"),
        ("@reboot", "'@reboot' is not a macro"),
        ("@every 5m", "a fixed period is a rate"),
        ("@Daily", "'@Daily' is not a macro"),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "the time zone goes into its own field"),
        ("TZ=UTC 0 9 * * *", "the time zone goes into its own field"),
        ("\u0661 * * * *", "character 1 ('\\u0661')"),
        ("1\u00a0* * * *", "character 2 ('\\xa0')"),
        ("1\u2003* * * *", "character 2 ('\\u2003')"),
        ("* * * * *\n", "character 10 ('\\n')"),
        ("* * * * \x00", "character 9 ('\\x00')"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 L-30 2 *", "never fires"),
        ("99999999999999999999 * * * *", "is outside 0-59"),
        ("*/99999999999 * * * *", "is not a number"),
        ("* " * 100_000, "at most 200 are accepted"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_malformed_crons(faults, cron, said):
    (fault, *rest) = faults({"cron": cron})
    assert not rest
    assert fault.pointer == "/cron"
    assert said in fault.detail
    assert fault.accepted


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("cron(0 10 * * *)", "needs six fields, this has 5"),
        ("cron(0 0 10 ? * 2-6 *)", "needs six fields, this has 7"),
        ("cron()", "needs six fields"),
        ("cron(0 10 ? * MON-FRI *", "is not closed"),
        ("cron(0 10 ? * MON-FRI *) ;", "is not closed"),
        ("cron(0 10 * * * *)", "neither is ?"),
        ("cron(0 10 ? * ? *)", "both are ?"),
        ("cron(0 12 1 * MON *)", "neither is ?"),
        ("cron(0 12 ? * 0 *)", "day-of-week (field 5 of 6): 0 is outside 1-7"),
        ("cron(0 12 ? * 8 *)", "8 is outside 1-7"),
        ("cron(0 12 ? * 2#1,6#3 *)", "only by itself"),
        ("cron(0 12 ? * 2#1,3 *)", "only by itself"),
        ("cron(0 12 ? * */2 *)", "takes no step here"),
        ("cron(0 12 L,15 * ? *)", "only by itself"),
        ("cron(0 12 15W,1 * ? *)", "only by itself"),
        ("cron(0 12 L-3 * ? *)", "does not know L-n"),
        ("cron(0/70 * * * ? *)", "the step 70 can never apply"),
        ("cron(0 0 1 1 ? 1969)", "year (field 6 of 6): 1969 is outside 1970-2199"),
        ("cron(0 0 1 1 ? 2200)", "2200 is outside 1970-2199"),
        ("cron(0 0 1 1 ? 2028-2027)", "ends before it begins"),
        ("cron(0 0 1 1 ? 2020)", "never fires"),
        ("cron(0 0 29 2 ? 2027)", "never fires"),
        ("cron(@daily)", "needs six fields"),
    ],
)
def test_what_eventbridge_refuses(faults, cron, said):
    for document, pointer in (({"cron": cron}, "/cron"), (cron, "")):
        fault = faults(document)[0]
        assert fault.pointer == pointer
        assert said in fault.detail
        assert fault.accepted


@pytest.mark.parametrize(
    "rate",
    [
        "rate(1 minutes)", "rate(5 minute)", "rate(0 minutes)", "rate(-5 minutes)", "rate(5 weeks)",
        "rate(30 seconds)", "rate(1.5 hours)", "rate(5)", "rate()", "rate(5 minutes",
        "rate(5minutes)", "rate(\u0665 minutes)", "rate(5 Minutes)", "rate(99999999999 days)",
        "5 minute", "five minutes",
        0, -5, 1.5, True, None, "", "PT", "P", [], "1y", 10**30, "0.5s",
    ],
)  # fmt: skip
def test_rates(faults, rate):
    (fault, *rest) = faults({"rate": rate})
    assert not rest
    assert fault.pointer == "/rate"
    assert fault.accepted


@pytest.mark.parametrize(
    "at_",
    [
        "2026-12-24", "2026-12-24 18:00:00Z", "2026-02-30T00:00:00Z", "2026-12-24T24:00:00Z",
        "2026-12-24T18:00:60Z", "2026-12-24T18:00:00.5Z", "2026-12-24T18:00:00+25:00",
        "2026-12-24T18:00:00", "2020-01-01T00:00:00Z", "0001-01-01T00:00:00Z",
        "9999-12-31T00:00:00Z", "tomorrow", "", None, 5, "at(2026-12-24T18:00:00Z)",
        "at(2026-12-24T18:00)", "at(2026-12-24T18:00:00", "\u0662026-12-24T18:00:00Z",
        "2026-12-24T18:00:00Z\n",
    ],
)  # fmt: skip
def test_ats(faults, at_):
    (fault, *rest) = faults({"at": at_})
    assert not rest
    assert fault.pointer == "/at"
    assert fault.accepted


@pytest.mark.parametrize(
    "zone",
    [
        "", " ", "localtime", "posixrules", "Factory", "europe/berlin", "Europe/Berlin ", "Europe",
        "Europe/", "../etc/passwd", "/etc/localtime", "/usr/share/zoneinfo/UTC", "Europe/../UTC",
        "./UTC", "posix/UTC", "right/UTC", "EST5EDT4,M3.2.0,M11.1.0", "+01:00", "UTC+1", "CEST",
        "Mars/Phobos", "tzdata.zi", "__init__.py", "zone.tab", "UTC\x00", "UTC\n", "\uff35TC",
        "Europe/Berlin" * 50_000, 5, ["UTC"], {},
    ],
    ids=lambda zone: ascii(zone)[:40],
)  # fmt: skip
def test_zones(faults, zone):
    (fault, *rest) = faults({"cron": "0 9 * * *", "timezone": zone})
    assert not rest
    assert fault.pointer == "/timezone"
    assert "IANA" in fault.accepted
    assert len(fault.detail) < 200


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        (None, {""}),
        (5, {""}),
        ([], {""}),
        ({}, {""}),
        ({"timezone": "UTC"}, {""}),
        ({"cron": "* * * * *", "rate": 5}, {""}),
        ({"cron": "* * * * *", "rate": 5, "at": "2026-12-24T18:00:00Z"}, {""}),
        ({"cron": None}, {"/cron"}),
        ({"cron": ["* * * * *"]}, {"/cron"}),
        ({"cron": "* * * * *", "tz": "UTC"}, {"/tz"}),
        ({"cron": "* * * * *", "a/b~c": 1}, {"/a~1b~0c"}),
        ({"cron": "* * * * *", "seconds": "yes"}, {"/seconds"}),
        ({"cron": "* * * * *", "seconds": True}, {"/cron"}),
        ({"cron": "@daily", "seconds": True}, {"/cron"}),
        ({"cron": "cron(0 10 * * ? *)", "seconds": True}, {"/cron"}),
        ({"rate": 5, "seconds": True}, {"/seconds"}),
        ({"cron": "* * * * *", "jitter": -1}, {"/jitter"}),
        ({"cron": "* * * * *", "jitter": "2d"}, {"/jitter"}),
        ({"cron": "* * * * *", "jitter": None}, {"/jitter"}),
        ({"cron": "* * * * *", "timezone": None, "dst": None}, {"/timezone", "/dst"}),
        ({"cron": "* * * * *", "calendar": None, "end": None}, {"/calendar", "/end"}),
        ({"cron": "* * * * *", "max_runs": 0}, {"/max_runs"}),
        ({"cron": "* * * * *", "max_runs": True}, {"/max_runs"}),
        ({"cron": "* * * * *", "max_runs": "5"}, {"/max_runs"}),
        ({"cron": "* * * * *", "start": "2027-01-01T00:00:00"}, {"/start"}),
        ({"cron": "* * * * *", "start": 5}, {"/start"}),
        ({"cron": "* * * * *", "end": "2026-11-29T10:00:00Z"}, {"/end"}),
        ({"cron": "0 0 1 1 *", "end": "2026-12-31T00:00:00Z"}, {"/cron"}),
        (
            {"cron": "* * * * *", "start": "2027-01-02T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
            {"/end"},
        ),
        ({"cron": "* * * * *", "dst": "skip"}, {"/dst"}),
        ({"cron": "* * * * *", "dst": {"gap": "first"}}, {"/dst/gap"}),
        ({"cron": "* * * * *", "dst": {"overlap": ["first"]}}, {"/dst/overlap"}),
        ({"cron": "* * * * *", "dst": {"gaps": "skip"}}, {"/dst/gaps"}),
        ({"rate": 5, "dst": {"gap": "skip"}}, {"/dst"}),
        ({"at": "2026-12-24T18:00:00Z", "dst": {"overlap": "both"}}, {"/dst/overlap"}),
        ({"rate": 5, "calendar": {"exclude": {"weekends": True}}}, {"/calendar"}),
        ({"cron": "* * * * *", "calendar": "nowhere"}, {"/calendar"}),
        (
            {"cron": "61 25 * 13 9", "timezone": "X", "max_runs": 0, "jitter": "x", "y": 1},
            {"/cron", "/timezone", "/max_runs", "/jitter", "/y"},
        ),
        (
            {
                "at": "2026-03-29T02:30:00",
                "timezone": "Europe/Berlin",
                "dst": {"gap": "skip"},
            },
            {"/at"},
        ),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value)[:60],
)
def test_documents(faults, document, pointers):
    found = faults(document)
    assert {fault.pointer for fault in found} == pointers
    assert all(fault.code and fault.detail and fault.accepted for fault in found)


def test_every_fault_of_a_cron_is_told_at_once(faults):
    details = [fault.detail for fault in faults("61 25 0 13 9")]
    assert [detail.split(" (")[0] for detail in details] == [
        "minute", "hour", "day-of-month", "month", "day-of-week",
    ]  # fmt: skip


def test_an_at_in_a_gap_that_is_skipped_says_so(faults, at):
    document = {"at": "2027-03-28T02:30:00", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}}
    (fault,) = faults(document)
    assert "the clocks skip that local time" in fault.detail


def test_a_zone_that_was_probably_meant_is_named(faults):
    (fault,) = faults({"cron": "0 9 * * *", "timezone": " europe/berlin"})
    assert "Europe/Berlin was probably meant" in fault.detail
