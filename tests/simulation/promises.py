"""How soon: where only one kind of thing goes wrong, recovery is held to the times promised."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cronce import limits
from cronce.domain.identity import RunKey
from cronce.domain.instants import seconds

from .history import RunWrite
from .kernel import START, Process
from .oracle import due_of
from .world import World

# What the simulation itself adds: a poll, and the way of each call.
DELIVERY = 2
SKEW = limits.CLOCK_DIFFERENCE
# A killed worker's run: its message comes back with its lease, by a clock that may be behind. In a
# batch with others it waits until they have ended, or until its message comes back to another one.
TAKEN_OVER = limits.LEASE + SKEW + DELIVERY
SHARED = 2 * limits.LEASE
# A lost message: the next look at its record, by the next tick, which starts up to 4 s late.
SENT_AGAIN = limits.TICK_PERIOD + 4 + SKEW + DELIVERY


def judge_exact(world: World, judged_until: datetime) -> list[tuple[str, float]]:
    """Adds what came too late to the history. What was measured: what, seconds."""
    found: list[tuple[str, float]] = []
    if world.scenario.profile in ("calm", "ticks"):
        found += _starts(world, judged_until)
    if world.scenario.profile == "calm":
        _judge_calm(world, judged_until)
    found += _take_overs(world)
    found += _purges(world)
    return found


def _starts(world: World, until: datetime) -> Iterator[tuple[str, float]]:
    for key, required in due_of(world, until).items():
        writes = world.history.runs.get(key, [])
        run = world.inner.read_run(key)
        if not required or not writes or run is None:
            continue
        late = writes[0].at / 1000 - (run.due - START).total_seconds()
        if late > SKEW + DELIVERY:
            world.history.violate("in time", f"{key.job_id} {key.run_id}: {late:.1f} s late")
        yield "start after due time", late


def _judge_calm(world: World, until: datetime) -> None:
    for key, writes in world.history.runs.items():
        if key.scheduled_for > until:
            continue
        last = writes[-1].after
        if last is None or (last.status, last.attempt) != ("succeeded", 1):
            status = (last.status, last.attempt) if last else "gone"
            world.history.violate("nothing happens without a reason", f"{key.run_id}: {status}")


def _take_overs(world: World) -> Iterator[tuple[str, float]]:
    """From the death of a worker to the next attempt of each run that it was at."""
    for at, process in world.kills:
        for key, after in _running_in(world, process, at):
            if after is None:
                continue
            took = (after.at - at) / 1000
            if any(at < other <= after.at for other, _ in world.kills):
                # Whoever had received the message may be the one.
                continue
            alone = world.scenario.batch == 1
            if took > TAKEN_OVER + (0 if alone else SHARED):
                world.history.violate("taken over in time", f"{key.run_id}: {took:.1f} s")
            yield f"next attempt after a kill{'' if alone else ', in batches'}", took


def _running_in(
    world: World, process: Process, at: int
) -> Iterator[tuple[RunKey, RunWrite | None]]:
    for key, writes in world.history.runs.items():
        before = [w for w in writes if w.at <= at and w.method != "renew"]
        if before and before[-1].process is process and before[-1].method in ("claim", "take_over"):
            later = [w for w in writes if w.at > at and w.method != "renew"]
            yield key, later[0] if later else None


def _purges(world: World) -> Iterator[tuple[str, float]]:
    """From the next look at a record after a purge to the claim of each run that was lost."""
    for at, looks in world.purges:
        for key, look in looks.items():
            later = [w for w in world.history.runs.get(key, ()) if w.at > at]
            if not later:
                continue
            after = later[0].at / 1000 - (look - START).total_seconds()
            again = any(at < t <= later[0].at for t, _ in world.purges)
            if again or (look - START).total_seconds() * 1000 <= at:
                # What was sent again is lost again; or a tick has looked, and not yet written so.
                continue
            if any(look <= busy <= look + seconds(SENT_AGAIN) for busy in world.queue.busy_at):
                # A message was visible when the dispatcher asked: it waits for its next look.
                continue
            if after > SENT_AGAIN:
                world.history.violate("sent again in time", f"{key.run_id}: {after:.1f} s")
            yield "sent again after the next look", after
