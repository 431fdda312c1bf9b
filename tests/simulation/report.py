"""Many seeds, on every core, and what came of them: the matrix, the violations, how to replay."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from multiprocessing import get_context
from typing import Any

from .faults import CELLS, CRASHES, KINDS
from .kernel import START, Process
from .run import Outcome, simulate

SHOWN = 20
# In so many seeds every cell must be met; in so many every call must die and be disappointed, the
# seldom ones one of the two.
LONG, SHORT = 3_000, 500
SELDOM = {"miss", "concede", "lose", "redrive", "put_missed", "idle"}
REPLAY = "python -m tests.simulation --seed {seed} --trace"


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    if options.seed is not None:
        outcome = simulate(options.seed, _print_trace if options.trace else None)
        print(line(outcome))
        return int(bool(outcome.broken))
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    total = Total()
    for outcome in outcomes(seeds, options.processes):
        total.add(outcome)
        if outcome.broken and total.bad <= SHOWN:
            print(line(outcome), flush=True)
    print(total.text())
    print(f"{time.monotonic() - began:.0f} s")
    return int(bool(total.bad or total.missing()))


def outcomes(seeds: Iterable[int], processes: int) -> Iterator[Outcome]:
    if processes <= 1:
        yield from map(simulate, seeds)
        return
    with get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(simulate, seeds, chunksize=4)


class Total:
    """The sum of many outcomes."""

    def __init__(self) -> None:
        self.seeds = self.runs = self.executions = self.bad = self.violations = 0
        self.minutes = 0.0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.shown: list[Outcome] = []
        self.times: dict[str, list[float]] = {}

    def add(self, o: Outcome) -> None:
        self.seeds += 1
        self.runs += o.runs
        self.executions += o.executions
        self.minutes += o.minutes
        self.bad += bool(o.broken)
        if o.broken and len(self.shown) < SHOWN:
            self.shown.append(o)
        self.violations += len(o.broken)
        self.counts.update(o.counts)
        for what, took in o.times:
            self.times.setdefault(what, []).append(took)

    def unreached(self) -> list[tuple[str, str]]:
        return [cell for cell in CELLS if not self.counts[cell]]

    def missing(self) -> list[tuple[str, str]]:
        """What so many seeds ought to have reached."""
        if self.seeds >= LONG:
            return self.unreached()
        if self.seeds < SHORT:
            return []
        died = {m for (m, kind), n in self.counts.items() if n and kind in CRASHES}
        disappointed = {m for (m, kind), n in self.counts.items() if n and kind not in CRASHES}
        return [
            (method, kind)
            for method, kind in self.unreached()
            if method not in (died if kind in CRASHES else disappointed)
            and (method not in SELDOM or method not in died | disappointed)
        ]

    def text(self) -> str:
        width = max(len(method) for method, _ in CELLS)
        lines = [f"{'':{width}}  " + "  ".join(f"{k:>12}" for k in KINDS)]
        for method in dict.fromkeys(m for m, _ in CELLS):
            row = [f"{self.counts[method, k] if (method, k) in CELLS else '':>12}" for k in KINDS]
            lines.append(f"{method:{width}}  " + "  ".join(row))
        others = sorted(c for c in self.counts if c not in CELLS)
        lines += [f"{where}, {what}: {self.counts[where, what]}" for where, what in others]
        lines += [_spread(what, took) for what, took in sorted(self.times.items())]
        lines += [f"not reached: {method}, {kind}" for method, kind in self.unreached()]
        lines.append(
            f"{self.seeds} seeds, {self.minutes / 60:.0f} hours, {self.runs} runs,"
            f" {self.executions} executions, {sum(self.counts.values())} faults,"
            f" {self.violations} violations in {self.bad} seeds"
        )
        return "\n".join(lines)


def _spread(what: str, took: list[float]) -> str:
    took = sorted(took)
    return (
        f"{what}: {len(took)} times, median {took[len(took) // 2]:.1f} s,"
        f" 99 % {took[len(took) * 99 // 100]:.1f} s, longest {took[-1]:.1f} s"
    )


def line(o: Outcome) -> str:
    first = f"\n  {o.broken[0]}\n  {REPLAY.format(seed=o.seed)}" if o.broken else ""
    return f"seed {o.seed} ({o.profile}): {o.runs} runs, {len(o.broken)} violations{first}"


def _print_trace(now: int, process: Process, action: str, fields: dict[str, Any]) -> None:
    shown = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
    clock = f"{now / 1000:9.3f} {process.name:<12} {process.offset / 1000:+.1f}"
    print(f"{clock} {action} {shown}"[:240])


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return f"{(value - START).total_seconds():.3f}"
    return str(value)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="with --seed: all that happens")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(argv)
