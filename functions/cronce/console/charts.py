"""What charts show, as numbers that templates draw: no library, no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from cronce.console.present import ENDS, Times, instant, lateness, tone
from cronce.domain.record import LATENESS, LATER, late_within
from cronce.operate.story import shown_span

MOST_ROWS = 40
# Closer than this, in seconds of an hour, marks would run into each other.
DENSE = 45


@dataclass(frozen=True)
class Bar:
    """share: of the largest, in percent of the chart. part: of all, in whole percent."""

    label: str
    count: int
    share: float
    part: int
    tone: str = "good"


@dataclass(frozen=True)
class Segment:
    """x, width: in percent."""

    status: str
    count: int
    x: float
    width: float
    tone: str


@dataclass(frozen=True)
class Column:
    """One hour. segments: from the bottom up; their x is y here."""

    label: str
    runs: int
    failed: int
    segments: Sequence[Segment]
    title: str


@dataclass(frozen=True)
class Row:
    """One job of the timeline. marks: seconds from now. band: (from, to), where marks would be too
    close to each other."""

    job_id: str
    total: int
    first: str
    marks: Sequence[float]
    band: tuple[float, float] | None
    dispatched: int
    words: str


@dataclass(frozen=True)
class Timeline:
    rows: Sequence[Row]
    seconds: int
    ticks: Sequence[str]
    hidden: int


def timeline(coming: Mapping[str, Any], times: Times) -> Timeline:
    now, until = instant(coming["now"]), instant(coming["until"])
    length = max(60, round((until - now).total_seconds()))
    rows = [_row(job, now, length, times) for job in coming["jobs"][:MOST_ROWS]]
    ticks = [times.minute(now + timedelta(seconds=length * n / 4)) for n in range(5)]
    return Timeline(rows, length, ticks, max(0, len(coming["jobs"]) - MOST_ROWS))


def _row(job: Mapping[str, Any], now: datetime, length: int, times: Times) -> Row:
    runs = job["occurrences"]
    at = sorted(max(0.0, (instant(run["due"]) - now).total_seconds()) for run in runs)
    listed_all = job["total"] <= len(runs)
    gaps = [later - earlier for earlier, later in pairwise(at)]
    dense = len(at) > 12 and sorted(gaps)[len(gaps) // 2] < DENSE * length / 3600
    band = None
    if dense:
        band = (at[0], at[-1] if listed_all else float(length))
    first = times.clock(min(run["due"] for run in runs), now)
    words = f"{job['total']} run{'s' if job['total'] != 1 else ''}, the first at {first}"
    return Row(
        job_id=job["job_id"],
        total=job["total"],
        first=first,
        marks=() if dense else tuple(round(x, 1) for x in at),
        band=band,
        dispatched=sum(bool(run["dispatched"]) for run in runs),
        words=words,
    )


def histogram(counts: Mapping[str, int]) -> list[Bar]:
    """Of lateness, by bound in milliseconds; [] where nothing was counted."""
    whole, largest = sum(counts.values()), max(counts.values(), default=0)
    if not whole:
        return []
    bars = []
    lower = 0
    for bound in (*map(str, LATENESS), LATER):
        if bound == LATER:
            label = f"over {shown_span(lower / 1000)}"
        else:
            label = f"up to {shown_span(int(bound) / 1000)}"
            lower = int(bound)
        count = counts.get(bound, 0)
        shade = "good" if bound in ("100", "250", "500", "1000") else "wary"
        bars.append(
            Bar(
                label,
                count,
                round(100 * count / largest, 1),
                round(100 * count / whole),
                "bad" if bound in ("60000", LATER) else shade,
            )
        )
    while bars and bars[-1].count == 0 and len(bars) > 4:
        bars.pop()
    return bars


def lateness_of(runs: Iterable[dict[str, Any]]) -> dict[str, int]:
    """By bound, of the runs whose first attempt is known."""
    counts: dict[str, int] = {}
    origin = datetime.min
    for run in runs:
        late = lateness(run)
        if late is not None:
            bound = late_within(origin, origin + timedelta(seconds=late))
            counts[bound] = counts.get(bound, 0) + 1
    return counts


def segments(outcomes: Mapping[str, int], whole: int | None = None) -> list[Segment]:
    """Side by side, in the order of the closed list; the whole is their sum by default."""
    total = whole or sum(outcomes.get(status, 0) for status in ENDS)
    found, x = [], 0.0
    for status in ENDS:
        count = outcomes.get(status, 0)
        if count:
            width = 100 * count / total
            found.append(Segment(status, count, round(x, 3), round(width, 3), tone(status)))
            x += width
    return found


def columns(overview: Mapping[str, Any], times: Times) -> list[Column]:
    """One for each hour of the range, empty ones too."""
    known = {instant(hour["at"]): hour for hour in overview["hours"]}
    first = instant(overview["from"]).replace(minute=0, second=0, microsecond=0)
    last = instant(overview["to"])
    largest = max((max(_ended(h), h["runs"]) for h in known.values()), default=1) or 1
    found = []
    for n in range(int((last - first).total_seconds() // 3600) + 1):
        at = first + timedelta(hours=n)
        hour = known.get(at, {"runs": 0, "outcomes": {}})
        outcomes = hour["outcomes"]
        failed = outcomes.get("failed", 0)
        label = times.minute(at)
        parts = [f"{count} {status}" for status, count in outcomes.items()]
        title = f"{label}: {hour['runs']} dispatched" + (f", {', '.join(parts)}" if parts else "")
        found.append(Column(label, hour["runs"], failed, segments(outcomes, largest), title))
    return found


def _ended(hour: Mapping[str, Any]) -> int:
    return sum(hour["outcomes"].values())
