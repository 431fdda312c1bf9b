"""Showing the demo's runs as they happen: a table on a terminal, one line per event elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol

from cronce.cli.demo.judge import TERMINAL, seconds
from cronce.cli.demo.server import Call


class View(Protocol):
    def called(self, call: Call) -> None: ...

    def event(self, text: str) -> None: ...

    def refresh(self, now: float, records: Mapping[str, Sequence[Mapping[str, Any]]]) -> None: ...


@contextmanager
def view(jobs: Sequence[str], until: float) -> Iterator[View]:
    """until: when watching ends, seconds since 1970."""
    if not sys.stdout.isatty():
        yield Lines()
        return
    from rich.live import Live

    with Live(refresh_per_second=4, transient=False) as live:
        yield Table(live, jobs, until)


class Lines:
    def called(self, call: Call) -> None:
        late = (
            f" {1000 * (call.at - seconds(call.scheduled_for)):+.0f} ms"
            if call.attempt == 1
            else ""
        )
        again = f" attempt {call.attempt}" if call.attempt > 1 else ""
        print(f"{_clock(call.at)} {call.job} {call.run}{again}{late}", flush=True)

    def event(self, text: str) -> None:
        print(f"{_clock(time.time())} {text}", flush=True)

    def refresh(self, now: float, records: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Calls and events were shown as they came."""


class Table:
    """One row a job: calls so far, the latest run and how it stands."""

    def __init__(self, live: Any, jobs: Sequence[str], until: float) -> None:
        self._live, self._jobs, self._until = live, jobs, until
        self._calls: Counter[str] = Counter()
        self._latest: dict[str, Call] = {}

    def called(self, call: Call) -> None:
        self._calls[call.job] += 1
        self._latest[call.job] = call

    def event(self, text: str) -> None:
        self._live.console.print(f"{_clock(time.time())} {text}", markup=False, highlight=False)

    def refresh(self, now: float, records: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        from cronce.cli.output import style_of

        left = max(0, round(self._until - now))
        table = RichTable(box=box.SIMPLE, title=f"{sum(self._calls.values())} calls, {left} s left")
        for column in ("job", "calls", "ended", "latest run", "attempt", "status"):
            table.add_column(column)
        for job in self._jobs:
            of_job = records.get(job, ())
            ended = sum(run["status"] in TERMINAL for run in of_job)
            latest = self._latest.get(job)
            status = str(of_job[0]["status"]) if of_job else "called" if latest else "waiting"
            run, attempt = (latest.run, str(latest.attempt)) if latest else ("", "")
            counts = str(self._calls[job] or ""), str(ended or "")
            table.add_row(job, *counts, run, attempt, Text(status, style_of(status)))
        self._live.update(table)


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%H:%M:%S.%f}"[:-3]
