"""One field of a cron expression: read once, into a set of numbers.

    element  = ("*" | value | value "-" value) ["/" step]
    month    also JAN … DEC; weekday also SUN … SAT
    day      also L, L-n, LW, nW, ?          weekday  also L, nL, n#k, ?

A range whose ends are equal is that one value. A range that goes down wraps around the end of
the field (FRI-MON, 22-2) and keeps its step while doing so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from cronce.domain.errors import Fault

_NUMBER = re.compile(r"[0-9]{1,4}")
_HASHED = re.compile(r"[HR](\(.*\))?(/.*)?")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True)
class Field:
    """What one field accepts. `cycle`: how many different values there are from `low` on."""

    name: str
    low: int
    high: int
    accepted: str
    names: tuple[str, ...] = ()
    cycle: int = 0
    wraps: bool = True
    strict_steps: bool = False  # a step that can never apply is refused

    @property
    def open_end(self) -> int:
        """Where `*` and `n/step` end; differs from `high` where Sunday is both 0 and 7."""
        return self.low + self.cycle - 1 if self.cycle else self.high


_LIST = "with , - and /"
SECOND = Field("second", 0, 59, f"0-59 or *, {_LIST}")
MINUTE = Field("minute", 0, 59, f"0-59 or *, {_LIST}")
HOUR = Field("hour", 0, 23, f"0-23 or *, {_LIST}")
DAY = Field("day-of-month", 1, 31, f"1-31, * or ?, {_LIST}, L, L-n, LW, nW")
MONTH = Field("month", 1, 12, f"1-12, JAN-DEC or *, {_LIST}", _MONTHS)
WEEKDAY = Field(
    "day-of-week", 0, 7, f"0-7 or SUN-SAT (0 and 7 are Sunday), * or ?, {_LIST}, L, nL, n#k",
    _WEEKDAYS, cycle=7,
)  # fmt: skip
AWS_MINUTE = Field("minute", 0, 59, f"0-59 or *, {_LIST}", strict_steps=True)
AWS_HOUR = Field("hour", 0, 23, f"0-23 or *, {_LIST}", strict_steps=True)
AWS_DAY = Field(
    "day-of-month", 1, 31, f"1-31, * or ?, {_LIST}; or one of L, LW, nW", strict_steps=True
)
AWS_MONTH = Field("month", 1, 12, f"1-12, JAN-DEC or *, {_LIST}", _MONTHS, strict_steps=True)
AWS_WEEKDAY = Field(
    "day-of-week", 1, 7, "1-7 or SUN-SAT (1 is Sunday), * or ?, with , and -; or one of L, nL, n#k",
    _WEEKDAYS, strict_steps=True,
)  # fmt: skip
AWS_YEAR = Field("year", 1970, 2199, f"1970-2199 or *, {_LIST}", wraps=False)


class Refused(Exception):
    """An element that the field does not accept."""

    def __init__(self, code: str, detail: str, accepted: str = "") -> None:
        super().__init__(detail)
        self.code, self.detail, self.accepted = code, detail, accepted


@dataclass
class FieldValues:
    """values: the plain numbers. unrestricted: it is `*` or `?`.
    stepped: it holds `*` or `/`. The rest are the special day elements, as in `DayRule`."""

    values: set[int] = dataclass_field(default_factory=set)
    unrestricted: bool = False
    stepped: bool = False
    question: bool = False
    from_last: set[int] = dataclass_field(default_factory=set)
    nearest: set[int] = dataclass_field(default_factory=set)
    last_workday: bool = False
    nth: set[tuple[int, int]] = dataclass_field(default_factory=set)
    last_of: set[int] = dataclass_field(default_factory=set)


def read_field(text: str, field: Field, where: str, faults: list[Fault]) -> FieldValues:
    """The values of one field; what is wrong goes to `faults`. `where`: "field 2 of 5"."""
    found = FieldValues(unrestricted=text == "*", stepped="*" in text or "/" in text)
    if text == "?" and field.name.startswith("day-"):
        found.unrestricted = found.question = True
        return found
    elements = text.split(",")
    for element in elements:
        try:
            _read_element(element, field, len(elements) == 1, found)
        except Refused as refused:
            detail = f"{field.name} ({where}): {refused.detail}"
            faults.append(Fault("", refused.code, detail, refused.accepted or field.accepted))
    return found


def _read_element(element: str, field: Field, alone: bool, found: FieldValues) -> None:
    if not element:
        raise Refused("bad_field", "an element of the list is empty")
    if _HASHED.fullmatch(element):
        raise Refused(
            "hashed_field", "hashed and random fields are not supported", "a number; or `jitter`"
        )
    if _read_special(element, field, alone, found):
        return
    body, slash, step_text = element.partition("/")
    if slash and field is AWS_WEEKDAY:
        raise Refused("bad_step", "EventBridge takes no step here")
    step = _step(step_text, field) if slash else 1
    if body == "*":
        found.values.update(range(field.low, field.open_end + 1, step))
        return
    first, dash, last = body.partition("-")
    start = _number(first, field)
    if dash:
        found.values.update(_range(start, _number(last, field), step, field))
    elif slash:
        found.values.update(range(start, max(start, field.open_end) + 1, step))
    else:
        found.values.add(start)


def _range(start: int, end: int, step: int, field: Field) -> Iterator[int]:
    if start <= end:
        return iter(range(start, end + 1, step))
    if not field.wraps:
        raise Refused("bad_range", f"{start}-{end} ends before it begins")
    size = field.open_end - field.low + 1
    return ((n - field.low) % size + field.low for n in range(start, end + size + 1, step))


def _number(text: str, field: Field) -> int:
    if _NUMBER.fullmatch(text):
        n = int(text)
        if field.low <= n <= field.high:
            return n
        hint = "; the last day is L" if field.name == "day-of-month" and n in (0, 32) else ""
        raise Refused("out_of_range", f"{text} is outside {field.low}-{field.high}{hint}")
    if text.isdigit():
        raise Refused("out_of_range", f"{text[:12]}… is outside {field.low}-{field.high}")
    if text in field.names:
        return field.names.index(text) + (1 if field.low == 1 else 0)
    if text[:3] in field.names:
        raise Refused("unknown_name", f"{text[:20]!r} is not a name", f"{text[:3]}, in 3 letters")
    raise Refused("bad_field", f"{text[:20]!r} is not a value")


def _step(text: str, field: Field) -> int:
    if not _NUMBER.fullmatch(text):
        raise Refused(
            "bad_step", f"the step {text[:20]!r} is not a number", "a whole number from 1"
        )
    step = int(text)
    if step < 1:
        raise Refused("bad_step", "the step must be at least 1", "a whole number from 1")
    if field.strict_steps and step > field.high:
        raise Refused("bad_step", f"the step {step} can never apply", f"1-{field.high}")
    return step


def _read_special(element: str, field: Field, alone: bool, found: FieldValues) -> bool:
    """Whether the element is one of the special forms of a day field."""
    if field.name == "day-of-month":
        special = _special_day(element, field, found)
    elif field.name == "day-of-week":
        special = _special_weekday(element, field, found)
    else:
        return False
    if special and not alone and field in (AWS_DAY, AWS_WEEKDAY):
        raise Refused("bad_field", f"EventBridge takes {element} only by itself")
    return special


def _special_day(element: str, field: Field, found: FieldValues) -> bool:
    if element == "L":
        found.from_last.add(0)
    elif element == "LW":
        found.last_workday = True
    elif element.startswith("L-"):
        if field is AWS_DAY:
            raise Refused("bad_field", "EventBridge does not know L-n")
        if not _NUMBER.fullmatch(element[2:]) or not 1 <= int(element[2:]) <= 30:
            raise Refused("out_of_range", f"{element[:12]!r} is not a day", "L-1 to L-30")
        found.from_last.add(int(element[2:]))
    elif element.endswith("W") and element[:-1].isdigit():
        found.nearest.add(_number(element[:-1], field))
    else:
        return False
    return True


def _special_weekday(element: str, field: Field, found: FieldValues) -> bool:
    base, hash_, k = element.partition("#")
    if hash_:
        if not _NUMBER.fullmatch(k) or not 1 <= int(k) <= 5:
            raise Refused("out_of_range", f"{element[:12]!r} names no week", "n#1 to n#5")
        found.nth.add((_weekday(base, field), int(k)))
    elif element == "L":
        found.values.add(field.low + 6)  # the last day of the week is Saturday
    elif element.endswith("L") and element[:-1] in (*field.names, *"01234567"):
        found.last_of.add(_weekday(element[:-1], field))
    elif element.startswith("L") and element[1:] in (*field.names, *"01234567"):
        raise Refused("bad_field", f"{element!r} is not a value", f"{element[1:]}L")
    else:
        return False
    return True


def _weekday(text: str, field: Field) -> int:
    """0 is Sunday, in either numbering."""
    return (_number(text, field) - (0 if field.cycle else 1)) % 7
