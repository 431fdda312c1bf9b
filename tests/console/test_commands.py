"""explain, status and doctor, over a deployment in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cronce.cli import connect, explain, status
from cronce.cli.doctor import of_api, of_aws, place
from cronce.cli.doctor.findings import Finding, trouble
from cronce.cli.doctor.place import Place
from cronce.cli.main import run
from cronce.client import ApiError, Unreachable
from support.acted import Acted

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def connected(night: Acted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "connect", lambda choice: night)


# --- explain


def test_a_run_is_explained(night: Acted, capsys: Said) -> None:
    flaky = next(
        r for r in night.list_runs("flaky.sync") if r["status"] == "succeeded" and r["attempt"] == 2
    )
    assert run(["runs", "explain", "flaky.sync", flaky["run_id"]]) == 0
    out = capsys.readouterr().out
    assert f"{flaky['run_id']}  succeeded" in out
    words = [line.split("  ")[0:] for line in out.splitlines()]
    assert len(words) >= 7
    for text in (
        "sent by a tick",
        "attempt 1 failed: http_503, upstream",
        "succeeded with attempt 2",
    ):
        assert text in out
    assert run(["runs", "explain", "flaky.sync", flaky["run_id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == flaky
    assert run(["runs", "explain", "flaky.sync", "nonsense"]) == 3


def test_the_log_of_a_run_on_the_emulator(
    night: Acted, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    """Its functions write into one file, and not to the group that they are told."""
    run_id = next(iter(night.list_runs("flaky.sync")))["run_id"]
    here = SimpleNamespace(log=Path("/x y/.cronce/emulator.log"))
    monkeypatch.setattr(explain, "local_emulator", lambda choice: here)
    assert run(["runs", "explain", "flaky.sync", run_id]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"its log: grep {run_id} '/x y/.cronce/emulator.log'"


def test_the_log_of_an_attempt_can_be_pasted() -> None:
    log = {"group": "/aws/lambda/w", "stream": "2026/11/30/[$LATEST]0f", "request_id": "r-1"}
    command = explain.logs_command(log)
    assert "'2026/11/30/[$LATEST]0f'" in command
    assert command.endswith("--filter-pattern '\"r-1\"'")


# --- status


def since(night: Acted) -> list[str]:
    """The command looks from this machine's clock; virtual time has its own."""
    return ["--since", (night.instant() - timedelta(hours=12)).isoformat()]


def test_the_last_night_on_one_screen(night: Acted, capsys: Said) -> None:
    assert run(["status", *since(night)]) == 0
    out = capsys.readouterr().out
    said = night.overview()
    assert f"{said['outcomes']['succeeded']} succeeded, {said['outcomes']['failed']} failed" in out
    assert "at most 100 ms for half of the runs" in out
    assert "0 in error, 1 paused" in out
    assert "http_410" in out
    assert len(out.splitlines()) <= 40
    assert all(len(line) < 160 for line in out.splitlines())


