"""Who acts in the simulated deployment: the clockwork of ticks, the event source mapping, its
workers, and users of the API.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cronce import limits
from cronce.control import Control
from cronce.dispatch import tick
from cronce.domain.errors import (
    CronceError,
    Invalid,
    JobNotFound,
    RunNotFound,
    Unavailable,
    VersionMismatch,
    WrongState,
)
from cronce.domain.run import OPEN, Run
from cronce.ports import Lease
from cronce.work import BatchReport, Delivery, Worker, work_batch

from .faults import CRASH_AFTER, CRASH_BEFORE, CRASHES
from .kernel import Killed, Strand
from .scenario import Draft, draft
from .target import SimulatedTarget
from .world import World


class Leaderless:
    """A store in front of which every dispatcher leads: correctness does not rest on the lease."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def acquire_lease(self, slice_: int, owner: str, **more: Any) -> Lease:
        found = self._inner.acquire_lease(slice_, owner, **more)
        return found or Lease(slice_, owner, more["shards"])


# --- ticks


def clockwork(world: World) -> None:
    """One tick a minute, a moment after the minute; in trouble late, twice, or not at all."""
    s, kernel = world.scenario, world.kernel
    missing = False
    minute = 0
    begin, end = s.ticks_off
    while True:
        minute += 60_000
        kernel.pause(max(0, minute - kernel.now))
        lost = world.troubled and not missing and kernel.rng.random() < s.lost_ticks
        missing = lost and s.profile == "ticks"
        # An outage may begin in the middle of a tick.
        doomed = missing or (
            begin - 60_000 <= kernel.now < begin and (s.held or kernel.rng.random() < 0.7)
        )
        if s.held and begin <= kernel.now < begin + 60_000:
            world.hold(end + 60_000)
        if world.troubled and (begin <= kernel.now < end or (lost and kernel.rng.random() < 0.3)):
            continue
        event_time = kernel.instant()
        twice = s.leaderless and world.troubled and kernel.rng.random() < 0.3
        for _ in range(1 + twice):
            after = int(1_000 * s.exact + kernel.rng.random() * 3_000)
            start_tick(world, event_time, after=after, doomed=doomed)


def start_tick(world: World, event_time: datetime, *, after: int, doomed: bool = False) -> None:
    process = world.machine("dispatcher")
    ports = world.ports(process)
    if world.scenario.leaderless and world.troubled:
        ports = replace(ports, store=Leaderless(ports.store))

    def invoke() -> None:
        deadline = ports.clock.now() + timedelta(seconds=limits.DISPATCHER_STOP_AFTER)
        tick(ports, world.settings, event_time=event_time, deadline=deadline)

    if doomed:
        process.doom = world.kernel.rng.choice(_DOOMS), world.kernel.rng.choice(CRASHES)
        if world.scenario.held:
            process.doom = "advance", CRASH_BEFORE
    world.invoke(process, invoke, limits.DISPATCHER_TIMEOUT, after)


_DOOMS = ("put_record", "send", "put_missed", "advance", "advance", "update_record", "list_runs")


# --- workers


def poller(world: World, name: str) -> None:
    """Receives, has a worker work, deletes what it does not return."""
    kernel = world.kernel
    while True:
        begin, end = world.scenario.workers_off
        if world.troubled and begin <= kernel.now < end:
            kernel.pause(end - kernel.now)
        most = min(kernel.rng.choice((1, 3, 10)), world.scenario.batch)
        batch = world.queue.receive(most, kernel.rng)
        if not batch:
            kernel.doze(world.until_next_message(), world.dozing)
            kernel.pause(int(kernel.rng.random() * 500))
            continue
        world.note("received", worker=name, messages=[m.message_id for m in batch])
        kernel.pause(int(5 + kernel.rng.random() * 100))
        _work(world, name, [Delivery(m.body, m.message_id, m.receipt) for m in batch])


def _work(world: World, name: str, deliveries: list[Delivery]) -> None:
    kernel = world.kernel
    process = world.machine(name)
    begun = kernel.now
    ports = world.ports(process)
    target = SimulatedTarget(kernel, world.faults, world.history, process)
    deadline = ports.clock.now() + timedelta(seconds=limits.WORKER_TIMEOUT)
    worker = Worker(ports, world.settings, target, deadline)
    strand = world.invoke(process, lambda: work_batch(worker, deliveries), limits.WORKER_TIMEOUT, 0)
    strand.wait(limits.WORKER_TIMEOUT + 1)
    report = strand.value
    if not isinstance(report, BatchReport):
        if strand.error is not None and not isinstance(strand.error, (Killed, CronceError)):
            raise strand.error
        return
    if report.abandoned:
        process.wounded = True
        kernel.kill(process)
    for delivery in deliveries:
        if delivery.message_id not in report.returned:
            world.acknowledge(delivery, begun)


# --- users


def user(world: World) -> None:
    """One request after the other, of whatever a user may ask."""
    s, kernel = world.scenario, world.kernel
    while True:
        kernel.pause(int(kernel.rng.expovariate(1 / s.users)))
        if kernel.rng.random() < 0.4:
            # When a tick is at work, or about to be.
            kernel.pause(56_000 - kernel.now % 60_000 % 56_000 + int(kernel.rng.random() * 7_500))
        if not world.troubled:
            return
        request(world)


