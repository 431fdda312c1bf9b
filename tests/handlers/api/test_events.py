"""The function as Lambda calls it: each sample event, over DynamoDB and SQS."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cronce.adapters.sqs import SqsQueue
from cronce.handlers import api as function
from cronce.handlers import wiring
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.testing.invoke import Context, invoke
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from support.stores import moto_client, table_engine

from .conftest import EVENTS, NOW

ANSWERS = {
    "get_job": 404,
    "list_failed": 200,
    "list_runs": 404,
    "no_such_route": 404,
    "patch_job_lost_race": 404,
    "put_job": 201,
    "put_job_base64": 201,
    "put_job_not_json": 400,
    "put_job_not_valid": 422,
    "run_job": 404,
}
AFTER_PUT = ANSWERS | {
    "get_job": 200,
    "list_runs": 200,
    "patch_job_lost_race": 412,
    "put_job": 200,
    "put_job_base64": 200,
    "run_job": 202,
}


class Observer(RecordingObserver):
    flushed = 0

    def flush(self) -> None:
        self.flushed += 1


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def send(
    moto: Any, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[int, Any]]:
    """An event by its name: the status and the body of the answer."""
    engine = table_engine("moto", moto)
    engine.clock.set(NOW)
    sqs = moto_client("sqs")
    urls = [sqs.create_queue(QueueName=f"{engine.table}-{n}")["QueueUrl"] for n in range(2)]
    queue = SqsQueue(sqs, *urls, observer)
    ports = Ports(engine.store, queue, engine.clock, InlineThreads(), SeededRandom(1), observer)
    settings = Settings(allowed_targets=("https://hooks.example.com",))
    app = wiring.App(ports, settings, observer)  # type: ignore[arg-type]
    monkeypatch.setattr(wiring, "app", lambda: app)
    function._deployed.cache_clear()

    def send(name: str) -> tuple[int, Any]:
        answer = invoke("api", json.loads((EVENTS / f"{name}.json").read_text()), Context())
        json.dumps(answer)
        return answer["statusCode"], json.loads(answer["body"])

    return send


@pytest.fixture(autouse=True)
def forget() -> Any:
    yield
    function._deployed.cache_clear()


def test_every_sample_event_is_tried_here() -> None:
    assert sorted(path.stem for path in EVENTS.glob("*.json")) == sorted(ANSWERS)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_on_an_empty_table(send: Callable[[str], tuple[int, Any]], name: str) -> None:
    assert send(name)[0] == ANSWERS[name]


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_once_there_is_the_job(
    send: Callable[[str], tuple[int, Any]], observer: Observer, name: str
) -> None:
    _, created = send("put_job")
    status, body = send(name)
    assert status == AFTER_PUT[name]
    assert observer.flushed == 2
    if name.startswith("put_job") and status == 200:
        assert body == created


def test_the_whole_story(send: Callable[[str], tuple[int, Any]]) -> None:
    send("put_job")
    _, run = send("run_job")
    assert run["trigger"] == "m-order-17"
    assert send("run_job") == (200, run)
    assert send("list_runs")[1]["runs"] == [run]
    assert [f["pointer"] for f in send("put_job_not_valid")[1]["errors"]] == [
        "/schedule/timezone",
        "/schedule/cron",
        "/target",
        "/timeout",
    ]
    assert send("patch_job_lost_race")[1]["current_version"] == 1
