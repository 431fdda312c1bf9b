"""Judges the demo from the outside: what was due comes from the demo's own list and the clock,
what happened from the calls that the server recorded and the records that the API shows.

Only the standard library is imported here. Instants are seconds since 1970.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

TERMINAL = ("succeeded", "failed", "skipped", "cancelled", "missed")

Key = tuple[str, float, str]  # job, instant, trigger


@dataclass(frozen=True)
class Received:
    """A call: when it came, of which job, run and attempt, the instant it named, and whether the
    server got to answer it."""

    at: float
    job: str
    run: str
    instant: float
    attempt: int
    answered: bool


@dataclass
class Verdict:
    """latenesses: first call minus due instant, seconds. findings: every fault, in words."""

    due: int = 0
    succeeded: int = 0
    failed: int = 0
    lost: int = 0
    duplicated: int = 0
    early: int = 0
    reclaimed: int = 0
    latenesses: list[float] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not (self.lost or self.duplicated or self.early or self.findings)

    def line(self) -> str:
        p50, p99 = (f"{percentile(self.latenesses, p):.3f}s" for p in (50, 99))
        return (
            f"demo: {self.due} due, {self.succeeded} succeeded, {self.failed} failed,"
            f" {self.lost} lost, {self.duplicated} duplicated, {self.early} early,"
            f" {self.reclaimed} reclaimed, lateness p50 {p50} p99 {p99}"
        )


def instants(expect: Mapping[str, Any]) -> list[int]:
    """When a job of the list was due.

    >>> instants({"kind": "every", "anchor": 100, "step": 5, "until": 112})
    [100, 105, 110]
    """
    if expect["kind"] == "every":
        return list(range(expect["anchor"], expect["until"] + 1, expect["step"]))
    return list(expect["instants"])


def percentile(values: Sequence[float], percent: int) -> float:
    """By nearest rank; nan without values."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)] if ranked else float("nan")


def seconds(text: str) -> float:
    """An ISO 8601 instant."""
    return datetime.fromisoformat(text).timestamp()


def judge(
    expected: Mapping[str, Mapping[str, Any]],
    calls: Sequence[Received],
    records: Mapping[str, Sequence[Mapping[str, Any]]],
    seen_terminal: Iterable[Mapping[str, Any]] = (),
) -> Verdict:
    """expected: by job, ``kind`` every (anchor, step, until), once (instants) or triggered (run_id,
    instants), with attempts, jitter and reclaimed where they matter. records: of each job, the
    run documents. seen_terminal: run documents seen ended at any time before.
    """
    return _Case(expected, calls, records).judge(seen_terminal)


