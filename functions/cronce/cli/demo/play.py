"""The demo as named steps: deploy, create, watch, drain, judge. It leaves nothing running."""

from __future__ import annotations

import math
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cronce.cli.demo.jobs import TRIGGERED, DemoJob, demo_jobs, first_instant
from cronce.cli.demo.judge import TERMINAL, Received, Verdict, instants, judge, seconds
from cronce.cli.demo.kill import NotFound, kill_caller
from cronce.cli.demo.live import View, view
from cronce.cli.demo.server import TargetServer
from cronce.cli.exits import FAILED, OK, CommandError

if TYPE_CHECKING:
    from cronce.cli.emulator import Emulator
    from cronce.client import Client

STACK = "cronce-demo"
LEAD_SECONDS = 15  # to create all jobs before the first is due
TAIL_SECONDS = 15  # of the time watched, in which nothing new comes due
DRAIN_SECONDS = 150
POLL_SECONDS = 0.25


@dataclass
class Watched:
    """What was seen so far. ended: run documents when first seen in a terminal state."""

    jobs: list[DemoJob]
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ended: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    shown: int = 0

    def note(self, job_id: str, runs: list[dict[str, Any]]) -> None:
        self.records[job_id] = runs
        for run in runs:
            if run["status"] in TERMINAL:
                self.ended.setdefault((job_id, run["run_id"]), run)


def run(watch_seconds: int, keep: bool) -> int:
    """The exit code; the last line on standard output is the verdict."""
    folder = Path(tempfile.mkdtemp(prefix="cronce-demo-"))
    server = TargetServer()
    try:
        with _ended_by_signals(), server.running():
            verdict = _run(folder, server, watch_seconds)
    finally:
        _stop(folder, keep)
    for finding in verdict.findings:
        print(finding)
    print(verdict.line(), flush=True)
    return OK if verdict.passed else FAILED


def _run(folder: Path, server: TargetServer, watch_seconds: int) -> Verdict:
    emulator = _deploy(folder, server)
    client = _client(emulator)
    jobs = _create(client, server, watch_seconds - TAIL_SECONDS)
    watched = Watched(jobs)
    until = time.time() + watch_seconds
    with view([job.job_id for job in jobs], until) as shown:
        shown.event(
            "watching: the time of each call, its job and run, how late after the occurrence"
        )
        _watch(client, server, emulator, watched, shown, until)
        shown.event("time is up; waiting for what is still open")
        _drain(client, server, watched, shown)
    return _judge(client, server, watched)


def _deploy(folder: Path, server: TargetServer) -> Emulator:
    from cronce.cli import emulator

    started = time.monotonic()

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - started:5.1f}s] {line}", file=sys.stderr, flush=True)

    return emulator.up(
        home=folder,
        stack=STACK,
        allowed_targets=[server.origin],
        allowed_addresses=["127.0.0.1/32"],
        progress=progress,
    )


def _client(emulator: Emulator) -> Client:
    from cronce.client import Client

    return Client.of_session(emulator.api_url, emulator.session())


def _create(client: Client, server: TargetServer, spread: int) -> list[DemoJob]:
    """All jobs, before the first of them is due; and one run by hand."""
    from cronce.client import ApiError

    with suppress(ApiError):
        client.get_job("warms-up-the-function")
    first = first_instant(time.time(), LEAD_SECONDS)
    jobs = demo_jobs(server.origin, first, spread)
    for job in jobs:
        client.put_job(job.job_id, job.document)
        if job.job_id == TRIGGERED:
            run = client.run_job(job.job_id)
            job.expect.update(
                instants=[int(seconds(run["scheduled_for"]))],
                trigger=run["trigger"],
                run_id=run["run_id"],
            )
    if time.time() > first:
        raise CommandError("this machine took too long to create the jobs; try again")
    print(
        f"created {len(jobs)} jobs, the first due in {math.ceil(first - time.time())} s", flush=True
    )
    return jobs


def _watch(
    client: Client,
    server: TargetServer,
    emulator: Emulator,
    watched: Watched,
    shown: View,
    until: float,
) -> None:
    """Shows calls at once and asks for one job's runs at a time, so as not to load the machine."""
    turn = 0
    while (now := time.time()) < until:
        _show_calls(server, watched, shown)
        _kill_held(server, emulator, shown)
        if turn % 2 == 0:
            job_id = watched.jobs[turn // 2 % len(watched.jobs)].job_id
            watched.note(job_id, list(client.list_runs(job_id)))
        shown.refresh(now, watched.records)
        turn += 1
        time.sleep(POLL_SECONDS)


def _kill_held(server: TargetServer, emulator: Emulator, shown: View) -> None:
    if server.held.empty():
        return
    call = server.held.get()
    try:
        pid = kill_caller(call.client_port, server.port, emulator.pid)
    except NotFound as error:
        raise CommandError(f"could not kill the worker: {error}") from None
    shown.event(f"killed worker {pid} (SIGKILL) in the middle of {call.job} {call.run}")


def _show_calls(server: TargetServer, watched: Watched, shown: View) -> None:
    calls = server.calls()
    for call in calls[watched.shown :]:
        shown.called(call)
    watched.shown = len(calls)


def _drain(client: Client, server: TargetServer, watched: Watched, shown: View) -> None:
    """Until every run that was due has ended, or DRAIN_SECONDS have passed."""
    deadline = time.monotonic() + DRAIN_SECONDS
    open_jobs = list(watched.jobs)
    while open_jobs and time.monotonic() < deadline:
        for job in open_jobs:
            watched.note(job.job_id, list(client.list_runs(job.job_id)))
        _show_calls(server, watched, shown)
        shown.refresh(time.time(), watched.records)
        open_jobs = [job for job in open_jobs if not _all_ended(job, watched)]
        if open_jobs:
            time.sleep(1)


def _all_ended(job: DemoJob, watched: Watched) -> bool:
    runs = watched.records[job.job_id]
    ended = sum(run["status"] in TERMINAL for run in runs)
    return ended == len(runs) and ended >= len(instants(job.expect))


def _judge(client: Client, server: TargetServer, watched: Watched) -> Verdict:
    """On records read anew, after all has ended."""
    records = {job.job_id: list(client.list_runs(job.job_id)) for job in watched.jobs}
    calls = [
        Received(
            at=call.at,
            job=call.job,
            run=call.run,
            instant=seconds(call.scheduled_for),
            attempt=call.attempt,
            answered=call.answered is not None,
        )
        for call in server.calls()
    ]
    expected = {job.job_id: job.expect for job in watched.jobs}
    return judge(expected, calls, records, watched.ended.values())


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the demo as Ctrl-C does, so that it stops what it started."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(folder: Path, keep: bool) -> None:
    """A second Ctrl-C does not interrupt this."""
    from cronce.cli import emulator

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        emulator.down(home=folder, reset=not keep)
        if keep:
            print(f"kept {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        signal.signal(signal.SIGINT, before)
