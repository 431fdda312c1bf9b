"""What a seed means: which jobs, which trouble, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from cronce.domain.definition import JobSpec
from cronce.domain.instants import to_api
from cronce.domain.job import Definition
from cronce.domain.misfire import Misfire
from cronce.domain.retry import RetryPolicy
from cronce.domain.schedule import parse_schedule

from .faults import CELLS, CRASH_AFTER, CRASH_BEFORE, KINDS
from .kernel import START

MINUTE = 60_000
PROFILES = ("calm", "kills", "purges", "ticks", "outage", "edits", "storm")
# Of twelve seeds in a row, one each of the exact ones; the others meet everything.
_TURN = (*PROFILES, "outage", "edits", "storm", "storm", "storm")


@dataclass(frozen=True)
class Draft:
    """A job as a user would write it. target: how often each attempt goes which way."""

    schedule: Mapping[str, object]
    misfire: Misfire = field(default_factory=Misfire)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: int = 20
    start_deadline: int | None = None
    overlap: str = "allow"
    fate: str = "mixed"

    def parse(self, now: datetime, anchor: datetime) -> JobSpec:
        schedule = parse_schedule(self.schedule, now=now, anchor=anchor)
        definition = Definition(
            document={"schedule": self.schedule, "timeout": self.timeout, "fate": self.fate},
            target={"simulated": {"fate": self.fate}},
            retry=self.retry,
            timeout=self.timeout,
            overlap=self.overlap,  # type: ignore[arg-type]
            start_deadline=self.start_deadline,
        )
        return JobSpec(schedule, self.misfire, definition)


@dataclass(frozen=True)
class Scenario:
    """Times in milliseconds. trouble: how long things go wrong; calm: how long they may take to
    come right. lag: how old an eventually consistent read may be. users: mean time between what
    users do; chaos: mean time between what befalls queue and processes; 0 is never.
    off: when no tick comes, and no worker. busy: something is always visible in the queue."""

    seed: int
    profile: str
    jobs: tuple[Draft, ...]
    trouble: int
    calm: int = 50 * MINUTE
    rate: float = 0.0
    kinds: tuple[str, ...] = KINDS
    focus: tuple[str, str] | None = None
    slow: float = 0.0
    lag: int = 0
    users: int = 0
    chaos: int = 0
    leaderless: bool = False
    busy: bool = False
    ticks_off: tuple[int, int] = (0, 0)
    workers_off: tuple[int, int] = (0, 0)
    lost_ticks: float = 0.0

    @property
    def exact(self) -> bool:
        """So little goes wrong that the time it takes to recover can be held to the promise."""
        return self.profile in ("calm", "kills", "purges", "ticks")


def scenario(seed: int) -> Scenario:
    rng = Random(seed * 7919 + 1)
    profile = _TURN[seed % len(_TURN)]
    basic = Scenario(
        seed,
        profile,
        tuple(draft(rng, gentle=profile in PROFILES[:4]) for _ in range(rng.randint(1, 3))),
        trouble=rng.randint(8, 14) * MINUTE,
        calm=50 * MINUTE,
    )
    steady = replace(draft(rng, gentle=True), schedule={"rate": rng.choice((60, 90, 120))})
    basic = replace(basic, jobs=(steady, *basic.jobs))
    if profile == "calm":
        return basic
    if profile == "kills":
        return replace(basic, chaos=100_000)
    if profile == "purges":
        return replace(basic, chaos=150_000)
    if profile == "ticks":
        return replace(basic, lost_ticks=1.0)
    return _troubled(basic, rng)


def _troubled(s: Scenario, rng: Random) -> Scenario:
    s = replace(
        s,
        rate=rng.choice((0.0, 0.004, 0.01, 0.03)),
        kinds=rng.choice((KINDS, KINDS, (CRASH_BEFORE, CRASH_AFTER), KINDS[2:])),
        focus=CELLS[(s.seed * 5 + s.seed // len(CELLS)) % len(CELLS)],
        slow=rng.choice((0.0, 0.0, 0.01, 0.03)),
        lag=rng.choice((0, 0, 2_000, 8_000)),
        users=rng.choice((60_000, 120_000)),
        chaos=rng.choice((30_000, 60_000, 120_000)),
        leaderless=rng.random() < 0.5,
        busy=rng.random() < 0.3,
        lost_ticks=rng.choice((0.0, 0.1, 0.3)),
    )
    if s.profile == "edits":
        return replace(s, users=15_000)
    if s.profile == "outage":
        begin = rng.randint(2, 6) * MINUTE
        length = rng.choice((4, 6, 12, 25)) * MINUTE
        other = rng.randint(0, 4) * MINUTE
        s = replace(s, trouble=begin + length + 6 * MINUTE)
        ticks, workers = rng.choice(((1, 0), (0, 1), (1, 1)))
        return replace(
            s,
            ticks_off=(begin, begin + length) if ticks else (0, 0),
            workers_off=(begin + other, begin + other + length) if workers else (0, 0),
        )
    return s


def draft(rng: Random, *, gentle: bool = False) -> Draft:
    """gentle: quick targets, nothing that may be late by its own fault."""
    policy = rng.choice(("run_once", "run_once", "skip", "run_all"))
    misfire = Misfire(
        policy=policy,  # type: ignore[arg-type]
        grace=rng.choice((75, 90, 90, 180)),
        late_limit=rng.choice((180, 900, 900)),
        window=rng.choice((None, 300)) if policy == "run_all" else None,
        cap=rng.choice((2, 5, 100)) if policy == "run_all" else 100,
    )
    return Draft(
        schedule=_schedule(rng, gentle),
        misfire=misfire,
        retry=RetryPolicy(
            max_attempts=rng.choice((3, 3, 4)) if gentle else rng.choice((1, 2, 3, 3)),
            backoff=10 if gentle else rng.choice((1, 10, 60, 1000)),
        ),
        timeout=rng.choice((10, 20, 45)),
        start_deadline=None if gentle else rng.choice((None, None, None, 60, 200)),
        fate="quick" if gentle else rng.choice(("quick", "mixed", "mixed", "failing", "deadly")),
    )


def _schedule(rng: Random, gentle: bool) -> dict[str, object]:
    kind = rng.random()
    if kind < 0.5:
        doc: dict[str, object] = {"rate": rng.choice((60, 60, 90, 150, 300))}
        if rng.random() < 0.1:
            doc["rate"] = 20
    elif kind < 0.85:
        doc = {"cron": rng.choice(("* * * * *", "*/2 * * * *", "*/5 * * * *", "7 * * * *"))}
    else:
        at = START + timedelta(seconds=rng.randint(60, 900))
        doc = {"at": to_api(at)}
    if "at" not in doc and rng.random() < 0.25:
        doc["jitter"] = rng.choice((10, 45))
    return doc
