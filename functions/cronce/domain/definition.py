"""From what a user wrote to what is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from cronce import limits
from cronce.domain.calendar import Calendar, Holidays
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Fault, Invalid
from cronce.domain.job import DEFAULT_GROUP, Definition, make_plan
from cronce.domain.jsontree import compact, plain, pointer
from cronce.domain.labels import label_faults
from cronce.domain.meant import meant
from cronce.domain.named import named_in_document
from cronce.domain.overlap import OVERLAPS, Overlap
from cronce.domain.plan import Misfire, parse_misfire
from cronce.domain.retry import RetryPolicy, parse_retry
from cronce.domain.schedule import Schedule, parse_schedule
from cronce.domain.sizes import stored_bytes
from cronce.domain.stamps import Stamp, stamped

FIELDS = (
    "schedule",
    "target",
    "payload",
    "payload_text",
    "retry",
    "timeout",
    "misfire",
    "start_deadline",
    "overlap",
    "history",
    "pause_on_failure",
    "delete_after",
    "description",
    "tags",
    "group",
)
PAYLOADS = ("payload", "payload_text")
ANSWERED = ("id", "status")
OF_THE_SCHEDULE = ("cron", "rate", "at", "timezone", "start", "end", "jitter", "calendar", "dst")

START_DEADLINE = (1, 30 * 86_400)
# What a job row holds beside its plan: keys, ids, times, with an id and a group of full length.
ROW_REST = 560
PLAN_BYTES = limits.JOB_ROW_BYTES - ROW_REST
# What planning adds to a plan, at its longest.
LONGEST_STAMP = Stamp(offset=-12 * 3600)

_T = TypeVar("_T")


@dataclass(frozen=True)
class JobSpec:
    """A valid request. `definition.document` is it as written, without payload: no default is
    filled in, so that what is read again is what was sent."""

    schedule: Schedule
    misfire: Misfire
    definition: Definition
    group: str = DEFAULT_GROUP


@dataclass(frozen=True)
class Payload:
    """text: JSON, compact, numbers as written; or the text of `payload_text`, byte for byte."""

    text: str
    is_json: bool = True

    @property
    def size(self) -> int:
        """Bytes of UTF-8."""
        return len(self.text.encode())


FindCalendar = Callable[[str], Calendar | None]
# The faults of a target; pointers relative to it.
CheckTarget = Callable[[object], list[Fault]]
# The faults of a payload (its text or None, whether it is JSON) for a valid target; pointers
# relative to the payload.
CheckPayload = Callable[[Mapping[str, object], str | None, bool], list[Fault]]


def _any_payload(target: Mapping[str, object], payload: str | None, is_json: bool) -> list[Fault]:
    return []


def parse_job(
    doc: object,
    *,
    now: datetime,
    anchor: datetime,
    check_target: CheckTarget,
    check_payload: CheckPayload = _any_payload,
    holidays: Holidays | None = None,
    find_calendar: FindCalendar | None = None,
) -> JobSpec:
    """What a job document says, or Invalid with every fault in it.

    doc: as `jsontext.parse` returns it. now: what would never fire after it is refused.
    anchor: of a rate without `start`. holidays: resolves those of a country to dates.
    find_calendar: the named one, asked only where a schedule names one.
    """
    if not isinstance(doc, dict):
        raise Invalid.one("", "wrong_type", "a job is not an object", "an object")

    def read_schedule(value: object) -> Schedule:
        name = named_in_document(value)
        calendar = find_calendar(name) if name and find_calendar else None
        return parse_schedule(value, now=now, anchor=anchor, holidays=holidays, calendar=calendar)

    reader = _Reader(doc)
    spec = reader.read(read_schedule, check_target, check_payload)
    if spec is None:
        raise Invalid(reader.faults)
    return spec


class _Reader:
    """Collects the faults of one document."""

    def __init__(self, doc: Mapping[str, Any]) -> None:
        self.payload_fields = [name for name in PAYLOADS if name in doc]
        self.raw = doc
        self.doc = {n: plain(doc[n]) for n in FIELDS if n in doc and n not in PAYLOADS}
        self.faults: list[Fault] = [_unknown(name) for name in doc if name not in FIELDS][:20]

    def read(
        self,
        read_schedule: Callable[[object], Schedule],
        check_target: CheckTarget,
        check_payload: CheckPayload,
    ) -> JobSpec | None:
        schedule = self._schedule(read_schedule)
        misfire = self._parsed("misfire", parse_misfire, Misfire())
        payload = self._payload()
        target = self._target(check_target, check_payload, payload)
        definition = Definition(
            document=self.doc,
            target=target,
            payload=payload.text if payload else None,
            payload_is_json=payload.is_json if payload else True,
            retry=self._parsed("retry", parse_retry, RetryPolicy()),
            timeout=self._duration("timeout", limits.TIMEOUT) or limits.TIMEOUT_DEFAULT,
            overlap=self._overlap(),
            start_deadline=self._duration("start_deadline", START_DEADLINE),
            history=self._duration("history", limits.HISTORY) or limits.HISTORY_DEFAULT,
            pause_on_failure=self._pause_on_failure(),
            delete_after=self._delete_after(schedule),
        )
        self.faults += label_faults(self.doc)
        if not self.faults and schedule and misfire:
            self._sizes(schedule, misfire)
        if self.faults or schedule is None or misfire is None:
            return None
        return JobSpec(schedule, misfire, definition, self.doc.get("group", DEFAULT_GROUP))

    # --- fields

    def _schedule(self, read: Callable[[object], Schedule]) -> Schedule | None:
        if self._missing("schedule", "an object, or a string such as rate(5 minutes)"):
            return None
        try:
            return read(self.doc["schedule"])
        except Invalid as e:
            self.faults += [fault.under("/schedule") for fault in e.faults]
            return None

    def _target(
        self, check_target: CheckTarget, check_payload: CheckPayload, payload: Payload | None
    ) -> Mapping[str, object]:
        if self._missing("target", "an object with one key, the kind"):
            return {}
        target = self.doc["target"]
        faults = [fault.under("/target") for fault in check_target(target)]
        if not faults:
            text, is_json = (payload.text, payload.is_json) if payload else (None, True)
            at = "/payload" if is_json else "/payload_text"
            faults = [fault.under(at) for fault in check_payload(target, text, is_json)]
        self.faults += faults
        return target if isinstance(target, Mapping) else {}

    def _payload(self) -> Payload | None:
        if len(self.payload_fields) == 2:
            detail = "a job has a payload or a payload_text, not both"
            self._fault("/payload_text", "exclusive", detail, "one of payload, payload_text")
            return None
        if not self.payload_fields:
            return None
        [name] = self.payload_fields
        value = self.raw[name]
        if name == "payload_text" and type(value) is not str:
            self._fault("/payload_text", "wrong_type", "not a string", "a string")
            return None
        payload = Payload(value, False) if name == "payload_text" else Payload(compact(value))
        if payload.size > limits.PAYLOAD_BYTES:
            detail = f"the payload has {payload.size} bytes as it is sent"
            self._fault(f"/{name}", "too_large", detail, f"at most {limits.PAYLOAD_BYTES} bytes")
        return payload

    def _overlap(self) -> Overlap:
        value = self.doc.get("overlap", "allow")
        if value not in OVERLAPS:
            detail = f"{_shown(value)} is no policy"
            self._fault("/overlap", "unknown_value", detail, ", ".join(OVERLAPS))
        return cast(Overlap, value)

    def _sizes(self, schedule: Schedule, misfire: Misfire) -> None:
        size = len(json.dumps(self.doc, ensure_ascii=False).encode())
        if size > limits.DOCUMENT_BYTES:
            accepted = f"at most {limits.DOCUMENT_BYTES} bytes without the payload"
            self._fault("", "too_large", f"the job has {size} bytes", accepted)
        size = stored_bytes(stamped(make_plan(schedule, misfire), LONGEST_STAMP))
        if size > PLAN_BYTES:
            detail = f"the schedule takes {size} bytes in the table, mostly for its calendar"
            self._fault("/schedule", "too_large", detail, f"at most {PLAN_BYTES} bytes")

    def _pause_on_failure(self) -> int | None:
        if "pause_on_failure" not in self.doc:
            return None
        value, (low, high) = self.doc["pause_on_failure"], limits.PAUSE_ON_FAILURE
        if type(value) is int and low <= value <= high:
            return value
        accepted = f"a whole number of failed runs in a row, {low} to {high}"
        detail = f"{_shown(value)} is not accepted"
        self._fault("/pause_on_failure", "out_of_range", detail, accepted)
        return None

    def _delete_after(self, schedule: Schedule | None) -> int | None:
        value = self._duration("delete_after", limits.DELETE_AFTER)
        if value is not None and schedule is not None and not schedule.has_an_end:
            accepted = "with an at, an end or max_runs in the schedule"
            self._fault("/delete_after", "never_ends", "the schedule has no end", accepted)
        return value

    # --- how they are read

    def _missing(self, name: str, accepted: str) -> bool:
        if name in self.doc:
            return False
        self._fault(f"/{name}", "missing_field", f"{name} is required", accepted)
        return True

    def _parsed(self, name: str, parse: Callable[[object, str], _T], default: _T) -> _T:
        if name not in self.doc:
            return default
        if self.doc[name] is None:
            self._fault(f"/{name}", "wrong_type", "null says nothing", "leave it out, or a value")
            return default
        try:
            return parse(self.doc[name], f"/{name}")
        except Invalid as e:
            self.faults += e.faults
            return default

    def _duration(self, name: str, bounds: tuple[int, int]) -> int | None:
        def parse(value: object, at: str) -> int | None:
            return parse_duration(value, pointer=at, low=bounds[0], high=bounds[1])

        return self._parsed(name, parse, None)

    def _fault(self, at: str, code: str, detail: str, accepted: str) -> None:
        self.faults.append(Fault(at, code, detail, accepted))


def _unknown(name: str) -> Fault:
    at = pointer(name[:80])
    if name in ANSWERED:
        detail = f"{name} belongs to the answer of GET, not to the document"
        return Fault(at, "answer_only", detail, f"the document without {' and '.join(ANSWERED)}")
    if name in OF_THE_SCHEDULE:
        return Fault(at, "unknown_field", f"{name} stands inside schedule", f"/schedule/{name}")
    detail = f"a job has no field {name!r:.80}{meant(name, FIELDS)}"
    return Fault(at, "unknown_field", detail, ", ".join(FIELDS))


def _shown(value: object) -> str:
    return f"{value!r:.60}"
