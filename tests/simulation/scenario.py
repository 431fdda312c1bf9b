"""What a seed means: which jobs, which trouble, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from cronce.domain.definition import JobSpec
from cronce.domain.instants import to_api
from cronce.domain.job import Definition
from cronce.domain.misfire import Misfire, MisfirePolicy
from cronce.domain.retry import RetryPolicy
from cronce.domain.schedule import parse_schedule

from .faults import CALLS, CELLS, CRASH_AFTER, CRASH_BEFORE, KINDS, SHELL_METHODS
from .kernel import START

MINUTE = 60_000
LIMITS = ("skip", "queue_one", "queue_all", "replace")
PROFILES = ("calm", "kills", "purges", "ticks", "outage", "edits", "storm")
# Of twelve seeds in a row, one each of the exact ones; the others meet everything.
_TURN = (*PROFILES, "outage", "edits", "storm", "storm", "storm")
_EXACT = PROFILES[:4]
# What makes a method that is in focus be called: what users do, what befalls, what jobs are like.
_VERBS = {
    "create_job": "recreate",
    "delete_job": "recreate",
    "edit_job": "edit",
    "advance": "respell",
    "due": "respell",
    "trigger": "run_now",
    "dispatched": "run_now",
    "cancel": "cancel",
    "redrive": "redrive",
    "read_run": "cancel",
    "list_runs": "list",
    "list_jobs": "list",
    "list_attention": "list",
}
_BLOWS = {"set_error": "plant_broken_job", "dead_letter": "garbage"}
_FATES = {"lose": "deadly", "take_over": "deadly", "fail": "failing", "retry": "failing"}
_FATES |= {"redrive": "failing", "renew": "slow"}
# Once more each, since it takes luck that they are called at all.
_RARE = ("miss", "concede", "redrive", "concede", "put_missed", "concede", "redrive", "miss")
_LATE = ("find_missed", "put_missed", "miss", "concede", "skip")


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
    ticks_off, workers_off: when none comes. busy: something is always visible in the queue, and the
    first job runs on. lost_ticks: of all ticks. focus: what goes wrong most, and what makes it be
    called: verb of the users, blow of the chaos. held: what was sent before an outage is delivered
    while the tick after it counts what was missed. batch: messages a worker gets, at most."""

    seed: int
    profile: str
    jobs: tuple[Draft, ...]
    trouble: int
    calm: int = 50 * MINUTE
    rate: float = 0.0
    kinds: tuple[str, ...] = KINDS
    focus: tuple[tuple[str, str], ...] = ()
    verb: str = ""
    blow: str = ""
    held: bool = False
    batch: int = 10
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
        return self.profile in _EXACT


def scenario(seed: int) -> Scenario:
    rng = Random(seed * 7919 + 1)
    profile = _TURN[seed % len(_TURN)]
    basic = Scenario(
        seed,
        profile,
        tuple(draft(rng, gentle=profile in _EXACT) for _ in range(rng.randint(1, 3))),
        trouble=rng.randint(8, 14) * MINUTE,
        calm=50 * MINUTE,
    )
    steady = replace(draft(rng, gentle=True), schedule={"rate": rng.choice((60, 90, 120))})
    basic = replace(basic, jobs=(steady, *basic.jobs))
    if profile == "calm":
        return basic
    if profile == "kills":
        jobs = tuple(replace(j, fate="steady", timeout=45) for j in basic.jobs)
        return replace(basic, jobs=jobs, chaos=60_000, batch=rng.choice((1, 1, 10)))
    if profile == "purges":
        return replace(basic, chaos=150_000)
    if profile == "ticks":
        return replace(basic, lost_ticks=1.0)
    return _troubled(basic, rng)


def _troubled(s: Scenario, rng: Random) -> Scenario:
    method, kinds = _focus(s.seed)
    if method in _LATE and s.profile != "edits":
        s = replace(s, profile="outage")
    if method in _FATES:
        jobs = [replace(j, fate=_FATES[method], overlap="allow") for j in s.jobs[1:]]
        s = replace(s, jobs=(s.jobs[0], *jobs))
    if method in ("read_lock", "write_lock"):
        jobs = [replace(j, overlap=rng.choice(LIMITS)) for j in s.jobs[1:]]
        s = replace(s, jobs=(s.jobs[0], *jobs))
    s = replace(
        s,
        verb=_VERBS.get(method, ""),
        blow=_BLOWS.get(method, ""),
        rate=rng.choice((0.0, 0.004, 0.01, 0.03)),
        kinds=rng.choice((KINDS, KINDS, (CRASH_BEFORE, CRASH_AFTER), KINDS[2:])),
        focus=tuple((method, kind) for kind in kinds if (method, kind) in CELLS),
        slow=rng.choice((0.0, 0.0, 0.01, 0.03)),
        lag=8_000 if method in ("advance", "due") else rng.choice((0, 0, 2_000, 8_000)),
        users=20_000 if method in _VERBS else rng.choice((60_000, 120_000)),
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
        held = method in _LATE or rng.random() < 0.5
        ticks, workers = (1, 0) if held else rng.choice(((1, 0), (0, 1), (1, 1)))
        if held:
            policy: MisfirePolicy = rng.choice(("skip", "run_once"))
            often = {"rate": rng.choice((40, 60))}
            jobs = [
                replace(j, misfire=Misfire(policy), start_deadline=None, schedule=often)
                for j in s.jobs
            ]
            s = replace(s, jobs=tuple(jobs))
        return replace(
            s,
            held=held,
            ticks_off=(begin, begin + length) if ticks else (0, 0),
            workers_off=(begin + other, begin + other + length) if workers else (0, 0),
        )
    return s


def _focus(seed: int) -> tuple[str, tuple[str, ...]]:
    """One method and two kinds of trouble; every pair comes round as the seeds go on."""
    methods = (*CALLS, *SHELL_METHODS, *_RARE)
    per_turn = len(_TURN) - len(_EXACT)
    n = seed // len(_TURN) * per_turn + max(0, seed % len(_TURN) - len(_EXACT))
    turn = n // len(methods) * 2 + n % len(methods)
    return methods[n % len(methods)], tuple(KINDS[(turn + k) % len(KINDS)] for k in range(2))


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
            max_backoff=1500,
        ),
        timeout=rng.choice((10, 20, 45)),
        start_deadline=None if gentle else rng.choice((None, None, None, 60, 200)),
        overlap="allow" if gentle or rng.random() < 0.6 else rng.choice(LIMITS),
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
