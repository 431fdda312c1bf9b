"""How fast schedules are, against croniter in the same run and against fixed budgets.

    python bench/schedules.py

Prints one line per measure; the exit code is 1 if a budget is broken. CPU time of this process,
the best of several rounds, so that a busy machine does not decide.
"""

from __future__ import annotations

import random
import string
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from cronce.domain.cron import parse_cron
from cronce.domain.days import cron_days
from cronce.domain.eras import eras_of
from cronce.domain.errors import Invalid
from cronce.domain.misfire import parse_misfire
from cronce.domain.plan import Misfire, first_due, plan
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.domain.timetable import _from_plan
from cronce.domain.wall_clock import wall_clock
from cronce.domain.zones import load_zone

NOW = datetime(2026, 11, 29, 10, 0, 30, tzinfo=UTC)
HORIZON = timedelta(seconds=195)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney")
TYPICAL = ("*/15 * * * *", "0 9 * * MON-FRI", "30 2 * * *", "0 */6 * * *", "0 0 1 * *")
SPARSE = {
    "leap day": "0 0 29 2 *",
    "yearly": "0 0 1 1 *",
    "year 2199": "cron(0 0 1 1 ? 2199)",
    "fifth Monday in February": "0 0 * 2 1#5",
}


@dataclass
class Measure:
    name: str
    value: float
    unit: str
    budget: str
    kept: bool

    def line(self) -> str:
        mark = "ok  " if self.kept else "FAIL"
        return f"{mark} {self.name:52} {self.value:10.2f} {self.unit:14} {self.budget}"


def forget() -> None:
    """As in a process that has just started."""
    for kept in (parse_cron, wall_clock, cron_days, eras_of, load_zone, _from_plan):
        kept.cache_clear()