class _Case:
    def __init__(
        self,
        expected: Mapping[str, Mapping[str, Any]],
        calls: Sequence[Received],
        records: Mapping[str, Sequence[Mapping[str, Any]]],
    ) -> None:
        self.expected = expected
        self.calls = calls
        self.records = [record for of_job in records.values() for record in of_job]
        self.verdict = Verdict()
        self.calls_of: dict[tuple[str, str], list[Received]] = defaultdict(list)
        for call in calls:
            self.calls_of[call.job, call.run].append(call)
        self.records_of: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
        for record in self.records:
            self.records_of[_key(record)].append(record)

    def judge(self, seen_terminal: Iterable[Mapping[str, Any]]) -> Verdict:
        due = self._due()
        for key, expect in due.items():
            self._judge_occurrence(key, expect)
        self._judge_calls(due)
        self._judge_records(due, seen_terminal)
        if not self.verdict.reclaimed:
            self.verdict.findings.append("no run was reclaimed")
        return self.verdict

    def _due(self) -> dict[Key, Mapping[str, Any]]:
        found: dict[Key, Mapping[str, Any]] = {}
        for job, expect in self.expected.items():
            for instant in instants(expect):
                found[job, float(instant), str(expect.get("trigger", ""))] = expect
        self.verdict.due = len(found)
        return found

    def _judge_occurrence(self, key: Key, expect: Mapping[str, Any]) -> None:
        name = _name(key)
        ended = [r for r in self.records_of.get(key, []) if r["status"] in TERMINAL]
        calls = self.calls_of.get((key[0], ended[0]["run_id"]), []) if ended else []
        if not ended or not calls:
            self._lost(f"{name}: {'no call' if ended else 'no terminal record'}")
            return
        record = ended[0]
        if record["status"] == "succeeded":
            self.verdict.succeeded += 1
        else:
            self.verdict.failed += 1
        self._judge_attempts(name, record, calls)
        self._judge_promises(name, record, calls, expect)
        self._measure(name, key, record, calls, int(expect.get("jitter", 0)))

    def _judge_attempts(
        self, name: str, record: Mapping[str, Any], calls: Sequence[Received]
    ) -> None:
        """Every attempt was called, or is known to have been lost before it could call."""
        called = {call.attempt for call in calls}
        entries = {entry["attempt"]: entry["outcome"] for entry in record.get("attempts") or []}
        for attempt in range(1, record["attempt"] + 1):
            last = attempt == record["attempt"]
            if attempt not in called and (last or entries.get(attempt) != "lost"):
                self._lost(f"{name}: attempt {attempt} was never called")
            if not last and attempt not in entries:
                self._lost(f"{name}: attempt {attempt} is not in the record")
        for attempt in sorted(a for a in called if not 1 <= a <= record["attempt"]):
            self._duplicated(f"{name}: attempt {attempt} was called, the record knows none")
        broken = [c.attempt for c in calls if entries.get(c.attempt) == "lost" and not c.answered]
        if broken and max(called) > min(broken):
            self.verdict.reclaimed += 1

    def _judge_promises(
        self,
        name: str,
        record: Mapping[str, Any],
        calls: Sequence[Received],
        expect: Mapping[str, Any],
    ) -> None:
        wanted = expect.get("attempts")
        numbers = sorted(call.attempt for call in calls)
        if wanted and (record["status"], numbers) != ("succeeded", list(range(1, wanted + 1))):
            self.verdict.findings.append(
                f"{name}: {record['status']} with calls of attempts {numbers}, expected to succeed"
                f" on attempt {wanted}"
            )
        if expect.get("reclaimed") and (
            record["status"] != "succeeded" or record["attempt"] < 2 or calls[0].answered
        ):
            self.verdict.findings.append(f"{name}: was not reclaimed from the killed worker")

    def _measure(
        self,
        name: str,
        key: Key,
        record: Mapping[str, Any],
        calls: Sequence[Received],
        jitter: int,
    ) -> None:
        due = key[1]
        if jitter:
            due = seconds(record["due"])
            if not key[1] <= due <= key[1] + jitter:
                self.verdict.findings.append(f"{name}: due outside its jitter, at {record['due']}")
        self.verdict.latenesses.append(min(call.at for call in calls) - due)

    def _judge_calls(self, due: Mapping[Key, Mapping[str, Any]]) -> None:
        counted = Counter((call.job, call.run, call.attempt) for call in self.calls)
        for (job, run, attempt), times in counted.items():
            if times > 1:
                self._duplicated(f"{job} {run}: attempt {attempt} was called {times} times")
        triggered = {str(e["run_id"]) for e in self.expected.values() if e.get("run_id")}
        runs: dict[tuple[str, float], set[str]] = defaultdict(set)
        for call in self.calls:
            if call.at < call.instant:
                self.verdict.early += 1
                early = call.instant - call.at
                self.verdict.findings.append(f"{call.job} {call.run}: {early:.3f}s early")
            if call.run in triggered:
                continue
            runs[call.job, call.instant].add(call.run)
            if (call.job, call.instant, "") not in due:
                self._duplicated(f"{call.job} {call.run}: called, but nothing was due then")
        for (job, instant), named in runs.items():
            if len(named) > 1:
                self._duplicated(f"{_name((job, instant, ''))}: ran as {', '.join(sorted(named))}")

    def _judge_records(
        self, due: Mapping[Key, Mapping[str, Any]], seen_terminal: Iterable[Mapping[str, Any]]
    ) -> None:
        for key, records in self.records_of.items():
            if len(records) > 1:
                self._duplicated(f"{_name(key)}: {len(records)} records")
            if key not in due:
                self._duplicated(f"{_name(key)}: a record, but nothing was due then")
            for record in records:
                numbers = Counter(entry["attempt"] for entry in record.get("attempts") or [])
                if any(times > 1 for times in numbers.values()):
                    self._duplicated(f"{_name(key)}: an attempt is recorded twice")
        final = {(record["job_id"], record["run_id"]): _ending(record) for record in self.records}
        changed = {
            (record["job_id"], record["run_id"])
            for record in seen_terminal
            if final.get((record["job_id"], record["run_id"])) != _ending(record)
        }
        for job, run in sorted(changed):
            self._duplicated(f"{job} {run}: its terminal record changed afterwards")

    def _lost(self, finding: str) -> None:
        self.verdict.lost += 1
        self.verdict.findings.append(f"lost: {finding}")

    def _duplicated(self, finding: str) -> None:
        self.verdict.duplicated += 1
        self.verdict.findings.append(f"duplicated: {finding}")


def _key(record: Mapping[str, Any]) -> Key:
    return record["job_id"], seconds(record["scheduled_for"]), record.get("trigger") or ""


def _ending(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return record["status"], record["attempt"], record.get("finished_at")


def _name(key: Key) -> str:
    at = f"{datetime.fromtimestamp(key[1]).astimezone():%H:%M:%S}"
    return f"{key[0]} {at}" + (f" {key[2]}" if key[2] else "")
