"""B13 at the API: a conflict of the table is neither an absent job nor somebody else's edit."""

from __future__ import annotations

from typing import Any

import pytest

from support import calls
from support.calls import error

from .conftest import JOB, Api

CONFLICT = error(
    "TransactionCanceledException",
    CancellationReasons=[{"Code": "TransactionConflict"}, {"Code": "None"}],
)
REQUESTS: list[tuple[str, str, Any, int]] = [
    ("PUT", "/jobs/new", JOB, 201),
    ("PUT", "/jobs/a", {**JOB, "timeout": 5}, 200),
    ("PATCH", "/jobs/a", {"timeout": 5}, 200),
    ("POST", "/jobs/a/pause", None, 200),
    ("DELETE", "/jobs/a", None, 204),
]
each_request = pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)


def client_of(api: Api) -> Any:
    return api.store.table._client  # type: ignore[attr-defined]


@each_request
def test_b13_one_conflict_is_asked_again(
    over_dynamo: Api, method: str, path: str, body: Any, status: int
) -> None:
    over_dynamo.put()
    with calls.answering(client_of(over_dynamo), "TransactWriteItems", CONFLICT) as given:
        answer = over_dynamo.call(method, path, body)
    assert len(given) == 1
    assert answer.status == status, answer.body


@each_request
def test_b13_conflicts_without_end_say_so_and_change_nothing(
    over_dynamo: Api, method: str, path: str, body: Any, status: int
) -> None:
    over_dynamo.put()
    before = over_dynamo.call("GET", "/jobs/a").body
    with calls.answering(client_of(over_dynamo), "TransactWriteItems", *[CONFLICT] * 99):
        answer = over_dynamo.call(method, path, body)
    assert answer.status == 429
    assert answer.json["type"] == "urn:cronce:problem:throttled"
    assert over_dynamo.call("GET", "/jobs/a").body == before
    assert over_dynamo.call("GET", "/jobs/new").status == 404