def cpu(work: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of CPU, the best of `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def ours(schedule: Schedule, steps: int) -> Callable[[], None]:
    def work() -> None:
        at = NOW
        for _ in range(steps):
            at = schedule.next_after(at) or NOW

    return work


def theirs(expression: str, zone: str, steps: int) -> Callable[[], None]:
    def work() -> None:
        it = croniter(expression, NOW.astimezone(ZoneInfo(zone)))
        for _ in range(steps):
            it.get_next(datetime)

    return work


def against_croniter(steps: int = 1_000) -> list[Measure]:
    """The same steps along the same schedule, one occurrence after the other."""
    found = []
    for zone in ZONES[:3]:
        for expression in TYPICAL:
            schedule = parse_schedule({"cron": expression, "timezone": zone}, now=NOW)
            mine, other = cpu(ours(schedule, steps)), cpu(theirs(expression, zone, steps))
            name = f"next of {expression!r}, {zone}: times croniter"
            found.append(
                Measure(name, other / mine, "times as fast", "at least 3", other >= 3 * mine)
            )
    return found


def sparse_against_typical(steps: int = 300) -> list[Measure]:
    typical = cpu(ours(parse_schedule(TYPICAL[1], now=NOW), steps)) / steps
    found = [Measure("next of a typical cron", typical * 1e6, "us", "", True)]
    for name, expression in SPARSE.items():
        schedule = parse_schedule({"cron": expression, "timezone": "Europe/Berlin"}, now=NOW)
        ratio = (
            cpu(lambda one=schedule: [one.next_after(NOW) for _ in range(steps)]) / steps / typical
        )
        found.append(Measure(f"next of {name}", ratio, "x typical", "at most 10", ratio <= 10))
    return found


def due_jobs(count: int = 10_000) -> list[Measure]:
    """A herd that is due at once: read each job's stored plan, and plan it. Nothing is warm."""
    rng = random.Random(7)
    stored = []
    for n in range(count):
        document = {
            "cron": rng.choice((f"{n % 60} * * * *", f"*/{1 + n % 30} * * * *", "0 10 * * *",
                                f"0 {n % 24} * * 1-5", f"{n % 60} {n % 24} {1 + n % 28} * *")),
            "timezone": rng.choice(ZONES),
        }  # fmt: skip
        if n % 3 == 0:
            document["jitter"] = 30
        schedule = parse_schedule(document, now=NOW)
        due = first_due(f"u{n}", schedule, NOW - timedelta(days=3))
        assert due is not None
        stored.append((f"u{n}", schedule.to_plan(), {"grace": 120} if n % 2 else {}, due))

    def work() -> None:
        for uid, planned, misfire, due in stored:
            plan(uid=uid, schedule=Schedule.from_plan(planned), misfire=Misfire.from_plan(misfire),
                 current=due, now=due.due - timedelta(seconds=60), horizon=HORIZON)  # fmt: skip

    forget()
    spent = cpu(work, rounds=1)
    return [Measure(f"planning {count} due jobs", spent, "s", "at most 1", spent <= 1)]


def outages() -> list[Measure]:
    schedule = parse_schedule({"cron": "* * * * *", "timezone": "Europe/Berlin"}, now=NOW)
    current = first_due("u", schedule, NOW - timedelta(days=400))
    assert current is not None
    found = []
    for policy in ("run_once", "skip", "run_all"):
        misfire = parse_misfire(policy)
        spent = cpu(lambda m=misfire: plan(uid="u", schedule=schedule, misfire=m, current=current,
                                           now=NOW, horizon=HORIZON), 3)  # fmt: skip
        name = f"400 days of a minutely job, {policy}"
        found.append(Measure(name, spent * 1e3, "ms", "at most 100", spent <= 0.1))
    return found


def hostile_inputs(seed: int = 7) -> list[Measure]:
    """Inputs of 200 characters, accepted or refused: the slowest of them."""
    rng = random.Random(seed)
    inputs: list[object] = [
        "*/1," * 48 + "* * * * *",
        ",".join(["0-59/1"] * 27) + " * * * *",
        "0 0 " + ",".join(["L-30"] * 37) + " 2 *",
        "0 0 " + ",".join(["31W"] * 45) + " 2,4,6,9,11 *",
        "0 0 * 2 " + ",".join(["1#5"] * 48),
        "cron(0 0 31 2,4,6,9,11 ? 1970-2199/1)",
        "0 0 30 2 *",
        " " * 200,
        "(" * 200,
        "9" * 200,
        "1-" * 100,
        "\u0661" * 200,
        {"cron": "0 0 31 12 *", "calendar": {"exclude": {"dates": ["2027-12-31"]}}},
        {"cron": "0 0 * * 6", "calendar": {"exclude": {"weekends": True}}},
        {"cron": "0 0 29 2 6", "timezone": "America/Santiago",
         "calendar": {"exclude": {"weekends": True}, "on_excluded": "next_business_day"}},
        {"at": "2" * 200},
        {"rate": "9" * 200},
        {"cron": "* * * * *", "timezone": "A/" * 100},
    ]  # fmt: skip
    alphabet = string.digits + "*/-,LW#? JANMONcron()@"
    inputs += ["".join(rng.choices(alphabet, k=200)) for _ in range(2_000)]
    slowest, worst = 0.0, inputs[0]
    for document in inputs:

        def work(one: object = document) -> None:
            try:
                parse_schedule(one, now=NOW)
            except Invalid:
                return

        spent = cpu(work, rounds=1)
        if spent > slowest:
            slowest, worst = spent, document
    name = f"slowest of {len(inputs)} inputs: {str(worst)[:20]!a}"
    return [Measure(name, slowest * 1e3, "ms", "at most 50", slowest <= 0.05)]


def main() -> int:
    measures = hostile_inputs() + due_jobs() + outages() + sparse_against_typical()
    measures += against_croniter()
    print("\n".join(measure.line() for measure in measures))
    return 0 if all(measure.kept for measure in measures) else 1


if __name__ == "__main__":
    sys.exit(main())
