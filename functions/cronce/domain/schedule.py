"""Reading a schedule as a user writes it: a string, or an object with exactly one kind.

"*/15 * * * *"   "@daily"   "cron(0 10 ? * MON-FRI *)"   "rate(5 minutes)"   "at(2026-…)"
{"cron": …, "seconds"?: true} | {"rate": …} | {"at": …}
  with timezone, start, end, jitter, calendar, dst, max_runs
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast, get_args

from cronce.domain.calendar import (
    NAME,
    ON_EXCLUDED,
    Calendar,
    Holidays,
    OnExcluded,
    parse_calendar,
)
from cronce.domain.cron import ACCEPTED as CRON_ACCEPTED
from cronce.domain.cron import parse_cron
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Fault, Invalid
from cronce.domain.instants import EPOCH, check_aware
from cronce.domain.jitter import MAX_JITTER
from cronce.domain.local_time import ACCEPTED as TIME_ACCEPTED
from cronce.domain.local_time import Written, instant_of, read_time
from cronce.domain.rate import parse_rate
from cronce.domain.timetable import Kind, Schedule, jittered
from cronce.domain.wall_clock import Gap, Overlap
from cronce.domain.zones import check_zone

__all__ = ["ACCEPTED", "Schedule", "jittered", "parse_schedule", "unfold"]

ACCEPTED = (
    '"*/15 * * * *", "@daily", "cron(0 10 ? * MON-FRI *)", "rate(5 minutes)",'
    ' "at(2026-12-24T18:00:00)", or an object with one of cron, rate, at'
)
MAX_RUNS = 1_000_000_000
_KINDS = get_args(Kind)
_OPTIONS = ("timezone", "start", "end", "jitter", "calendar", "dst", "max_runs")
_T = TypeVar("_T")


def parse_schedule(
    doc: object,
    *,
    now: datetime,
    anchor: datetime | None = None,
    calendar: Calendar | None = None,
    holidays: Holidays | None = None,
) -> Schedule:
    """The schedule that a document describes.

    now: what has only occurrences at or before it is refused.
    anchor: of a rate without `start`: the job's creation; without it, `now`.
    calendar: the row of the named calendar, if the document names one.
    holidays: resolves `{"country", "subdivision"}` to dates.
    Raises Invalid with every fault found, pointers relative to the schedule: `/cron`, `/timezone`,
    and "" for a bare string.
    """
    reader = _Reader(check_aware(now), calendar, holidays)
    if isinstance(doc, str):
        try:
            return reader.schedule(unfold(doc), anchor)
        except Invalid as refused:
            raise Invalid([replace(fault, pointer="") for fault in refused.faults]) from None
    if not isinstance(doc, Mapping):
        raise Invalid.one("", "bad_schedule", "neither a string nor an object", ACCEPTED)
    return reader.schedule(doc, anchor)


def unfold(text: str) -> dict[str, str]:
    """A bare string as the object that it stands for, without judging it."""
    start = text[:40].lstrip(" \t")
    for kind in ("rate", "at"):
        if start.startswith(kind + "("):
            return {kind: text}
    return {"cron": text}


class _Reader:
    """Collects the faults of one document."""

    def __init__(self, now: datetime, calendar: Calendar | None, holidays: Holidays | None):
        self.now, self.named, self.resolve = now, calendar, holidays
        self.faults: list[Fault] = []

    def schedule(self, doc: Mapping[str, Any], anchor: datetime | None) -> Schedule:
        kind = self._kind(doc)
        doc = self._without_nulls(doc)
        zone = self._try(check_zone, doc.get("timezone", "UTC"), "/timezone") or "UTC"
        gap, overlap = self._dst(doc.get("dst"), kind)
        start, end = (self._bound(doc, name, zone) for name in ("start", "end"))
        if start and end and end < start:
            self._fault("/end", "start_after_end", "the end is before the start", "a later end")
        found = Schedule(
            kind=kind or "cron",
            timezone=zone,
            seconds=self._seconds(doc, kind),
            jitter=self._duration(doc, "jitter", 0, MAX_JITTER) or 0,
            start=start,
            end=end,
            max_runs=self._max_runs(doc),
            gap=gap,
            overlap=overlap,
            calendar=self._calendar(doc.get("calendar"), kind),
            **self._expression(doc, kind, start or anchor or self.now),
        )
        if not self.faults:
            self._check_fires(found)
        if self.faults:
            raise Invalid(self.faults)
        return found

    def _kind(self, doc: Mapping[str, Any]) -> Kind | None:
        for key in list(doc)[:50]:
            if key not in (*_KINDS, *_OPTIONS, "seconds"):
                accepted = ", ".join((*_KINDS, *_OPTIONS, "seconds"))
                self._fault("/" + _escape(key), "unknown_field", "no such field", accepted)
        kinds = [kind for kind in _KINDS if kind in doc]
        if len(kinds) == 1:
            return cast(Kind, kinds[0])
        detail = f"names {' and '.join(kinds) or 'no kind'}, where exactly one is expected"
        self._fault("", "one_kind", detail, "one of cron, rate, at")
        return None

    def _without_nulls(self, doc: Mapping[str, Any]) -> dict[str, Any]:
        for key in (*_OPTIONS, "seconds"):
            if key in doc and doc[key] is None:
                self._fault("/" + key, "null", "null is not a value", "leave the field out")
        return {key: value for key, value in doc.items() if value is not None or key in _KINDS}

    def _expression(
        self, doc: Mapping[str, Any], kind: Kind | None, anchor: datetime
    ) -> dict[str, Any]:
        if kind == "rate":
            period = self._try(parse_rate, doc["rate"], "/rate") or 0
            return {
                "period": period,
                "anchor": (check_aware(anchor) - EPOCH) // timedelta(seconds=1),
            }
        if kind == "cron":
            value = doc["cron"]
            if not isinstance(value, str):
                self._fault("/cron", "bad_cron", "not a string", CRON_ACCEPTED)
                return {}
            try:
                return {"expression": parse_cron(value, seconds=doc.get("seconds") is True).text}
            except Invalid as refused:
                self.faults += [fault.under("/cron") for fault in refused.faults]
        if kind == "at":
            written = self._try(self._at, doc["at"], "timezone" in doc)
            return {"expression": written.text} if written else {}
        return {}

    def _at(self, value: object, has_zone: bool) -> Written:
        inside = isinstance(value, str) and value.strip(" ").startswith("at(")
        if inside and isinstance(value, str):
            text = value.strip(" ")
            if not text.endswith(")"):
                raise Invalid.one("/at", "bad_time", "at(…) is not closed", TIME_ACCEPTED)
            written = read_time(text[3:-1], "/at")
            if written.offset is not None or len(text) != len("at(2026-12-24T18:00:00)"):
                detail = "EventBridge takes at(…) without offset and with seconds"
                raise Invalid.one("/at", "bad_time", detail, "at(2026-12-24T18:00:00)")
            return written
        written = read_time(value, "/at")
        if written.offset is None and not has_zone:
            detail = "a local time without a time zone names no instant"
            raise Invalid.one("/at", "naive_time", detail, TIME_ACCEPTED)
        return written

    def _bound(self, doc: Mapping[str, Any], name: str, zone: str) -> datetime | None:
        if name not in doc:
            return None
        written = self._try(read_time, doc[name], "/" + name)
        if written is None:
            return None
        if written.offset is not None:
            return EPOCH + timedelta(seconds=written.wall - written.offset)
        if "timezone" not in doc:
            detail = "a local time without a time zone names no instant"
            self._fault("/" + name, "naive_time", detail, TIME_ACCEPTED)
            return None
        instant = instant_of(written.wall, zone)
        return None if instant is None else EPOCH + timedelta(seconds=instant)

    def _seconds(self, doc: Mapping[str, Any], kind: Kind | None) -> bool:
        value = doc.get("seconds", False)
        if not isinstance(value, bool):
            self._fault("/seconds", "bad_type", "not a boolean", "true or false")
        elif value and kind != "cron":
            self._fault("/seconds", "not_for_kind", "only a cron has seconds", "no seconds here")
        return value is True and kind == "cron"

    def _dst(self, value: object, kind: Kind | None) -> tuple[Gap | None, Overlap | None]:
        if value is None:
            return None, None
        accepted = '{"gap": "next" or "skip", "overlap": "first", "second" or "both"}'
        if not isinstance(value, Mapping):
            self._fault("/dst", "bad_type", "not an object", accepted)
            return None, None
        for key in list(value)[:20]:
            if key not in ("gap", "overlap"):
                self._fault("/dst/" + _escape(key), "unknown_field", "no such field", accepted)
        if kind == "rate":
            self._fault("/dst", "not_for_kind", "a rate knows no wall clock", "no dst here")
        gap = self._word(value, "gap", get_args(Gap))
        overlap = self._word(value, "overlap", get_args(Overlap))
        if kind == "at" and overlap == "both":
            self._fault("/dst/overlap", "not_for_kind", "an at fires once", "first, second")
        return cast(Gap | None, gap), cast(Overlap | None, overlap)

    def _word(self, doc: Mapping[str, Any], name: str, words: tuple[str, ...]) -> str | None:
        value = doc.get(name)
        if value is not None and value not in words:
            self._fault(f"/dst/{name}", "unknown_value", "not a known word", ", ".join(words))
            return None
        return value

    def _duration(self, doc: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
        if name not in doc:
            return None

        def read(value: object, pointer: str) -> int:
            return parse_duration(value, pointer=pointer, low=low, high=high)

        return self._try(read, doc[name], "/" + name)

    def _max_runs(self, doc: Mapping[str, Any]) -> int | None:
        value = doc.get("max_runs")
        if value is None:
            return None
        if type(value) is not int or not 1 <= value <= MAX_RUNS:
            accepted = f"a whole number, 1 to {MAX_RUNS}"
            self._fault("/max_runs", "out_of_range", "not a number of runs", accepted)
            return None
        return value

    def _calendar(self, value: object, kind: Kind | None) -> Calendar | None:
        if value is None:
            return None
        if kind in ("rate", "at"):
            detail = f"a calendar goes with a cron; {kind} knows no calendar days"
            self._fault("/calendar", "not_for_kind", detail, "a cron")
            return None
        if isinstance(value, str):
            return self._named(value, "/calendar")
        if isinstance(value, Mapping) and "name" in value:
            return self._reference(value)
        try:
            return parse_calendar(value, holidays=self.resolve)
        except Invalid as refused:
            self.faults += [fault.under("/calendar") for fault in refused.faults]
            return None

    def _reference(self, value: Mapping[str, Any]) -> Calendar | None:
        """`{"name", "on_excluded"}`: a named calendar, used in this job's own way."""
        for key in list(value)[:20]:
            if key not in ("name", "on_excluded"):
                detail = "a named calendar says itself what it excludes"
                accepted = "name, on_excluded"
                self._fault("/calendar/" + _escape(key), "unknown_field", detail, accepted)
        named = self._named(value["name"], "/calendar/name")
        chosen = value.get("on_excluded")
        if "on_excluded" in value and chosen not in ON_EXCLUDED:
            accepted = ", ".join(ON_EXCLUDED)
            self._fault("/calendar/on_excluded", "unknown_value", "not a known word", accepted)
            return None
        return named and named.choosing(cast(OnExcluded | None, chosen))

    def _named(self, name: object, at: str) -> Calendar | None:
        if self.named is not None and self.named.name == name:
            return self.named
        shown = name if isinstance(name, str) and NAME.fullmatch(name) else "that name"
        detail = f"there is no calendar {shown!r}"
        self._fault(at, "unknown_calendar", detail, "a calendar's name, or an object")
        return None

    def _check_fires(self, schedule: Schedule) -> None:
        at = f"/{schedule.kind}"
        if schedule.end is not None and schedule.end <= self.now:
            self._fault("/end", "in_past", "the end is past: nothing would ever run", "a later end")
        elif schedule.next_after(self.now) is not None:
            return
        elif schedule.kind == "at" and schedule.start is None and schedule.end is None:
            past = schedule.next_after(EPOCH) is not None
            code, detail = (
                ("in_past", "the time is past")
                if past
                else ("never_fires", "the clocks skip that local time, and gap is skip")
            )
            self._fault(at, code, detail, "a time in the future")
        else:
            detail = "never fires: no such day and time lies ahead" + (
                " before the end" if schedule.end is not None else ""
            )
            self._fault(at, "never_fires", detail, "a schedule with an occurrence in the future")

    def _try(self, read: Callable[..., _T], value: object, *rest: object) -> _T | None:
        try:
            return read(value, *rest)
        except Invalid as refused:
            self.faults += refused.faults
            return None

    def _fault(self, pointer: str, code: str, detail: str, accepted: str) -> None:
        self.faults.append(Fault(pointer, code, detail, accepted))


def _escape(key: object) -> str:
    return str(key)[:40].replace("~", "~0").replace("/", "~1")
