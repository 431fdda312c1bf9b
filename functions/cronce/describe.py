"""A schedule in words. For people: the API and the command line, never the tick."""

from __future__ import annotations

from cronce.domain.cron import MACROS
from cronce.domain.durations import format_duration
from cronce.domain.instants import to_api
from cronce.domain.timetable import Schedule


def describe(schedule: Schedule) -> str:
    """One sentence without a full stop.

    Where cron-descriptor is not installed, or cannot read the expression, it is quoted as it is.
    """
    if schedule.kind == "rate":
        words = f"Every {_period(schedule.period)}"
    elif schedule.kind == "at":
        words = f"Once, at {schedule.expression.replace('T', ' ')}"
    else:
        words = _cron(schedule)
    if schedule.kind == "cron" or (schedule.kind == "at" and _is_local(schedule.expression)):
        words += f", {schedule.timezone}"
    return words + _rest(schedule)


def _period(seconds: int) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds % size == 0:
            n = seconds // size
            return unit if n == 1 else f"{n} {unit}s"
    return "second" if seconds == 1 else f"{seconds} seconds"


def _is_local(time: str) -> bool:
    return len(time) == len("2026-12-24T18:00:00")


def _cron(schedule: Schedule) -> str:
    text = MACROS.get(schedule.expression, schedule.expression)
    aws = text.startswith("cron(")
    fields = text.removeprefix("cron(").removesuffix(")")
    try:
        from cron_descriptor import FormatError, Options, get_description
    except ImportError:
        return f"Cron {text}"
    options = Options()
    options.use_24hour_time_format = True
    options.day_of_week_start_index_zero = not aws
    try:
        return str(get_description(fields, options))
    except (FormatError, ValueError, IndexError, KeyError):
        return f"Cron {text}"


def _rest(schedule: Schedule) -> str:
    words = ""
    if schedule.start is not None:
        words += f", from {to_api(schedule.start)}"
    if schedule.end is not None:
        words += f", until {to_api(schedule.end)}"
    if schedule.max_runs is not None:
        words += f", {schedule.max_runs} times"
    if schedule.calendar is not None:
        name = f"calendar {schedule.calendar.name}" if schedule.calendar.name else "a calendar"
        words += f", except on days excluded by {name}"
    if schedule.jitter:
        words += f", spread over {format_duration(schedule.jitter)}"
    return words
