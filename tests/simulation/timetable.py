"""When a job is due, by arithmetic of its own: what the planner says is compared with this.

Only what the simulation's jobs use: a rate with its anchor, one instant, and crons of the forms
`* * * * *`, `*/n * * * *` and `m * * * *` in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Timetable:
    """Occurrences as whole seconds since 1970."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.jitter = int(plan.get("jitter", 0))
        self._end = plan.get("end")
        self._once: int | None = None
        self._period = self._anchor = 0
        self._not_before = 0
        if "rate" in plan:
            self._period, self._anchor = int(plan["rate"]), int(plan["anchor"])
            self._not_before = self._anchor
        elif "at" in plan:
            text = str(plan["at"]).replace("Z", "+00:00")
            self._once = int((datetime.fromisoformat(text) - EPOCH).total_seconds())
        else:
            self._period, self._anchor = _cron(str(plan["cron"]))

    def within(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Those in (after, until], in order."""
        low = (after - EPOCH) // timedelta(seconds=1)
        high = (until - EPOCH) // timedelta(seconds=1)
        if self._end is not None:
            high = min(high, int(self._end))
        if self._once is not None:
            if low < self._once <= high:
                yield EPOCH + timedelta(seconds=self._once)
            return
        at = self._anchor + ((low - self._anchor) // self._period + 1) * self._period
        while at <= high:
            if at >= self._not_before:
                yield EPOCH + timedelta(seconds=at)
            at += self._period

    def has(self, at: datetime) -> bool:
        return any(True for _ in self.within(at - timedelta(seconds=1), at))


def _cron(expression: str) -> tuple[int, int]:
    """Period and anchor."""
    minute, *rest = expression.split()
    assert rest == ["*"] * 4, expression
    if minute == "*":
        return 60, 0
    if minute.startswith("*/"):
        every = int(minute[2:])
        assert 60 % every == 0, expression
        return every * 60, 0
    return 3600, int(minute) * 60