def request(world: World) -> Strand:
    process = world.machine("api")
    control = Control(world.ports(process), world.settings)
    # A queue that is busy for ever is one in which later runs are claimed: their job is let alone.
    names = list(world.drafts)[world.scenario.busy :]
    name = world.kernel.rng.choice(names)
    return world.invoke(process, lambda: _ask(world, control, name), limits.API_TIMEOUT, 0)


_VERBS = (
    *(
        "edit",
        "respell",
        "respell",
        "touch",
        "pause",
        "pause",
        "resume",
        "resume",
        "resume",
        "recreate",
    ),
    *("run_now", "run_now", "run_now", "cancel", "cancel", "redrive", "redrive", "list"),
)


def _ask(world: World, control: Control, name: str) -> None:
    rng, favourite = world.kernel.rng, world.scenario.verb
    verb = favourite if favourite and rng.random() < 0.5 else rng.choice(_VERBS)
    world.note(verb, job=name)
    try:
        _VERB[verb](world, control, name)
    except (JobNotFound, RunNotFound, VersionMismatch, Unavailable, Invalid):
        return
    except WrongState as e:
        if verb == "cancel" and e.state in OPEN:
            world.history.violate("an open run can be cancelled", str(e))


def create(world: World, control: Control, name: str, wish: Draft) -> None:
    control.put(name, wish.parse, by="user")
    world.drafts[name] = wish


def _edit(world: World, control: Control, name: str) -> None:
    create(world, control, name, draft(world.kernel.rng))


def _respell(world: World, control: Control, name: str) -> None:
    """Another schedule with the same next occurrence, which nobody may dispatch at once."""
    rng, wish = world.kernel.rng, world.drafts[name]
    every = {"cron": "*/5 * * * *"}
    minute = (world.kernel.instant().minute // 5 + 1) * 5 % 60
    once = {"cron": f"{minute} * * * *"}
    if rng.random() < 0.5 and world.kernel.current is not None:
        world.kernel.current.process.doom = "edit_job", CRASH_AFTER
    # Noted first: whoever dies after the write has written.
    world.drafts[name] = replace(wish, schedule=once if wish.schedule == every else every)
    create(world, control, name, world.drafts[name])


def _touch(world: World, control: Control, name: str) -> None:
    """Another field than the schedule."""
    wish = world.drafts[name]
    create(world, control, name, replace(wish, timeout=world.kernel.rng.choice((10, 20, 45))))


def _pause(world: World, control: Control, name: str) -> None:
    control.pause(name, by="user")
    if world.kernel.rng.random() < 0.5:
        world.kernel.pause(int(world.kernel.rng.random() * 8_000))
        control.resume(name, by="user")


def _resume(world: World, control: Control, name: str) -> None:
    control.resume(name, by="user")


def _delete(world: World, control: Control, name: str) -> None:
    control.delete(name)
    world.kernel.pause(int(world.kernel.rng.random() * 30_000))
    create(world, control, name, world.drafts[name])


def _run_now(world: World, control: Control, name: str) -> None:
    rng = world.kernel.rng
    client_id = f"c{rng.randrange(4)}" if rng.random() < 0.6 else None
    run, _new = control.run_now(name, by="user", client_id=client_id)
    world.promised.append(run.key)


def _some_run(world: World, control: Control, name: str, statuses: frozenset[str]) -> Run | None:
    page = control.list_runs(name, limit=20)
    runs = [r for r in page.items if isinstance(r, Run) and r.status in statuses]
    return world.kernel.rng.choice(runs) if runs else None


def _cancel(world: World, control: Control, name: str) -> None:
    run = _some_run(world, control, name, OPEN)
    if run is not None:
        control.cancel_run(name, run.key.run_id, by="user")
        return
    sent = [k for k in world.history.sent if k.job_id == name][-3:]
    if sent:
        control.cancel_run(name, world.kernel.rng.choice(sent).run_id, by="user")


def _redrive(world: World, control: Control, name: str) -> None:
    run = _some_run(world, control, name, frozenset({"failed"}))
    if run is not None:
        world.promised.append(control.redrive_run(name, run.key.run_id, by="user").key)


def _list(world: World, control: Control, name: str) -> None:
    page = control.list_runs(name, limit=5)
    if page.items:
        control.get_run(name, page.items[0].key.run_id)  # type: ignore[attr-defined]
    control.list_jobs(group=None, status=None, limit=3, cursor=None)
    now = world.kernel.instant()
    since = now - timedelta(hours=1)
    control.list_attention(earliest=since, latest=now, status=None, limit=3, cursor=None)


_VERB = {
    "edit": _edit,
    "respell": _respell,
    "touch": _touch,
    "pause": _pause,
    "resume": _resume,
    "recreate": _delete,
    "run_now": _run_now,
    "cancel": _cancel,
    "redrive": _redrive,
    "list": _list,
}
