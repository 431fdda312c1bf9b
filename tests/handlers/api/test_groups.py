"""Groups over HTTP: limits, pausing and resuming."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import CALLER, Api

FIELD = "/max_starts_per_second"


def put(api: Api, rate: str, group: str = "nightly") -> Any:
    return api.call("PUT", f"/groups/{group}", f'{{"max_starts_per_second": {rate}}}')


def test_a_limit_is_put_shown_and_taken_off(api: Api) -> None:
    free = {
        "group": "nightly",
        "max_starts_per_second": None,
        "changed_at": None,
        "changed_by": "",
    }
    assert api.call("GET", "/groups/nightly").json == free
    answer = put(api, "50")
    assert answer.status == 200
    assert answer.json == {
        "group": "nightly",
        "max_starts_per_second": 50,
        "changed_at": "2026-11-30T10:00:00Z",
        "changed_by": CALLER,
    }
    assert api.call("GET", "/groups/nightly").json == answer.json
    assert put(api, "2.500").body.count('"max_starts_per_second":2.5,') == 1
    assert api.call("GET", "/groups").json["groups"][0]["max_starts_per_second"] == 2.5
    for _ in range(2):
        assert api.call("DELETE", "/groups/nightly").status == 204
    assert api.call("GET", "/groups/nightly").json == free
    assert api.call("GET", "/groups").json == {"groups": [], "cursor": None}


def test_groups_are_listed_by_name_and_no_job_is_among_them(api: Api) -> None:
    api.put("job", group="c")
    for name in ("b", "a", "c"):
        put(api, "1", name)
    found: list[str] = []
    cursor = None
    for _ in range(4):
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = api.call("GET", "/groups", query=query).json
        found += [group["group"] for group in page["groups"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == ["a", "b", "c"]
    jobs = api.call("GET", "/jobs").json["jobs"]
    assert [job["id"] for job in jobs] == ["job"]
    refused = api.call("GET", "/groups", query={"cursor": "x"})
    assert refused.faults == [("query:cursor", "bad_cursor")]


@pytest.mark.parametrize(
    ("rate", "code"),
    [
        ("0", "out_of_range"),
        ("-1", "out_of_range"),
        ("1001", "out_of_range"),
        ("0.0001", "out_of_range"),
        ("1e300", "out_of_range"),
        ('"5"', "wrong_type"),
        ("true", "wrong_type"),
        ("null", "wrong_type"),
    ],
)
def test_what_is_no_limit(over_memory: Api, rate: str, code: str) -> None:
    refused = put(over_memory, rate)
    assert refused.status == 422
    assert refused.faults == [(FIELD, code)]
    assert over_memory.rows.all() == []


def test_other_bad_input(over_memory: Api) -> None:
    api = over_memory
    assert api.call("PUT", "/groups/g", {}).faults == [(FIELD, "missing_field")]
    both = [("/a~1b", "unknown_field"), (FIELD, "missing_field")]
    assert api.call("PUT", "/groups/g", {"a/b": 1}).faults == both
    assert api.call("PUT", "/groups/g", [1]).faults == [("", "wrong_type")]
    assert put(api, "1", "default").faults == [("path:group", "no_limit")]
    assert put(api, "1", "a%20b").status in (404, 422)
    for move, body, fault in (
        ("pause", {"note": 1}, ("/note", "bad_note")),
        ("pause", {"cursor": 1}, ("/cursor", "wrong_type")),
        ("pause", {"cursor": "x"}, ("/cursor", "bad_cursor")),
        ("resume", {"note": "x"}, ("/note", "unknown_field")),
    ):
        assert api.call("POST", f"/groups/g/{move}", body).faults == [fault]
    assert api.rows.all() == []


def test_all_jobs_of_a_group_are_paused_and_resumed(api: Api) -> None:
    for name in ("a", "b"):
        api.put(name, group="g")
    api.put("c")
    paused = api.call("POST", "/groups/g/pause", {"note": "freeze"})
    assert paused.status == 200
    assert paused.json == {"changed": ["a", "b"], "failed": [], "cursor": None}
    status = api.call("GET", "/jobs/a").json["status"]
    assert (status["state"], status["reason"], status["updated_by"]) == ("paused", "freeze", CALLER)
    assert api.call("GET", "/jobs/c").json["status"]["state"] == "active"
    assert api.call("POST", "/groups/g/pause").json["changed"] == []
    resumed = api.call("POST", "/groups/g/resume")
    assert resumed.json == {"changed": ["a", "b"], "failed": [], "cursor": None}
    assert api.call("POST", "/groups/none/resume").json["changed"] == []
