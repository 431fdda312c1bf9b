"""What a fault is tried on: a deployment whose functions go through a proxy, the jobs of one
scenario, and the judgement of what became of them.

Jobs are created while the queue refuses everything, so that a tick has to dispatch them; the rule
is off, so that a test says when there is one.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.config import Config

from cronce.cli.demo.server import Call, TargetServer
from cronce.cli.emulator import Emulator, function_processes
from cronce.client import ApiError, Client
from support.emulator import eventually
from support.faults_proxy import ENDED, Proxy

Row = dict[str, Any]
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=90)
FUNCTIONS = ("WorkerFunction", "DispatcherFunction", "ApiFunction")


@dataclass(frozen=True)
class Expected:
    """A run that has to be, by the test's own list."""

    job_id: str
    at: datetime

    @property
    def occurrence(self) -> str:
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class Outcome:
    """Counts of runs; again: calls of a run that named an attempt above the first; repeated: calls
    that named the same run and attempt as another one. seconds: the slowest recovery, from `since`
    on; None where nothing had to recover."""

    fault: str
    runs: int
    lost: int
    twice: int
    again: int
    repeated: int
    seconds: float | None = None
    since: str = ""

    def line(self) -> str:
        took = (
            "nothing to recover" if self.seconds is None else f"{self.seconds:.1f} s {self.since}"
        )
        cells = [self.fault, self.runs, self.lost, self.twice, self.again, self.repeated, took]
        return "| " + " | ".join(map(str, cells)) + " |"


HEAD = (
    "| fault | runs | lost | recorded twice | further attempts | attempts begun twice |"
    " slowest recovery |\n|---|---|---|---|---|---|---|"
)


def slack() -> float:
    """How much longer things take here than on a machine with a core to spare."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def instant(row: Row, name: str) -> float:
    """An instant of a row, in epoch seconds."""
    return datetime.fromisoformat(row[name]["S"]).timestamp()


@dataclass
class Ground:
    emulator: Emulator
    client: Client
    aws: Callable[[str], Any]
    target: TargetServer
    proxy: Proxy
    rule: str
    outcomes: list[Outcome] = field(default_factory=list)
    began: float = 0.0

    # --- jobs

    def jobs(self, count: int, *, seconds: int, path: str = "/ok") -> list[Expected]:
        """So many one-off jobs, due together in so many seconds (up to twice that where the machine
        is busy), known to the table alone."""
        self.began = time.time()
        ahead = timedelta(seconds=seconds * min(2.0, slack()))
        at = (datetime.now(UTC) + ahead).replace(microsecond=0)
        name = uuid.uuid4().hex[:8]
        expected = [Expected(f"fault.{name}.{n}", at) for n in range(count)]

        def put(run: Expected) -> None:
            document = {
                "schedule": {"at": run.occurrence},
                "target": {"http": {"url": f"{self.target.origin}{path}"}},
            }
            self.client.put_job(run.job_id, document)

        with self.proxy.refusing("SendMessageBatch"), ThreadPoolExecutor(3) as threads:
            list(threads.map(put, expected))
        assert datetime.now(UTC) < at, "the machine is too slow for so many jobs in this time"
        return expected

    def advanced(self, expected: Sequence[Expected]) -> bool:
        """Whether every job has left the index."""
        return all("next_run" not in self._row(run.job_id, "JOB") for run in expected)

    # --- ticks

    def tick(self) -> dict[str, Any]:
        """What the dispatcher answers; {} if it died."""
        answer = self.aws("lambda", config=ONCE).invoke(
            FunctionName=self.emulator.outputs["DispatcherFunction"],
            Payload=json.dumps({"time": datetime.now(UTC).isoformat()}),
        )
        payload: dict[str, Any] = json.load(answer["Payload"])
        return {} if answer.get("FunctionError") else payload

    def lead(self) -> dict[str, Any]:
        """A tick that leads, whoever did before."""
        self.depose()
        answer = self.tick()
        assert answer.get("led"), answer
        return answer

    def await_lead(self, seconds: float) -> dict[str, Any]:
        """The first tick that leads; the lease of the last one has to run out."""

        def led() -> dict[str, Any]:
            answer = self.tick()
            return answer if answer.get("led") else {}

        return eventually(led, seconds)

    @contextmanager
    def ruled(self) -> Iterator[None]:
        """The rule fires within the block."""
        self.aws("events").enable_rule(Name=self.rule)
        try:
            yield
        finally:
            self.aws("events").disable_rule(Name=self.rule)

    def dispatchers(self) -> list[int]:
        return function_processes(self.emulator, self.emulator.outputs["DispatcherFunction"])

    def depose(self) -> None:
        """The dispatcher's lease is gone, as if it had run out in mid-tick."""
        key = {"pk": {"S": "DISPATCHER#0"}, "sk": {"S": "LEASE"}}
        self.aws("dynamodb").delete_item(TableName=self._table, Key=key)

    # --- queue

    def in_queue(self) -> int:
        """Messages in any state."""
        kinds = ("", "Delayed", "NotVisible")
        names = [f"ApproximateNumberOfMessages{kind}" for kind in kinds]
        answer = self.aws("sqs").get_queue_attributes(
            QueueUrl=self.emulator.outputs["QueueUrl"], AttributeNames=names
        )
        return sum(int(answer["Attributes"][name]) for name in names)

    # --- runs

    def row(self, run: Expected) -> Row:
        """The run's row as it is stored, or {}."""
        found = self.aws("dynamodb").query(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :run)",
            ExpressionAttributeValues={":pk": {"S": f"JOB#{run.job_id}"}, ":run": {"S": "RUN#"}},
            ConsistentRead=True,
        )["Items"]
        assert len(found) <= 1, found
        return found[0] if found else {}

    def settle(self, expected: Sequence[Expected], seconds: float) -> None:
        """Until every run has ended."""
        open_ = list(expected)

        def ended() -> bool:
            open_[:] = [r for r in open_ if self.row(r).get("status", {}).get("S") not in ENDED]
            return not open_

        eventually(ended, seconds)

    def calls(self, expected: Sequence[Expected], attempt: int | None = None) -> list[Call]:
        jobs = {run.job_id for run in expected}
        return [
            call
            for call in self.target.calls()
            if call.job in jobs and attempt in (None, call.attempt)
        ]

    def judge(
        self,
        fault: str,
        expected: Sequence[Expected],
        seconds: float | None = None,
        since: str = "",
    ) -> Outcome:
        """By the API's answers, the target's record of its calls and the writes that were accepted
        as endings; the outcome joins the table."""
        with ThreadPoolExecutor(3) as threads:
            runs = list(threads.map(lambda r: list(self.client.list_runs(r.job_id)), expected))
        lost = sum(
            [(run["scheduled_for"], run["status"]) for run in found]
            != [(wanted.occurrence, "succeeded")]
            for wanted, found in zip(expected, runs, strict=True)
        )
        jobs = {f"JOB#{run.job_id}" for run in expected}
        endings = Counter(key for key in self.proxy.endings(self.began) if key[0] in jobs)
        assert len(endings) == len(expected), "an ending was written past the proxy, or not at all"
        calls = self.calls(expected)
        begun = Counter((call.job, call.run, call.attempt) for call in calls)
        outcome = Outcome(
            fault,
            runs=len(expected),
            lost=lost,
            twice=sum(n - 1 for n in endings.values()),
            again=sum(call.attempt > 1 for call in calls),
            repeated=sum(n - 1 for n in begun.values()),
            seconds=seconds,
            since=since,
        )
        self.outcomes.append(outcome)
        return outcome

    @property
    def _table(self) -> str:
        return self.emulator.outputs["TableName"]

    def _row(self, job_id: str, sk: str) -> Row:
        key = {"pk": {"S": f"JOB#{job_id}"}, "sk": {"S": sk}}
        item: Row = self.aws("dynamodb").get_item(
            TableName=self._table, Key=key, ConsistentRead=True
        )["Item"]
        return item


