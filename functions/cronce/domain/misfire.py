"""The misfire policy: what happens to occurrences that nobody dispatched, or began, in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from cronce import limits
from cronce.domain.durations import parse_duration
from cronce.domain.errors import Fault, Invalid, Unplannable

MisfirePolicy = Literal["run_once", "skip", "run_all"]
MISFIRE_POLICIES: tuple[str, ...] = get_args(MisfirePolicy)

# A due occurrence is seen by the next tick, up to a period of 60 s later, which then takes some
# seconds to start and to read its index: below this a run would be "missed" by the mere rhythm.
MIN_GRACE = 75
MAX_GRACE = 86_400
MAX_LATE_LIMIT = 7 * 86_400
DEFAULT_WINDOW = 86_400
MAX_WINDOW = 400 * 86_400
MAX_CAP = 500
ACCEPTED = (
    'run_once, skip, run_all, or {"policy": …, "grace": "90s", "late_limit": "15m"}, and with'
    ' run_all "window": "1d", "cap": 100'
)


@dataclass(frozen=True)
class Misfire:
    """grace: seconds; due longer ago than this at the plan is late.
    late_limit: seconds, at least `grace`; first claimed later than this is judged again, by the
    worker.
    window: seconds; run_all only: how far back missed occurrences still run. None is one day.
    cap: run_all only: how many late ones fire in one visit.
    """

    policy: MisfirePolicy = "run_once"
    grace: int = limits.GRACE_DEFAULT
    late_limit: int = limits.LATE_LIMIT_DEFAULT
    window: int | None = None
    cap: int = 100

    @property
    def window_seconds(self) -> int:
        return DEFAULT_WINDOW if self.window is None else self.window

    def to_plan(self) -> dict[str, object]:
        """The map in the job's row: what is not the default."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and value != getattr(Misfire, name)
        }

    @staticmethod
    def from_plan(plan: object) -> Misfire:
        """Inverse of `to_plan`. Raises Unplannable."""
        if not isinstance(plan, Mapping):
            raise Unplannable("the misfire policy is not a map")
        try:
            return _read({name: _plain(value) for name, value in plan.items()}, "")
        except (Invalid, TypeError, ValueError, AttributeError, ArithmeticError) as broken:
            raise Unplannable(f"the misfire policy cannot be read: {broken}") from None

    def to_document(self) -> str | dict[str, object]:
        """One word when all else is default, else the object."""
        rest = self.to_plan()
        rest.pop("policy", None)
        return {"policy": self.policy, **rest} if rest else self.policy


def parse_misfire(doc: object, pointer: str = "/misfire") -> Misfire:
    """One word or an object. Raises Invalid with every fault, below `pointer`."""
    if doc is None:
        return Misfire()
    if isinstance(doc, str):
        doc = {"policy": doc}
    if not isinstance(doc, Mapping):
        raise Invalid.one(pointer, "bad_type", "neither a word nor an object", ACCEPTED)
    return _read(doc, pointer)


def _read(doc: Mapping[str, Any], at: str) -> Misfire:
    faults = [
        Fault(f"{at}/{str(key)[:40]}", "unknown_field", "no such field", ACCEPTED)
        for key in list(doc)[:20]
        if key not in vars(Misfire())
    ]
    policy = doc.get("policy", "run_once")
    if policy not in MISFIRE_POLICIES:
        accepted = ", ".join(MISFIRE_POLICIES)
        faults.append(Fault(f"{at}/policy", "unknown_value", "not a misfire policy", accepted))
    given: dict[str, Any] = {"policy": policy}
    grace = Misfire.grace
    for name, low, high in (
        ("grace", MIN_GRACE, MAX_GRACE),
        ("late_limit", 0, MAX_LATE_LIMIT),
        ("window", 0, MAX_WINDOW),
    ):
        if doc.get(name) is None:
            continue
        least = grace if name != "grace" else low
        try:
            given[name] = parse_duration(doc[name], pointer=f"{at}/{name}", low=least, high=high)
        except Invalid as refused:
            faults += [_explained(fault, name) for fault in refused.faults]
        grace = given.get("grace", grace)
    cap = doc.get("cap")
    if cap is not None and (type(cap) is not int or not 1 <= cap <= MAX_CAP):
        accepted = f"a whole number, 1 to {MAX_CAP}"
        faults.append(Fault(f"{at}/cap", "out_of_range", "not a number of runs", accepted))
    elif cap is not None:
        given["cap"] = cap
    for name in ("window", "cap"):
        if doc.get(name) is not None and policy in ("run_once", "skip"):
            detail = f"{policy} has no {name}"
            faults.append(Fault(f"{at}/{name}", "not_for_policy", detail, "with run_all only"))
    if faults:
        raise Invalid(faults)
    given.setdefault("late_limit", max(Misfire.late_limit, grace))
    return Misfire(**given)


def _explained(fault: Fault, name: str) -> Fault:
    if fault.code != "out_of_range":
        return fault
    why = {
        "grace": "; below the tick's period of 60 s and its latency, on-time runs would be missed",
        "late_limit": "; it is at least the grace",
        "window": "; it is at least the grace",
    }[name]
    return Fault(fault.pointer, fault.code, fault.detail + why, fault.accepted)


def _plain(value: object) -> object:
    """The table's numbers come as Decimal."""
    if value is None or isinstance(value, str | int):
        return value
    whole = int(cast(Any, value))
    if whole != value:
        raise ValueError(f"{value!r} is not whole")
    return whole
