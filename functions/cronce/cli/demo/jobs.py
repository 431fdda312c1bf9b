"""The demo's own list: documents for the API, and apart from them what the judge expects.

What is expected is written down by hand beside each document; nothing of cronce computes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

GRID = 5
VICTIM_AFTER = 22  # between two grid points: its worker holds nobody else's call
FAILS_TWICE = "fails-twice"
VICTIM = "victim"
TRIGGERED = "run-now"

_EAST = timezone(timedelta(hours=5, minutes=30))  # Asia/Kolkata, all the year


@dataclass(frozen=True)
class DemoJob:
    """expect: plain data for the judge, instants in seconds since 1970."""

    job_id: str
    document: dict[str, Any]
    expect: dict[str, Any] = field(default_factory=dict)


def first_instant(now: float, lead: float) -> int:
    """The first grid point that is at least ``lead`` seconds away."""
    return int((now + lead) // GRID + 1) * GRID


def demo_jobs(origin: str, first: int, seconds: int) -> list[DemoJob]:
    """Jobs whose instants lie in first .. first + seconds. first: on the grid."""
    jobs = [*_rates(origin, first, seconds), *_every_minute(origin, first, seconds)]
    jobs += _one_time(origin, first)
    jobs.append(
        _once(
            FAILS_TWICE,
            f"{origin}/fails-twice",
            first + 30,
            retry={"max_attempts": 3, "backoff": "1s", "max_backoff": "2s"},
            expect={"attempts": 3},
        )
    )
    jobs.append(_once(VICTIM, f"{origin}/held", first + VICTIM_AFTER, expect={"reclaimed": True}))
    tomorrow = _utc(first + 86_400)
    by_hand = {"kind": "triggered", "jitter": 1}  # due when asked for, named by the whole second
    jobs.append(DemoJob(TRIGGERED, _document(f"{origin}/ok", {"at": tomorrow}), by_hand))
    return jobs


def _rates(origin: str, first: int, seconds: int) -> list[DemoJob]:
    """A rate's anchor is its start, so its instants are known."""
    jobs = []
    for step, jitter in ((5, 0), (10, 0), (15, 0), (20, 3)):
        until = first + (seconds // step) * step
        schedule = {"rate": f"{step}s", "start": _utc(first), "end": _utc(until + 1)}
        if jitter:
            schedule["jitter"] = f"{jitter}s"
        expect = {
            "kind": "every",
            "anchor": first,
            "step": step,
            "until": until,
            "jitter": jitter,
        }
        name = f"every-{step}s" + ("-jittered" if jitter else "")
        jobs.append(DemoJob(name, _document(f"{origin}/ok", schedule), expect))
    return jobs


def _every_minute(origin: str, first: int, seconds: int) -> list[DemoJob]:
    """Whole minutes are whole minutes in each of these zones."""
    jobs = []
    for zone in ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"):
        schedule = {
            "cron": "* * * * *",
            "timezone": zone,
            "start": _utc(first),
            "end": _utc(first + seconds + 1),
        }
        expect = {
            "kind": "every",
            "anchor": -(-first // 60) * 60,
            "step": 60,
            "until": first + seconds,
        }
        name = f"minutely-{zone.split('/')[-1].lower().replace('_', '-')}"
        jobs.append(DemoJob(name, _document(f"{origin}/ok", schedule), expect))
    return jobs


def _one_time(origin: str, first: int) -> list[DemoJob]:
    """Several instants, two of them shared; local times with a zone, and with an offset."""
    jobs = [_once(f"once-{after:02d}", f"{origin}/ok", first + after) for after in (1, 10, 35, 50)]
    jobs += [_once(f"once-together-{n}", f"{origin}/ok", first + 40) for n in (1, 2, 3)]
    jobs.append(_once("once-slow", f"{origin}/slow", first + 45))
    wall = datetime.fromtimestamp(first + 33, _EAST)
    in_zone = {"at": f"{wall:%Y-%m-%dT%H:%M:%S}", "timezone": "Asia/Kolkata"}
    jobs.append(_at("once-in-kolkata", f"{origin}/ok", in_zone, first + 33))
    offset = {"at": datetime.fromtimestamp(first + 55, _EAST).isoformat()}
    jobs.append(_at("once-with-offset", f"{origin}/ok", offset, first + 55))
    return jobs


def _once(job_id: str, url: str, instant: int, **more: Any) -> DemoJob:
    return _at(job_id, url, {"at": _utc(instant)}, instant, **more)


def _at(
    job_id: str,
    url: str,
    schedule: dict[str, Any],
    instant: int,
    retry: dict[str, Any] | None = None,
    expect: dict[str, Any] | None = None,
) -> DemoJob:
    expected = {"kind": "once", "instants": [instant], **(expect or {})}
    return DemoJob(job_id, _document(url, schedule, retry), expected)


def _document(
    url: str, schedule: dict[str, Any], retry: dict[str, Any] | None = None
) -> dict[str, Any]:
    document = {"schedule": schedule, "target": {"http": {"url": url}}}
    return document | ({"retry": retry} if retry else {})


def _utc(instant: int) -> str:
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%SZ}"
