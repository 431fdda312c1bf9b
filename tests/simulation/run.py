"""One seed from beginning to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from cronce.control import Control

from .actors import clockwork, create, poller, user
from .chaos import chaos
from .history import Broken
from .oracle import judge, unfinished
from .promises import judge_exact
from .scenario import MINUTE, Scenario, scenario
from .world import World

# Few, so that they are busy; and enough, where waiting for one would hide what is measured.
FEW, ENOUGH = 3, 8
Trace = Callable[..., None]


@dataclass(frozen=True)
class Outcome:
    """runs: that ended. counts: faults injected, by cell. minutes: of virtual time. times: how
    long recovery took, in seconds, where that is held to a promise."""

    seed: int
    profile: str
    runs: int
    executions: int
    minutes: float
    counts: Counter[tuple[str, str]]
    broken: tuple[Broken, ...]
    times: tuple[tuple[str, float], ...] = ()


def simulate(seed: int, trace: Trace | None = None) -> Outcome:
    world = World(scenario(seed), trace)
    try:
        times = _live(world)
    finally:
        world.kernel.close()
    h = world.history
    return Outcome(
        seed=seed,
        profile=world.scenario.profile,
        runs=sum(h.endings.values()),
        executions=sum(map(len, h.executions.values())),
        minutes=world.kernel.now / MINUTE,
        counts=world.faults.counts,
        broken=tuple(h.broken),
        times=times,
    )


def _live(world: World) -> tuple[tuple[str, float], ...]:
    s, kernel = world.scenario, world.kernel
    _populate(world, s)
    kernel.spawn(world.nature, lambda: clockwork(world))
    for n in range(ENOUGH if s.exact else FEW):
        kernel.spawn(world.nature, lambda n=n: poller(world, f"worker-{n}"))  # type: ignore[misc]
    if s.users:
        kernel.spawn(world.nature, lambda: user(world))
    if s.chaos:
        kernel.spawn(world.nature, lambda: chaos(world))
    world.troubled = world.faults.active = True
    kernel.run(s.trouble)
    world.troubled = world.faults.active = False
    judged_until = kernel.instant() + timedelta(seconds=120)
    end = kernel.now + s.calm
    kernel.run(kernel.now + 5 * MINUTE)
    while not world.history.broken and kernel.now < end and unfinished(world, judged_until):
        kernel.run(kernel.now + MINUTE)
    if world.history.broken:
        return ()
    judge(world, judged_until)
    return tuple(judge_exact(world, judged_until)) if s.exact else ()


def _populate(world: World, s: Scenario) -> None:
    for n, wish in enumerate(s.jobs):
        name = f"job-{n}"
        world.drafts[name] = wish
        process = world.machine("api")
        control = Control(world.ports(process), world.settings)
        world.kernel.spawn(
            process,
            lambda c=control, n=name, w=wish: create(world, c, n, w),  # type: ignore[misc]
        )
    world.kernel.run(2_000)
