"""Reading back what lies in a job's row: typed, and Unplannable for anything unexpected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, cast

from cronce.domain.calendar import ON_EXCLUDED, Calendar, OnExcluded
from cronce.domain.errors import Unplannable


def whole(value: object) -> int:
    """The table's numbers come as Decimal. Raises TypeError for anything but a whole number."""
    if isinstance(value, Decimal) and value == int(value):
        return int(value)
    raise TypeError(f"{type(value).__name__} is not a plain value")


class Fields:
    """Typed reads of a stored map; anything unexpected is Unplannable."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._plan = plan

    def text(self, name: str) -> str:
        return cast(str, self._typed(name, lambda v: isinstance(v, str), required=True))

    def flag(self, name: str) -> bool:
        return bool(self._typed(name, lambda v: isinstance(v, bool)))

    def whole(self, name: str, low: int) -> int | None:
        def fits(value: object) -> bool:
            return type(value) is int and low <= value < 2**40

        return cast(int | None, self._typed(name, fits))

    def word(self, name: str, words: tuple[str, ...]) -> str | None:
        return cast(str | None, self._typed(name, lambda v: v in words))

    def _typed(
        self, name: str, fits: Callable[[object], bool], *, required: bool = False
    ) -> object:
        if name not in self._plan and not required:
            return None
        value = self._plan.get(name)
        if not fits(value):
            raise Unplannable(f"the plan's {name} cannot be read: {str(value)[:60]!r}")
        return value


def calendar_to_plan(calendar: Calendar) -> dict[str, object]:
    if calendar.name is not None:
        named: dict[str, object] = {"name": calendar.name, "version": calendar.version or 0}
        return named | ({"on": calendar.chosen} if calendar.chosen else {})
    plan: dict[str, object] = {"on": calendar.on_excluded}
    if calendar.weekends:
        plan["weekends"] = True
    for name, dates in (("dates", calendar.dates), ("holidays", calendar.holiday_dates)):
        if dates:
            plan[name] = sorted(dates)
    if calendar.holidays is not None:
        plan["of"] = [part for part in calendar.holidays if part is not None]
    return plan


def calendar_from_plan(value: object, named: Calendar | None) -> Calendar | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unplannable("the plan's calendar is not a map")
    if "name" in value:
        if named is None or named.name != value["name"]:
            raise Unplannable(f"the calendar {str(value['name'])[:64]!r} is not there")
        chosen = Fields(value).word("on", ON_EXCLUDED)
        return named.choosing(cast(OnExcluded | None, chosen))
    field = Fields(value)
    of = value.get("of")
    if field.word("on", ON_EXCLUDED) is None or not (
        of is None or (isinstance(of, list) and len(of) in (1, 2))
    ):
        raise Unplannable("the plan's calendar cannot be read")
    return Calendar(
        dates=_day_set(value.get("dates", [])),
        weekends=field.flag("weekends"),
        on_excluded=value["on"],
        holidays=None if of is None else (str(of[0]), str(of[1]) if len(of) > 1 else None),
        holiday_dates=_day_set(value.get("holidays", [])),
    )


def _day_set(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(day) is int for day in value):
        raise Unplannable("the plan's calendar holds something else than days")
    return frozenset(value)
