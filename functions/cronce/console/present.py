"""How values are shown: times, spans, statuses. Every function takes what the API answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from cronce.adapters.system import SystemClock
from cronce.operate.story import shown_span

# Each status has a shape and a word of its own; colour only repeats them.
TONES = {
    "active": "good",
    "succeeded": "good",
    "running": "busy",
    "pending": "quiet",
    "retrying": "wary",
    "paused": "wary",
    "skipped": "wary",
    "missed": "wary",
    "late": "bad",
    "failed": "bad",
    "error": "bad",
    "timed_out": "bad",
    "lost": "bad",
    "cancelled": "quiet",
    "ended": "quiet",
}
OPEN = ("pending", "running", "retrying")
BAD_ENDS = ("failed", "skipped", "missed")
ENDS = ("succeeded", "failed", "skipped", "missed", "cancelled")


@dataclass(frozen=True)
class Times:
    """zone: of the person who looks; None is this machine's own."""

    zone: tzinfo | None = None

    def local(self, at: datetime) -> datetime:
        return at.astimezone(self.zone)

    @property
    def name(self) -> str:
        """Such as CET, or UTC+01:00."""
        here = self.local(SystemClock().now())
        return here.tzname() or "local time"

    def clock(self, text: str | None, now: datetime | None = None) -> str:
        """`10:05:00`, with the day unless it is that of `now`.

        >>> from datetime import UTC
        >>> Times(UTC).clock("2026-11-30T10:05:00Z", instant("2026-11-30T23:00:00Z"))
        '10:05:00'
        >>> Times(UTC).clock("2026-11-30T10:05:00.250Z")
        '30 Nov 10:05:00'
        """
        if not text:
            return ""
        at = self.local(instant(text))
        if now is not None and at.date() == self.local(now).date():
            return f"{at:%H:%M:%S}"
        year = "" if now is None or at.year == self.local(now).year else f" {at:%Y}"
        return f"{at.day} {at:%b}{year} {at:%H:%M:%S}"

    def minute(self, at: datetime) -> str:
        return f"{self.local(at):%H:%M}"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def distance(text: str | None, now: datetime) -> str:
    """
    >>> distance("2026-11-30T10:05:00Z", instant("2026-11-30T10:00:00Z"))
    'in 5 min'
    >>> distance("2026-11-30T09:57:30Z", instant("2026-11-30T10:00:00Z"))
    '2 min ago'
    """
    if not text:
        return ""
    seconds = (instant(text) - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    span = shown_span(round(abs(seconds)))
    rough = span if abs(seconds) < 60 else " ".join(span.split()[:2])
    return f"in {rough}" if seconds > 0 else f"{rough} ago"


def lateness(run: dict[str, Any]) -> float | None:
    """Seconds from when a run might start to when its first attempt did; None where that is not
    known."""
    attempts = run.get("attempts") or []
    if attempts and attempts[0]["attempt"] == 1:
        started = attempts[0]["started_at"]
    else:
        started = run.get("started_at") if run.get("attempt") == 1 else None
    if not started:
        return None
    start = run.get("held_until") or run["due"]
    return max(0.0, (instant(started) - instant(start)).total_seconds())


def late_text(run: dict[str, Any]) -> str:
    late = lateness(run)
    return "" if late is None else shown_span(late)


def took(run: dict[str, Any]) -> str:
    """Of the latest attempt."""
    if run.get("status") not in ("succeeded", "failed") or not run.get("started_at"):
        return ""
    ended = run.get("finished_at")
    return (
        shown_span((instant(ended) - instant(run["started_at"])).total_seconds()) if ended else ""
    )


def tone(status: str) -> str:
    return TONES.get(status, "quiet")


def schedule_words(schedule: dict[str, Any] | str | None) -> str:
    """One line: what it was written as, and its zone."""
    if not isinstance(schedule, dict):
        return schedule or "cannot be read"
    kind = next((name for name in ("cron", "rate", "at") if name in schedule), "")
    value = schedule.get(kind, "")
    if kind == "rate":
        return str(value) if str(value).startswith("rate(") else f"every {value}"
    prefix = "at " if kind == "at" else ""
    return f"{prefix}{value}"


def zone_of(schedule: dict[str, Any] | str | None) -> str:
    if not isinstance(schedule, dict) or "rate" in schedule:
        return ""
    return str(schedule.get("timezone") or "")


def target_words(target: Any) -> str:
    """The kind and where it goes."""
    from cronce.console.redact import url

    if not isinstance(target, dict) or not target:
        return ""
    kind, config = next(iter(target.items()))
    if not isinstance(config, dict):
        return str(kind)
    place = next((v for v in config.values() if isinstance(v, str) and ":" in v), "")
    return f"{kind} {url(place) if place.startswith('http') else place}".strip()


def ago(now: datetime, **span: float) -> str:
    """An instant as the API takes it."""
    return (now - timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")
