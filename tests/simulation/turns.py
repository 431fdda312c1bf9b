"""Jobs that take turns, backfills and a limited group, under the same trouble as all else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from cronce import limits
from cronce.control import Control
from cronce.control.backfills import Ask
from cronce.domain.backfill import Backfill
from cronce.domain.definition import JobSpec
from cronce.domain.errors import (
    BackfillNotFound,
    Invalid,
    JobNotFound,
    RunNotFound,
    Unavailable,
    VersionMismatch,
    WrongState,
)
from cronce.domain.retry import RetryPolicy

from . import actors
from .chaos import chaos
from .faults import KINDS
from .history import Broken
from .oracle import judge, unfinished
from .scenario import LIMITS, MINUTE, Draft, Scenario
from .target import FATES
from .turn_rules import Turns
from .world import World

# fail, refuse, wait, hang, kill, raise, long, stall
FATES["turns"] = (6, 2, 0, 1, 4, 1, 55, 3)
# Starts in a thousand seconds: about as many as three jobs have.
GROUP, RATE = "g", 250
GAP = timedelta(seconds=1000 / RATE)
PROFILES = ("calm", "kills", "faults", "faults", "edits", "storm")
POLLERS = 12


@dataclass(frozen=True)
class Turn(Draft):
    """group: of all jobs of a seed that has a limit."""

    group: str = "default"

    def parse(self, now: datetime, anchor: datetime) -> JobSpec:
        spec = super().parse(now, anchor)
        return replace(spec, group=self.group)


@dataclass(frozen=True)
class Outcome:
    seed: int
    profile: str
    executions: int
    lines: int
    backfills: Counter[str]
    broken: tuple[Broken, ...]
    handed: tuple[float, ...]


def turn_scenario(seed: int) -> Scenario:
    rng = Random(seed * 104_729 + 7)
    profile = PROFILES[seed % len(PROFILES)]
    policies = [rng.choice(LIMITS) for _ in range(3)]
    grouped = GROUP if rng.random() < 0.5 else "default"
    jobs = tuple(_draft(rng, policy, profile, grouped) for policy in policies)
    basic = Scenario(seed, profile, jobs, trouble=rng.randint(10, 20) * MINUTE)
    if profile == "calm":
        return basic
    if profile == "kills":
        return replace(basic, chaos=25_000)
    return replace(
        basic,
        rate=0.0 if profile == "edits" else rng.choice((0.005, 0.01, 0.03)),
        kinds=KINDS,
        slow=rng.choice((0.0, 0.02)),
        lag=rng.choice((0, 3_000)),
        users=12_000 if profile == "edits" else 30_000,
        chaos=30_000 if profile == "storm" else 0,
        leaderless=rng.random() < 0.5,
        lost_ticks=rng.choice((0.0, 0.2)),
    )


def _draft(rng: Random, policy: str, profile: str, group: str) -> Turn:
    calm = profile == "calm"
    return Turn(
        schedule={"rate": rng.choice((15, 20, 30))},
        retry=RetryPolicy(max_attempts=3, backoff=2, max_backoff=30),
        timeout=rng.choice((30, 45)),
        overlap=policy,
        fate="steady" if calm else "turns",
        group=group,
    )


def simulate_turns(seed: int, trace: Callable[..., None] | None = None) -> Outcome:
    world = World(turn_scenario(seed), trace)
    limited = {f"job-{n}" for n in range(len(world.scenario.jobs))}
    grouped = getattr(world.scenario.jobs[0], "group", "default") == GROUP
    turns = Turns(world, limited, GAP if grouped else None)
    try:
        _live(world, turns)
    finally:
        world.kernel.close()
    found = Counter(
        b.status
        for name in limited
        for b in world.inner.list_backfills(name, limit=1_000).items
        if isinstance(b, Backfill)
    )
    h = world.history
    return Outcome(
        seed,
        world.scenario.profile,
        sum(map(len, h.executions.values())),
        sum(bool(lock.waiting) for locks in h.locks.values() for _, lock in locks),
        found,
        tuple(h.broken),
        tuple(turns.handed),
    )


def _live(world: World, turns: Turns) -> None:
    s, kernel = world.scenario, world.kernel
    _populate(world, turns)
    kernel.spawn(world.nature, lambda: actors.clockwork(world))
    for n in range(POLLERS):
        kernel.spawn(world.nature, lambda n=n: actors.poller(world, f"worker-{n}"))  # type: ignore[misc]
    kernel.spawn(world.nature, lambda: _user(world))
    if s.chaos:
        kernel.spawn(world.nature, lambda: chaos(world))
    world.troubled = world.faults.active = True
    kernel.run(s.trouble)
    world.troubled = world.faults.active = False
    # No new occurrences: what is in line comes to its end.
    for name in world.drafts:
        _ask(world, lambda control, name=name: control.pause(name, by="user"))  # type: ignore[misc]
    kernel.run(kernel.now + 20_000)
    judged_until = kernel.instant()
    end = kernel.now + s.calm
    kernel.run(kernel.now + 5 * MINUTE)
    while not world.history.broken and kernel.now < end and _open(world, judged_until):
        kernel.run(kernel.now + MINUTE)
    if world.history.broken:
        return
    judge(world, judged_until)
    turns.judge()
    if s.profile == "calm":
        turns.judge_hand_over()


def _open(world: World, judged_until: datetime) -> bool:
    running = any(
        isinstance(b, Backfill) and b.status == "running"
        for name in world.drafts
        for b in world.inner.list_backfills(name, limit=1_000).items
    )
    return running or unfinished(world, judged_until)


def _populate(world: World, turns: Turns) -> None:
    if turns.gap is not None:
        _ask(world, lambda control: control.put_group(GROUP, RATE, by="user"))
    world.kernel.run(500)
    for n, wish in enumerate(world.scenario.jobs):
        world.drafts[f"job-{n}"] = wish
        _ask(world, lambda c, n=n, w=wish: actors.create(world, c, f"job-{n}", w))  # type: ignore[misc]
    world.kernel.run(2_000)


# --- users


def _user(world: World) -> None:
    rng = world.kernel.rng
    while True:
        world.kernel.pause(int(rng.expovariate(1 / (world.scenario.users or 60_000))))
        if not world.troubled:
            return
        if world.scenario.profile == "calm":
            continue
        verb, name = rng.choice(_VERBS), rng.choice(list(world.drafts))
        world.note(verb.__name__, job=name)
        _ask(world, lambda control, v=verb, n=name: v(world, control, n))  # type: ignore[misc]


def _ask(world: World, call: Callable[[Control], object]) -> None:
    process = world.machine("api")
    control = Control(world.ports(process), world.settings)

    def guarded() -> None:
        try:
            call(control)
        except (JobNotFound, RunNotFound, BackfillNotFound, VersionMismatch):
            return
        except (Unavailable, Invalid, WrongState):
            return

    world.invoke(process, guarded, limits.API_TIMEOUT, 0)


def _backfill(world: World, control: Control, name: str) -> None:
    rng = world.kernel.rng
    now = control.ports.clock.now()
    first = now - timedelta(seconds=rng.randint(60, 1_500))
    before = now - timedelta(seconds=rng.choice((0, 0, 30)))
    overlap: Any = rng.choice((None, None, "queue_all", "skip"))
    wish = Ask(first, before, rng.choice((3, 10, 60)), overlap, f"b{rng.randrange(6)}")
    control.backfill(name, wish, by="user")


def _cancel_backfill(world: World, control: Control, name: str) -> None:
    control.cancel_backfill(name, f"b{world.kernel.rng.randrange(6)}", by="user")


def _limit(world: World, control: Control, name: str) -> None:
    """The same limit again: a writer among the dispatchers."""
    if control.get_group(GROUP) is not None:
        control.put_group(GROUP, RATE, by="user")


def _repolicy(world: World, control: Control, name: str) -> None:
    wish = replace(world.drafts[name], overlap=world.kernel.rng.choice(LIMITS))
    actors.create(world, control, name, wish)


_VERBS: tuple[Callable[[World, Control, str], None], ...] = (
    *(_backfill, _backfill, _backfill, _cancel_backfill, _limit, _repolicy),
    *(actors._run_now, actors._run_now, actors._cancel, actors._cancel, actors._redrive),
    *(actors._redrive, actors._pause, actors._resume, actors._delete, actors._touch),
)
