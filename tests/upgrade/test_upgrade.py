"""A new release over an old one, with 200 jobs in flight: none is lost, none runs twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.cli import emulator
from cronce.cli.emulator import Emulator
from cronce.client import Client
from support import releases
from support.emulator import eventually
from support.hooks import Hooks
from support.releases import Release

pytestmark = pytest.mark.filterwarnings("always:no earlier release")

JOBS = 200
FIRST, SPREAD = 30, 120
CHOICES = {"allowed_targets": ["http://127.0.0.1:*"], "allowed_addresses": ["127.0.0.0/8"]}
# One in so many is slow, or fails at first.
KINDS = ("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "slow/8", "fail-until/2")


@dataclass(frozen=True)
class Upgraded:
    """What was there before, and what is now."""

    release: Release
    before: Emulator
    after: Emulator
    client: Client
    code: tuple[str, str]
    ended_before: int


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory, hooks: Hooks) -> Iterator[Upgraded]:
    home = tmp_path_factory.mktemp("upgrade")
    release = releases.previous(tmp_path_factory.mktemp("releases"))
    try:
        done = release.python(releases.DEPLOY, str(home), json.dumps(CHOICES))
        assert done.returncode == 0, f"{release.name}: {done.stderr[-3000:]}"
        before = emulator.status(home)
        assert before is not None
        client = Client.of_session(before.api_url, before.session())
        code = code_of(before)
        create(client, hooks)
        eventually(lambda: hooks.hits, 300)
        ended = sum(r["status"] != "pending" for r in runs_of(client) if r)
        after = emulator.deploy(home=home, **CHOICES)
        yield Upgraded(release, before, after, client, (code, code_of(after)), ended)
    finally:
        emulator.down(home=home)
        emulator.down(home=home, reset=True)


def code_of(running: Emulator) -> str:
    client = running.session().client("lambda", endpoint_url=running.endpoint)
    name = running.outputs["WorkerFunction"]
    return str(client.get_function_configuration(FunctionName=name)["CodeSha256"])


def create(client: Client, hooks: Hooks) -> None:
    """One-time jobs, due from soon until the new release has been there for a while."""
    start = datetime.now(UTC) + timedelta(seconds=FIRST)

    def put(n: int) -> None:
        at = start + timedelta(seconds=SPREAD * n / JOBS)
        document = {
            "schedule": {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}"},
            "target": {"http": {"url": f"{hooks.url}/{KINDS[n % len(KINDS)]}"}},
            "retry": {"max_attempts": 5, "backoff": 10},
            "payload": {"n": n, "price": 1.50},
        }
        client.put_job(name_of(n), document)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(JOBS)))


def name_of(n: int) -> str:
    return f"in-flight-{n:03d}"


def runs_of(client: Client) -> list[dict[str, Any] | None]:
    """The run of each job, None where there is none yet."""

    def look(n: int) -> dict[str, Any] | None:
        found = list(client.list_runs(name_of(n)))
        assert len(found) <= 1, found
        return found[0] if found else None

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(look, range(JOBS)))


def test_it_was_another_release_and_jobs_were_in_flight(upgraded: Upgraded) -> None:
    assert 0 < upgraded.ended_before < JOBS
    if not upgraded.release.is_head:
        assert upgraded.code[0] != upgraded.code[1]


def test_nothing_was_replaced(upgraded: Upgraded) -> None:
    for name in ("TableName", "QueueUrl", "DeadLetterQueueUrl", "ApiId", "ApiUrl"):
        assert upgraded.after.outputs[name] == upgraded.before.outputs[name], name


def test_none_is_lost_and_none_runs_twice(upgraded: Upgraded, hooks: Hooks) -> None:
    def succeeded() -> bool:
        return all(run and run["status"] == "succeeded" for run in runs_of(upgraded.client))

    eventually(succeeded, 600)
    calls = Counter((hit.job, hit.run, hit.attempt) for hit in list(hooks.hits))
    assert {job for job, _, _ in calls} == {name_of(n) for n in range(JOBS)}
    assert [call for call, times in calls.items() if times > 1] == []
    for n, run in enumerate(runs_of(upgraded.client)):
        assert run is not None
        # An attempt after the first one follows one that failed or whose worker was stopped.
        outcomes = [each["outcome"] for each in run["attempts"]]
        assert run["attempt"] == len(outcomes) + 1, run
        if KINDS[n % len(KINDS)] == "ok":
            assert set(outcomes) <= {"lost"}, run


def test_what_was_written_reads_the_same(upgraded: Upgraded) -> None:
    text = upgraded.client.get_job_text(name_of(0))
    assert '"price":1.50' in text.replace(" ", "") or '"price":1.5' in text.replace(" ", "")
    changed = upgraded.client.patch_job(name_of(0), {"description": "after the upgrade"})
    assert changed["description"] == "after the upgrade"
