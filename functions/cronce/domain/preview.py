"""What lies ahead of a schedule, from the same functions that a tick plans with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cronce.domain.cron import Cron, parse_cron
from cronce.domain.durations import format_duration
from cronce.domain.instants import EPOCH
from cronce.domain.plan import first_due
from cronce.domain.timetable import Schedule

MAX_COUNT = 1_000
# Enough to meet the two closest occurrences of a day of any cron that fires a few times a day.
_SAMPLE = 60
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


@dataclass(frozen=True)
class Upcoming:
    """scheduled_for, due: UTC. local: the wall time with its offset. note: why it is not where
    the expression alone would put it, or None."""

    scheduled_for: datetime
    due: datetime
    local: str
    note: str | None


def upcoming(
    schedule: Schedule, *, uid: str, after: datetime, count: int, runs_planned: int = 0
) -> list[Upcoming]:
    """The next `count` occurrences strictly after `after`, fewer if the schedule ends before.

    uid: of the job; another uid has another jitter.
    """
    if schedule.max_runs is not None:
        count = min(count, schedule.max_runs - runs_planned)
    found: list[Upcoming] = []
    at = after
    while len(found) < min(count, MAX_COUNT) and (due := first_due(uid, schedule, at)):
        at = due.scheduled_for
        local = schedule.local(at).isoformat()
        found.append(Upcoming(at, due.due, local, schedule.note(at)))
    return found


def warnings(schedule: Schedule, timeout: int, overlap: str) -> list[str]:
    """What is allowed and probably not meant. timeout: seconds. overlap: the job's policy."""
    found = []
    period = shortest_period(schedule)
    if overlap == "allow" and period is not None and timeout > period:
        found.append(
            f"the timeout of {format_duration(timeout)} is longer than the shortest time between"
            f" two occurrences, {format_duration(period)}, and overlap is allow:"
            " runs of this job may overlap"
        )
    if schedule.kind == "cron":
        cron = parse_cron(schedule.expression, seconds=schedule.seconds)
        found += _either_day(cron) + _uneven_steps(cron, schedule.seconds)
    return found


def shortest_period(schedule: Schedule) -> int | None:
    """Seconds between the closest two of the schedule's first occurrences; None if it has one."""
    if schedule.kind == "rate":
        return schedule.period
    shortest = None
    earlier = schedule.next_after(EPOCH)
    for _ in range(_SAMPLE):
        later = None if earlier is None else schedule.next_after(earlier)
        if earlier is None or later is None:
            break
        gap = int((later - earlier).total_seconds())
        shortest = gap if shortest is None else min(shortest, gap)
        earlier = later
    return shortest


def _either_day(cron: Cron) -> list[str]:
    rule = cron.rule
    if cron.aws or rule.month_days is None or rule.weekdays is None:
        return []
    text = "day-of-month and day-of-week are both restricted: it fires on days that match either"
    days = sorted(rule.month_days)
    whole_week = len(days) == 7 and days[0] % 7 == 1 and days[-1] - days[0] == 6
    if whole_week and len(rule.weekdays) == 1 and not (rule.nth or rule.last_of):
        (weekday,) = rule.weekdays
        week = days[0] // 7 + 1
        name = ("first", "second", "third", "fourth")[week - 1] if week < 5 else "fifth"
        text += f"; the {name} {_WEEKDAYS[weekday]} of the month is {weekday}#{week}"
    return [text]


def _uneven_steps(cron: Cron, seconds: bool) -> list[str]:
    if cron.text.startswith("@"):
        return []
    fields = cron.text.removeprefix("cron(").split()[1 if seconds else 0 :]
    found = []
    kinds = ((60, "minute", "hour"), (24, "hour", "day"))
    for field, (size, unit, whole) in zip(fields, kinds, strict=False):
        step = field[2:]
        if field.startswith("*/") and step.isdigit() and size % int(step):
            found.append(
                f"{field} in the {unit} field starts again at 0 every {whole}:"
                f" for every {step} {unit}s throughout use a rate"
            )
    return found
