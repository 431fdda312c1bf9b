"""The engine against the walker, on random schedules near and far from the transitions of zones.

    PYTHONPATH=tests python -m support.fuzz_schedules [--cases N] [--seed S]

Without a seed it takes one from the clock and prints it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random

from cronce.domain.errors import Invalid
from cronce.domain.instants import to_api
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.domain.zones import zone_keys
from support.expressions import DAY as DAY_OPERATORS
from support.expressions import FORMS, MONTH, OPTIONS, WEEKDAY, Draw, Drawn
from support.walker import Look, Reading, Rules, fires, looks, transitions

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PER_WINDOW = 5
PROBES = 8
TURNS = DAY_OPERATORS + MONTH + FORMS
# Zones whose rules are odd: half hours, midnight, two hours, negative saving, a skipped day.
ODD = (
    "Australia/Lord_Howe", "America/Santiago", "Antarctica/Troll", "Africa/Casablanca",
    "Europe/Dublin", "Pacific/Chatham", "Pacific/Apia", "America/Caracas", "Atlantic/Azores",
    "Africa/Cairo", "Asia/Gaza", "America/Nuuk", "Asia/Tehran", "Asia/Pyongyang", "America/Havana",
)  # fmt: skip


@dataclass
class Report:
    """What was tried. Every mismatch raises AssertionError at once, with the case in its text."""

    cases: int = 0
    fired: int = 0
    never: int = 0
    instants: int = 0
    near_transition: int = 0
    zones: set[str] = field(default_factory=set)
    operators: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        head = (
            f"{self.cases} schedules in {len(self.zones)} zones, {self.fired} occurrences;"
            f" {self.instants} instants, {self.near_transition} within 48 h of a transition;"
            f" {self.never} never fire"
        )
        return [head, *(f"{n:6} {name}" for name, n in sorted(self.operators.items()))]


def run(seed: int, cases: int) -> Report:
    rng = Random(seed)
    report = Report()
    zones = sorted(zone_keys())
    chosen = [*ODD, *rng.sample(zones, 85)]
    while report.cases < cases:
        _window(rng, report, chosen)
    return report


@dataclass(frozen=True)
class Stretch:
    """A stretch of time in one zone, looked at step by step. near: a transition at most 48 h away
    from all of it, or None."""

    zone: str
    seen: list[Look]
    step: timedelta
    near: datetime | None

    @property
    def first(self) -> datetime:
        return self.seen[0].instant

    @property
    def last(self) -> datetime:
        return self.seen[-1].instant


def _window(rng: Random, report: Report, zones: list[str]) -> None:
    """Several schedules in one stretch of time of one zone."""
    operator = TURNS[report.cases // PER_WINDOW % len(TURNS)]
    wanted = 2 * report.near_transition <= report.instants + PER_WINDOW * PROBES
    zone, start, near = _somewhere(rng, zones, wanted=wanted)
    if operator == "seconds" and near is not None:
        start = near - rng.randint(0, 5_300) * SECOND
    stretches: dict[bool, Stretch] = {}
    report.zones.add(zone)
    for n in range(report.cases, report.cases + PER_WINDOW):
        weekday = ("", *WEEKDAY)[n % (len(WEEKDAY) + 1)]
        option = OPTIONS[n % len(OPTIONS)]
        drawn = Draw(rng, (start + rng.random() * DAY).date()).schedule(operator, weekday, option)
        if drawn.seconds not in stretches:
            step, count = (SECOND, 5_400) if drawn.seconds else (MINUTE, 1_800)
            stretches[drawn.seconds] = Stretch(zone, looks(zone, start, count, step), step, near)
        _case(rng, report, drawn, stretches[drawn.seconds])
        report.operators += drawn.operators
        report.cases += 1


def _somewhere(
    rng: Random, zones: list[str], *, wanted: bool
) -> tuple[str, datetime, datetime | None]:
    """A zone and an instant; with `wanted` a transition lies at most 48 h after it."""
    while True:
        key = rng.choice(zones)
        years = (rng.randint(1975, 2045), rng.randint(2020, 2032), rng.randint(2045, 2150))
        year = rng.choice(years)
        if not wanted:
            minute = datetime(year, 1, 1, tzinfo=UTC) + rng.randrange(365 * 1440) * MINUTE
            return key, minute, None
        if found := transitions(key, year, year + 1):
            near = rng.choice(found)
            return key, near - rng.randint(0, 2 * 1440) * MINUTE, near


def _case(rng: Random, report: Report, drawn: Drawn, stretch: Stretch) -> None:
    begin, end, seen = stretch.first, stretch.last, stretch.seen
    document = drawn.document | {"timezone": stretch.zone}
    if drawn.windowed:
        cut = len(seen) // 4
        begin, end = seen[rng.randint(0, cut)].instant, seen[-rng.randint(1, cut)].instant
        document |= {"start": to_api(begin), "end": to_api(end)}
    reading = Reading(str(document["cron"]), seconds=drawn.seconds)
    rules = Rules(drawn.gap, drawn.overlap, drawn.excluded(), drawn.on_excluded)
    expected = [at for at in fires(reading, seen, rules, stretch.step) if begin <= at <= end]
    try:
        schedule = parse_schedule(document, now=stretch.first - SECOND)
    except Invalid as refused:
        _never(document, refused, expected)
        report.never += 1
        return
    report.fired += len(expected)
    _walk(document, schedule, stretch, expected, rules)
    for _ in range(PROBES):
        _probe(rng, report, document, schedule, stretch, expected)
    _round_trip(document, schedule, stretch.first - SECOND)
    _same_days(rng, document, reading, rules)


def _walk(
    document: dict[str, object],
    schedule: Schedule,
    stretch: Stretch,
    expected: list[datetime],
    rules: Rules,
) -> None:
    got, at = [], stretch.first - SECOND
    while (after := schedule.next_after(at)) is not None and after <= stretch.last:
        assert after > at, (document, "not increasing", at, after)
        if rules.excluded is not None and rules.excluded(schedule.local(after).date()):
            assert "gap" in (schedule.note(after) or ""), (document, "excluded", after)
        got.append(after)
        at = after
    assert got == expected, (document, stretch.first, _first_difference(got, expected))


def _probe(
    rng: Random,
    report: Report,
    document: dict[str, object],
    schedule: Schedule,
    stretch: Stretch,
    expected: list[datetime],
) -> None:
    """The same from any start in between."""
    first, last = stretch.first, stretch.last
    t = first + rng.random() * (last - first)
    if expected and rng.random() < 0.3:
        t = rng.choice(expected)
    elif stretch.near is not None and rng.random() < 0.5:
        t = min(max(first, stretch.near + rng.uniform(-2, 2) * HOUR), last)
    report.instants += 1
    report.near_transition += stretch.near is not None and abs(t - stretch.near) <= 2 * DAY
    later = [x for x in expected if x > t]
    found = schedule.next_after(t)
    if later or (found is not None and found <= last):
        assert later, (document, "next after", t, found)
        assert found == later[0], (document, "next after", t, found, later[0])
    low = first + rng.random() * (t - first)
    between = [x for x in expected if low <= x <= t]
    latest = schedule.latest_at_or_before(t, not_before=low)
    assert latest == (between[-1] if between else None), (document, "latest", low, t, latest)
    inside = [x for x in expected if low < x <= t]
    assert schedule.count(low, t) == len(inside), (document, "count", low, t)
    assert schedule.contains(t) == (t in expected), (document, "contains", t)


def _round_trip(document: dict[str, object], schedule: Schedule, now: datetime) -> None:
    again = parse_schedule(schedule.to_document(), now=now)
    assert again == schedule, (document, "document round trip")
    assert Schedule.from_plan(schedule.to_plan()) == schedule, (document, "plan round trip")


def _same_days(rng: Random, document: dict[str, object], reading: Reading, rules: Rules) -> None:
    """The days alone over a year and a half, at noon of a zone without transitions."""
    year = rng.choice((rng.randint(1990, 2035), rng.randint(2036, 2190)))
    if rules.excluded is not None or reading.aws:
        return
    fields = f"0 12 {reading.day} {reading.month} {reading.weekday}"
    start = datetime(year, rng.randint(1, 12), 1, tzinfo=UTC)
    days = [(start + n * DAY).date() for n in range(550)]
    expected = [d for d in days if reading.day_says(d)]
    try:
        schedule = parse_schedule(fields, now=start)
    except Invalid as refused:
        _never(fields, refused, expected)
        return
    got: list[date] = []
    at = start
    while (after := schedule.next_after(at)) is not None and after.date() <= days[-1]:
        got.append(after.date())
        at = after
    assert got == expected, (fields, start, set(got) ^ set(expected))


def _never(document: object, refused: Invalid, expected: Sequence[date]) -> None:
    assert {fault.code for fault in refused.faults} == {"never_fires"}, (document, refused)
    assert not expected, (document, "refused, but fires", expected[:3])


def _first_difference(got: list[datetime], expected: list[datetime]) -> str:
    extra = sorted(set(got) - set(expected))[:3]
    lost = sorted(set(expected) - set(got))[:3]
    return f"too many: {[to_api(t) for t in extra]}, too few: {[to_api(t) for t in lost]}"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzz_schedules", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(argv)
    seed = time.time_ns() % 2**32 if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    report = run(seed, options.cases)
    print("\n".join(report.lines()))
    print(f"no difference, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
