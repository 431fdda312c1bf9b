"""What befalls the queue and the processes, whoever is in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from cronce.domain.job import Definition, Job
from cronce.domain.message import Message
from cronce.domain.plan import Due
from cronce.testing.memory_queue import Waiting

from .world import World


def chaos(world: World) -> None:
    """One blow after the other, as the scenario says."""
    s, kernel = world.scenario, world.kernel
    only = {"kills": _kill_worker, "purges": _purge}.get(s.profile)
    while True:
        kernel.pause(int(kernel.rng.expovariate(1 / s.chaos)))
        if not world.troubled:
            return
        favourite = s.blow and kernel.rng.random() < 0.6
        blow = _FAVOURITES[s.blow] if favourite else only or kernel.rng.choice(_BLOWS)
        world.note(f"CHAOS {blow.__name__.strip('_')}")
        blow(world)


def _kill_worker(world: World) -> None:
    _kill(world, "worker")


def _kill_any(world: World) -> None:
    _kill(world, world.kernel.rng.choice(("worker", "worker", "dispatcher", "api")))


def _kill(world: World, kind: str) -> None:
    alive = [
        p for p in world.live.get(kind, []) if not p.dead and not all(s.done for s in p.strands)
    ]
    if alive:
        process = world.kernel.rng.choice(alive)
        process.wounded = True
        world.note("killed", process=process.name)
        world.kills.append((world.kernel.now, process))
        world.kernel.kill(process)


def _freeze(world: World) -> None:
    kind = world.kernel.rng.choice(("worker", "worker", "dispatcher", "api"))
    alive = [p for p in world.live.get(kind, []) if not p.dead]
    if alive:
        process = world.kernel.rng.choice(alive)
        process.wounded = True
        longest = {"worker": 100_000, "dispatcher": 45_000, "api": 25_000}[kind]
        ms = int(world.kernel.rng.random() * longest)
        world.note("frozen", process=process.name, ms=ms)
        world.kernel.freeze(process, ms)


def _purge(world: World) -> None:
    lost = {key for m in world.queue.waiting if (key := world.queue.key_of(m)) is not None}
    world.taken |= lost
    world.note("purged", messages=world.queue.purge())
    world.purges.append((world.kernel.now, world.next_looks(lost)))


def _one(world: World) -> Waiting | None:
    waiting = world.queue.waiting
    return world.kernel.rng.choice(waiting) if waiting else None


def _lose(world: World) -> None:
    message = _one(world)
    if message is not None:
        world.note("lost", body=message.body)
        world.queue.take(message)


def _duplicate(world: World) -> None:
    message = _one(world)
    if message is not None:
        world.queue.duplicate(message)


def _copy(world: World) -> None:
    """The same message again under another id."""
    message = _one(world)
    if message is not None and world.queue.key_of(message) is not None:
        world.queue.plant(Message.from_body(message.body))


def _delay(world: World) -> None:
    message = _one(world)
    if message is not None:
        message.visible_at += timedelta(seconds=world.kernel.rng.choice((5, 60, 300)))


def _hurry(world: World) -> None:
    """Visible before its time: another receive may come under the nose of the first."""
    message = _one(world)
    if message is not None:
        message.visible_at = world.kernel.instant()
        world.wake_pollers()


def _garbage(world: World) -> None:
    body = world.kernel.rng.choice(("not json", '{"v":99}', '{"v":1,"job":"x"}', ""))
    world.queue.plant_body(body)


def _ancient(world: World) -> None:
    """A copy of a message that was first sent more than 14 days ago: its row is long gone."""
    sent = list(world.history.sent)
    if sent:
        key = world.kernel.rng.choice(sent)
        old = key.scheduled_for - timedelta(days=15)
        stored = world.inner.read_job(key.job_id)
        if stored is not None and not key.trigger:
            key = type(key)(key.job_id, key.uid, old)
            world.queue.plant(Message(key, stored.job.generation, old, old))


def _plant_broken_job(world: World) -> None:
    """A row that no planner can read, due now, before everybody else."""
    now = world.kernel.instant().replace(microsecond=0)
    name = f"broken-{world.kernel.rng.randrange(1000)}"
    plan = {"schedule": {"timezone": "Mars/Phobos", "cron": "* * * * *"}, "misfire": {}}
    early = now - timedelta(seconds=world.kernel.rng.randrange(200))
    job = Job(name, "broken00", 1, 1, "active", plan, 0, now, Due(early, early))
    world.inner.create_job(job, Definition(document={}, target={}))


_FAVOURITES = {"plant_broken_job": _plant_broken_job, "garbage": _garbage}
_BLOWS: tuple[Callable[[World], None], ...] = (
    *(_kill_any, _kill_any, _freeze, _freeze, _purge, _lose, _lose, _duplicate, _duplicate),
    *(_copy, _delay, _delay, _hurry, _garbage, _ancient, _plant_broken_job),
)