def test_status_for_programs(night: Acted, capsys: Said) -> None:
    assert run(["status", *since(night), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert set(seen) == {"overview", "attention", "coming", "error", "paused"}
    assert [job["id"] for job in seen["paused"]] == ["resting"]


def test_how_far_back(capsys: Said) -> None:
    now = datetime.fromisoformat("2026-11-30T10:00:00Z")
    assert status.beginning("2d", now) == "2026-11-28T10:00:00Z"
    assert status.beginning("2026-11-30T10:00:00+01:00", now) == "2026-11-30T09:00:00Z"
    for text in ("yesterday", "2026-11-30T10:00:00", "30d"):
        assert run(["status", "--since", text]) == 2
        assert "--since" in capsys.readouterr().err


# --- doctor: what the API tells


def deep(night: Acted, **changes: Any) -> dict[str, Any]:
    return {**night.deep_health(), **changes}


def later(night: Acted, seconds: float) -> str:
    return (night.instant() + timedelta(seconds=seconds)).isoformat()


def test_a_deployment_that_is_well(night: Acted) -> None:
    seen = deep(night)
    now = datetime.fromisoformat(seen["now"])
    found = [
        of_api.clock(seen, now - timedelta(seconds=1), now + timedelta(seconds=1)),
        *of_api.ticks(seen, {}),
        of_api.overdue(seen),
        of_api.records(seen),
        *of_api.versions(seen),
        of_api.in_error(night.jobs_page(status="error", limit=5)),
    ]
    assert [f for f in found if f.state != "ok"] == []
    assert {f.name for f in found} >= {"clock", "tick", "overdue", "release", "tzdata"}


def test_a_clock_that_is_off(night: Acted) -> None:
    seen = deep(night)
    now = datetime.fromisoformat(seen["now"])
    off = of_api.clock(seen, now + timedelta(seconds=6), now + timedelta(seconds=6))
    assert off.state == "trouble"
    slow = of_api.clock(seen, now + timedelta(seconds=2), now + timedelta(seconds=10))
    assert slow.state == "ok"  # a slow answer proves nothing


def test_ticks_that_stopped(night: Acted) -> None:
    (old,) = of_api.ticks(deep(night, now=later(night, 500)), {"DispatcherLogs": "/d"})
    assert (old.state, "/d" in old.advice) == ("trouble", True)
    never = {"slice": 0, "last_tick": None, "claimed_up_to": None}
    assert next(of_api.ticks(deep(night, ticks=[never]), {})).state == "trouble"
    for age, state in ((20, "note"), (600, "trouble")):
        changed_at = night.instant() - timedelta(seconds=age)
        (found,) = of_api.ticks(deep(night, ticks=[never]), {}, changed_at)
        assert found.state == state


def test_jobs_that_are_overdue(night: Acted) -> None:
    jobs = [{"job_id": "late.one", "next_run": later(night, -600)}]
    found = of_api.overdue(deep(night, overdue=jobs))
    assert found.state == "trouble"
    assert "late.one" in found.text
    just = [{"job_id": "a", "next_run": later(night, -30)}]
    assert of_api.overdue(deep(night, overdue=just)).state == "ok"
    waiting = deep(night, oldest_record=later(night, -3000), overdue_records=4)
    assert of_api.records(waiting).state == "trouble"


@pytest.mark.parametrize(("there", "state"), [("2020a", "note"), ("2999z", "note")])
def test_another_release_of_the_time_zones(night: Acted, there: str, state: str) -> None:
    found = {f.name: f for f in of_api.versions(deep(night, tzdata=there, version="0.0.9"))}
    assert (found["tzdata"].state, found["release"].state) == (state, "note")
    assert there in found["tzdata"].text


def test_jobs_in_error() -> None:
    job = {"id": "a", "status": {"reason": "unknown time zone"}}
    found = of_api.in_error({"jobs": [job], "cursor": "more"})
    assert found.state == "trouble"
    assert found.text == "a: unknown time zone and more"


class Refusing:
    """Every call ends in the error, but those that are named."""

    def __init__(self, error: Exception, night: Acted, *allowed: str) -> None:
        self._error, self._night, self._allowed = error, night, allowed

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            raise self._error

        return getattr(self._night, name) if name in self._allowed else call


def place_of(client: Any, aws: Any = None) -> Place:
    return Place("s", client, aws, OUTPUTS, None)


def test_an_api_that_cannot_be_reached_or_refuses(night: Acted) -> None:
    (away,) = of_api.examine(place_of(Refusing(Unreachable("no answer"), night)))
    assert (away.name, away.state) == ("api", "trouble")
    denied = ApiError(403, {"message": "not authorized"})
    (refused,) = of_api.examine(place_of(Refusing(denied, night)))
    assert "execute-api:Invoke" in refused.advice


def test_a_caller_who_may_see_a_part(night: Acted) -> None:
    denied = ApiError(403, {"message": "not authorized"})
    seen = list(of_api.examine(place_of(Refusing(denied, night, "health", "jobs_page"))))
    found = {f.name: f for f in seen}
    assert found["permissions"].state == "note"
    assert "GET /overview" in found["permissions"].text
    assert "GET /jobs" not in found["permissions"].text
    assert found["dispatching"].state == "unknown"
    assert [f.name for f in seen if f.state == "trouble"] == []


# --- doctor: what AWS tells

OUTPUTS = {
    "QueueUrl": "https://sqs/1/runs",
    "DeadLetterQueueUrl": "https://sqs/1/dead",
    "WorkerFunction": "worker",
    "DispatcherFunction": "dispatcher",
    "ApiFunction": "api",
}


@dataclass
class Account:
    """Answers as AWS does, by operation; an exception is raised."""

    answers: dict[str, Any] = field(default_factory=dict)
    dead: int = 0

    def client(self, service: str, **_: Any) -> Any:
        return self

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> Any:
        self._raise("get_queue_attributes")
        count = self.dead if QueueUrl.endswith("dead") else 3
        return {"Attributes": {name: str(count) for name in AttributeNames}}

    def _raise(self, name: str) -> Any:
        answer = self.answers.get(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda **_: self._raise(name)


def well() -> Account:
    mapping = {"State": "Enabled", "ScalingConfig": {"MaximumConcurrency": 20}}
    return Account(
        {
            "get_function_configuration": {"FunctionArn": "arn:f"},
            "list_rule_names_by_target": {"RuleNames": ["tick"]},
            "describe_rule": {"State": "ENABLED"},
            "list_event_source_mappings": {"EventSourceMappings": [mapping]},
            "get_metric_statistics": {"Datapoints": [{"Maximum": 2.0}, {"Maximum": 5.0}]},
            "get_function_concurrency": {},
            "get_account_settings": {"AccountLimit": {"UnreservedConcurrentExecutions": 900}},
        }
    )


def seen_by(account: Account) -> dict[str, Finding]:
    return {f.name: f for f in of_aws.examine(place_of(None, account))}


def test_an_account_that_is_well() -> None:
    found = seen_by(well())
    assert {f.state for f in found.values()} == {"ok"}
    assert len(found) == len(of_aws.LOOKS)


@pytest.mark.parametrize(
    ("operation", "answer", "name", "words"),
    [
        ("describe_rule", {"State": "DISABLED"}, "rule", "disabled"),
        ("list_rule_names_by_target", {"RuleNames": []}, "rule", "no rule"),
        (
            "list_event_source_mappings",
            {"EventSourceMappings": [{"State": "Disabled"}]},
            "workers",
            "not polled",
        ),
        ("get_metric_statistics", {"Datapoints": [{"Maximum": 500.0}]}, "oldest", "8 min"),
        (
            "get_function_concurrency",
            {"ReservedConcurrentExecutions": 0},
            "concurrency",
            "throttled to 0",
        ),
        (
            "get_account_settings",
            {"AccountLimit": {"UnreservedConcurrentExecutions": 10}},
            "concurrency",
            "has 10 unreserved",
        ),
    ],
)
def test_what_is_wrong_in_the_account(operation: str, answer: Any, name: str, words: str) -> None:
    account = well()
    account.answers[operation] = answer
    found = seen_by(account)
    assert [n for n, f in found.items() if f.state == "trouble"] == [name]
    assert words in found[name].text
    assert found[name].advice


def test_dead_letters() -> None:
    account = well()
    account.dead = 2
    found = seen_by(account)["dead letters"]
    assert found.state == "trouble"
    assert "https://sqs/1/dead" in found.advice


def test_what_may_not_be_looked_at_is_no_trouble() -> None:
    denied = ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetAccountSettings")
    away = EndpointConnectionError(endpoint_url="https://x")
    names = [*well().answers, "get_queue_attributes"]
    found = seen_by(Account(dict.fromkeys(names, denied)))
    assert {f.state for f in found.values()} == {"unknown"}
    assert all("needs " in f.advice for f in found.values())
    assert "sqs:GetQueueAttributes" in found["dead letters"].advice
    found = seen_by(Account(dict.fromkeys(names, away)))
    assert {f.state for f in found.values()} == {"unknown"}


def test_when_a_stack_was_changed() -> None:
    made, changed = (datetime.fromisoformat(f"2026-11-{day}T10:00:00Z") for day in (29, 30))
    account = well()
    assert place_of(None, account).changed_at() is None
    account.answers["describe_stacks"] = {"Stacks": [{"CreationTime": made}]}
    assert place_of(None, account).changed_at() == made
    account.answers["describe_stacks"] = {
        "Stacks": [{"CreationTime": made, "LastUpdatedTime": changed}]
    }
    assert place_of(None, account).changed_at() == changed
    denied = ClientError({"Error": {"Code": "AccessDenied"}}, "DescribeStacks")
    account.answers["describe_stacks"] = denied
    assert place_of(None, account).changed_at() is None


class NeverTicked:
    """A deployment of which nothing else is wrong."""

    def __init__(self, night: Acted) -> None:
        self._night = night

    def __getattr__(self, name: str) -> Any:
        return getattr(self._night, name)

    def deep_health(self) -> Any:
        never = {"slice": 0, "last_tick": None, "claimed_up_to": None}
        return {**self._night.deep_health(), "ticks": [never]}


def test_a_new_deployment_has_not_ticked_yet(night: Acted) -> None:
    account = well()
    for age, state in ((30, "note"), (3_600, "trouble")):
        made = night.instant() - timedelta(seconds=age)
        account.answers["describe_stacks"] = {"Stacks": [{"CreationTime": made}]}
        found = {f.name: f for f in of_api.examine(place_of(NeverTicked(night), account))}
        assert found["tick"].state == state


# --- doctor: the command


def test_the_exit_code_says_whether_something_is_wrong(
    night: Acted, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    there = Place("s", night, well(), OUTPUTS, None)
    monkeypatch.setattr(place, "find", lambda choice: there)
    monkeypatch.setattr(of_api, "clock", lambda *_: Finding("clock", "ok", "0 ms apart"))
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "nothing is wrong" in out
    assert out.splitlines()[0].startswith("ok        deployment")
    there.session.dead = 1
    assert run(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "1 thing is wrong" in out
    assert "TROUBLE   dead letters" in out
    assert run(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "trouble"
    assert [f["name"] for f in told["findings"] if f["state"] == "trouble"] == ["dead letters"]


def test_no_deployment_is_something_wrong(monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    monkeypatch.setattr(place, "find", lambda choice: trouble("deployment", "none", "deploy"))
    assert run(["doctor"]) == 1
    assert "deploy" in capsys.readouterr().out


def test_where_it_is_looked_for(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "CRONCE_STACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRONCE_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    assert run(["doctor", "--endpoint", "http://127.0.0.1:9", "--region", "us-east-1"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("TROUBLE   deployment")
    assert "127.0.0.1:9" in out
    assert "Traceback" not in out