@contextmanager
def prepared(emulator: Emulator, client: Client) -> Iterator[Ground]:
    """The deployment as it was, after the block."""
    session = emulator.session()

    def aws(service: str, **more: Any) -> Any:
        return session.client(service, endpoint_url=emulator.endpoint, **more)

    kept = {name: aws(name) for name in ("dynamodb", "sqs", "events", "lambda")}

    def chosen(service: str, **more: Any) -> Any:
        return aws(service, **more) if more else kept[service]

    rule = _rule_of(kept["events"], emulator.outputs["DispatcherFunction"])
    with TargetServer().running() as target, Proxy(emulator.endpoint).running() as proxy:
        before = {
            name: _point(kept["lambda"], emulator.outputs[name], proxy.endpoint)
            for name in FUNCTIONS
        }
        kept["events"].disable_rule(Name=rule)
        _warm(client)
        try:
            yield Ground(emulator, client, chosen, target, proxy, rule)
        finally:
            kept["events"].enable_rule(Name=rule)
            for name, variables in before.items():
                kept["lambda"].update_function_configuration(
                    FunctionName=emulator.outputs[name], Environment={"Variables": variables}
                )


def _warm(client: Client) -> None:
    """So that an instant a few seconds away is not past when the first request is served."""
    with ThreadPoolExecutor(3) as threads:
        for asked in [threads.submit(client.get_job, "nothing") for _ in range(3)]:
            assert isinstance(asked.exception(), ApiError)


def _point(functions: Any, name: str, endpoint: str) -> dict[str, str]:
    """The function's calls go to the endpoint from now on; its variables before."""
    found = functions.get_function_configuration(FunctionName=name)
    variables: dict[str, str] = found["Environment"]["Variables"]
    changed = {**variables, "AWS_ENDPOINT_URL": endpoint}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": changed})
    return variables


def _rule_of(events: Any, function: str) -> str:
    for rule in events.list_rules()["Rules"]:
        targets = events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
        if any(target["Arn"].endswith(f":{function}") for target in targets):
            return str(rule["Name"])
    raise AssertionError(f"no rule invokes {function}")
