"""What is refused, with which status and type, and where it says that the fault lies."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from cronce import limits

from .conftest import JOB, TARGET, Answer, Api

T = "urn:cronce:problem:"
NOT_JSON: list[tuple[str, bytes, str]] = [
    ("empty", b"", "it is empty"),
    ("blank", b" \n", "it is empty"),
    ("syntax", b'{"schedule": }', "line 1"),
    ("trailing comma", b'{"a": 1,}', "line 1"),
    ("two documents", b"{} {}", "Extra data"),
    ("single quotes", b"{'a': 1}", "line 1"),
    ("control character", b'{"a": "\x01"}', "Invalid control character"),
    ("byte order mark", b"\xef\xbb\xbf{}", "byte order mark"),
    ("not UTF-8", b'{"a": "\xff"}', "not UTF-8"),
    ("UTF-16", '{"a": 1}'.encode("utf-16"), "not UTF-8"),
    ("100,000 brackets", b"[" * 100_000, "nested deeper than 64"),
    ("closed brackets", b"[" * 65 + b"]" * 65, "nested deeper than 64"),
    ("brackets and quotes", b'{"":' * 20_000 + b'"', "nested deeper than 64"),
]
NUMBERS: list[tuple[str, str]] = [
    ("NaN", "NaN"),
    ("Infinity", "Infinity"),
    ("-Infinity", "-Infinity"),
    ("1e400", "1e400"),
    ("-1e400", "-1e400"),
    ("5,000 digits", "9" * 5000),
    ("5,000 decimals", "0." + "1" * 5000),
    ("400 digits", "9" * 400),
]


def problem(answer: Answer, status: int, slug: str) -> dict[str, Any]:
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json
    assert (body["type"], body["status"]) == (T + slug, status)
    assert body["title"]
    return body


@pytest.mark.parametrize(("raw", "why"), [n[1:] for n in NOT_JSON], ids=[n[0] for n in NOT_JSON])
@pytest.mark.parametrize("encoded", [False, True], ids=["text", "base64"])
def test_what_is_not_json(over_memory: Api, raw: bytes, why: str, encoded: bool) -> None:
    answer = send_raw(over_memory, raw, encoded)
    if encoded or _is_text(raw):
        assert why in problem(answer, 400, "not-json")["detail"]
    else:
        problem(answer, 400, "not-json")
    assert over_memory.call("GET", "/jobs/a").status == 404


@pytest.mark.parametrize("number", [n[1] for n in NUMBERS], ids=[n[0] for n in NUMBERS])
def test_numbers_that_nobody_can_read(over_memory: Api, number: str) -> None:
    raw = json.dumps({**JOB, "payload": {"a": ["here"]}}).replace('"here"', number)
    answer = send_raw(over_memory, raw.encode(), False)
    problem(answer, 400, "not-json")
    assert answer.faults == [("/payload/a/0", "bad_number")]
    assert over_memory.call("GET", "/jobs/a").status == 404


def test_a_body_that_is_not_base64(over_memory: Api) -> None:
    event = event_of(b"", True) | {"body": "%%%"}
    problem(over_memory.send(event), 400, "not-json")


def test_a_body_that_is_half_a_surrogate_pair_outside_json_escapes(over_memory: Api) -> None:
    event = event_of(b"", False) | {"body": '{"a": "\ud800"}'}
    problem(over_memory.send(event), 400, "not-json")


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "/b/c", "duplicate_key"),
        ('{"a": 1, "a": 1}', "/a", "duplicate_key"),
        ('{"x/y": {"~": "\\ud800"}}', "/x~1y/~0", "lone_surrogate"),
        ('{"payload": ["\\udc00\\ud800"]}', "/payload/0", "lone_surrogate"),
        ('{"\\ud800": 1}', "/\ufffd", "lone_surrogate"),
        ("null", "", "wrong_type"),
        ("[]", "", "wrong_type"),
        ('"job"', "", "wrong_type"),
        ("12", "", "wrong_type"),
    ],
)
def test_json_that_is_no_document(over_memory: Api, body: str, pointer: str, code: str) -> None:
    answer = over_memory.call("PUT", "/jobs/a", body)
    problem(answer, 422, "invalid")
    assert answer.faults == [(pointer, code)]


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"schedule": {"cron": "0 9 * * *", "timezone": "Mars/Phobos"}}, "/schedule/timezone", "*"),
    ({"schedule": {"cron": "61 * * * *"}}, "/schedule/cron", "*"),
    ({"schedule": {"cron": "0 0 31 2 *"}}, "/schedule/cron", "*"),
    ({"schedule": "* * *"}, "/schedule", "*"),
    ({"schedule": {"rate": "0s"}}, "/schedule/rate", "*"),
    ({"schedule": {"rate": 0.5}}, "/schedule/rate", "*"),
    ({"schedule": {"at": "2020-01-01T00:00:00Z"}}, "/schedule/at", "in_past"),
    ({"schedule": {"rate": 5, "every": 5}}, "/schedule/every", "unknown_field"),
    ({"schedule": 5}, "/schedule", "*"),
    ({"schedule": None}, "/schedule", "*"),
    ({"target": {"ftp": {}}}, "/target/ftp", "unknown_target_kind"),
    ({"target": {}}, "/target", "bad_target"),
    ({"target": "https://hooks.example.com"}, "/target", "wrong_type"),
    (
        {"target": {"http": {"url": "https://evil.example.org/"}}},
        "/target/http/url",
        "target_not_allowed",
    ),
    ({"target": {"http": {"url": "http://hooks.example.com/"}}}, "/target/http/url", "bad_url"),
    (
        {"target": {"http": {**TARGET["http"], "headers": {"Authorization": "Bearer x"}}}},
        "/target/http/headers/Authorization",
        "literal_secret",
    ),
    (
        {"target": {"http": {**TARGET["http"], "method": "GET"}}, "payload": 1},
        "/payload",
        "payload_not_sent",
    ),
    ({"payload": 1, "payload_text": "x"}, "/payload_text", "exclusive"),
    ({"payload_text": 5}, "/payload_text", "wrong_type"),
    ({"payload_text": {"a": 1}}, "/payload_text", "wrong_type"),
    ({"payload": "x" * limits.PAYLOAD_BYTES}, "/payload", "too_large"),
    ({"payload_text": "€" * (limits.PAYLOAD_BYTES // 3 + 1)}, "/payload_text", "too_large"),
    ({"timeout": 0}, "/timeout", "out_of_range"),
    ({"timeout": 841}, "/timeout", "out_of_range"),
    ({"timeout": "soon"}, "/timeout", "bad_duration"),
    ({"timeout": True}, "/timeout", "bad_duration"),
    ({"timeout": None}, "/timeout", "wrong_type"),
    ({"start_deadline": "0s"}, "/start_deadline", "out_of_range"),
    ({"history": "14d"}, "/history", "out_of_range"),
    ({"history": "401d"}, "/history", "out_of_range"),
    ({"retry": {"max_attempts": 0}}, "/retry/max_attempts", "out_of_range"),
    ({"retry": {"attempts": 3}}, "/retry/attempts", "unknown_field"),
    ({"retry": []}, "/retry", "wrong_type"),
    ({"misfire": "never"}, "/misfire/policy", "unknown_value"),
    ({"overlap": "sometimes"}, "/overlap", "unknown_value"),
    ({"overlap": ["allow"]}, "/overlap", "unknown_value"),
    ({"description": 5}, "/description", "wrong_type"),
    ({"description": "x" * 1025}, "/description", "too_long"),
    ({"tags": ["a"]}, "/tags", "wrong_type"),
    ({"tags": {"a/b": 5}}, "/tags/a~1b", "wrong_type"),
    ({"tags": {"": "x"}}, "/tags/", "bad_tag"),
    ({"tags": {"a": "x" * 257}}, "/tags/a", "bad_tag"),
    ({"tags": {str(n): "" for n in range(51)}}, "/tags", "too_many"),
    (
        {"tags": {f"{n:02d}" + "\U0001f4b6" * 126: "\U0001f4b6" * 256 for n in range(50)}},
        "",
        "too_large",
    ),
    ({"group": ""}, "/group", "bad_group"),
    ({"group": "a b"}, "/group", "bad_group"),
    ({"group": "a\n"}, "/group", "bad_group"),
    ({"group": "x" * 65}, "/group", "bad_group"),
    ({"id": "a"}, "/id", "answer_only"),
    ({"status": {}}, "/status", "answer_only"),
    ({"timezone": "UTC"}, "/timezone", "unknown_field"),
    ({"shedule": 1}, "/shedule", "unknown_field"),
    ({"a/b~c": 1}, "/a~1b~0c", "unknown_field"),
]


@pytest.mark.parametrize(
    ("change", "pointer", "code"), FAULTS, ids=[f"{n}-{f[1]}" for n, f in enumerate(FAULTS)]
)
def test_jobs_that_are_not_valid(
    over_memory: Api, change: dict[str, Any], pointer: str, code: str
) -> None:
    answer = over_memory.call("PUT", "/jobs/a", {**JOB, **change})
    problem(answer, 422, "invalid")
    [(found_pointer, found_code)] = answer.faults
    assert found_pointer == pointer
    assert code in ("*", found_code)
    [fault] = answer.json["errors"]
    assert fault["detail"]
    assert fault["accepted"]
    assert over_memory.call("GET", "/jobs/a").status == 404
    assert over_memory.outbox.sent == []


def test_all_faults_at_once(over_memory: Api) -> None:
    bad = {"schedule": {"cron": "nope"}, "timeout": 0, "payload": 1, "payload_text": 2, "x": 1}
    answer = over_memory.call("PUT", "/jobs/a", bad)
    assert {pointer for pointer, _ in answer.faults} == {
        "/schedule/cron",
        "/timeout",
        "/payload_text",
        "/x",
        "/target",
    }


def test_the_number_of_faults_shown_is_bounded(over_memory: Api) -> None:
    answer = over_memory.call("PUT", "/jobs/a", {f"f{n}": 1 for n in range(5000)})
    assert answer.status == 422
    assert len(answer.body) < 40_000


def test_near_misses_are_named(over_memory: Api) -> None:
    answer = over_memory.call("PUT", "/jobs/a", {**JOB, "shedule": 1, "cron": "x"})
    near, inside = answer.json["errors"]
    assert "did you mean schedule?" in near["detail"]
    assert inside["accepted"] == "/schedule/cron"


@pytest.mark.parametrize(
    ("size", "status"), [(limits.PAYLOAD_BYTES, 201), (limits.PAYLOAD_BYTES + 1, 422)]
)
@pytest.mark.parametrize("unit", ["x", "é", "€", "\U0001f600"], ids=["1", "2", "3", "4"])
def test_the_payload_limit_counts_bytes(api: Api, size: int, status: int, unit: str) -> None:
    width = len(unit.encode())
    text = unit * (size // width) + "x" * (size % width)
    answer = api.call("PUT", "/jobs/a", {**JOB, "payload_text": text})
    assert answer.status == status, answer.body
    if status == 422:
        [fault] = answer.json["errors"]
        assert str(limits.PAYLOAD_BYTES) in fault["accepted"]
        assert str(size) in fault["detail"]


@pytest.mark.parametrize("size", [limits.BODY_BYTES + 1, 300_000, 900_000, 1_048_577])
def test_a_body_over_the_limit(over_memory: Api, size: int) -> None:
    body = problem(send_raw(over_memory, b" " * size, True), 413, "too-large")
    assert body["limit"] == limits.BODY_BYTES
    problem(send_raw(over_memory, b"\xe2\x82\xac" * 300_000, True), 413, "too-large")


def test_a_schedule_that_does_not_fit_the_row(over_memory: Api) -> None:
    dates = [f"2027-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(40)]
    cron = f"{','.join(map(str, range(59)))} 1,3,5,7,9,11,13,15 * * *"
    schedule = {"cron": cron, "timezone": "UTC", "calendar": {"exclude": {"dates": dates}}}
    answer = over_memory.call("PUT", "/jobs/a", {**JOB, "schedule": schedule})
    problem(answer, 422, "invalid")
    assert answer.faults == [("/schedule", "too_large")]


BAD_IDS = [
    "a%20b",
    "a b",
    "%00",
    "é",
    "x" * 129,
    "a%2Fb",
    "%61bc",
    "a:b",
    "a#b",
    "a\nb",
    '"',
    "a\\b",
]


@pytest.mark.parametrize("job_id", BAD_IDS)
@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("PUT", ""),
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/run"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("GET", "/runs"),
        ("GET", "/runs/20261130T100000Z-aaaaaaaa"),
        ("POST", "/runs/20261130T100000Z-aaaaaaaa/cancel"),
        ("POST", "/runs/20261130T100000Z-aaaaaaaa/redrive"),
    ],
)
def test_ids_that_are_not(over_memory: Api, job_id: str, method: str, tail: str) -> None:
    body = JOB if method in ("PUT", "PATCH") else None
    answer = over_memory.call(method, f"/jobs/{job_id}{tail}", body)
    problem(answer, 422, "invalid")
    assert answer.faults == [("path:job_id", "bad_id")]


@pytest.mark.parametrize("name", ['"', "\U0001f4b6", "a#b", "a\\b", "a\nb", "a%20b"])
def test_each_part_of_a_path_is_told_by_its_name(over_memory: Api, name: str) -> None:
    over_memory.put()
    for method, path, at in (
        ("GET", f"/groups/{name}", "path:group"),
        ("POST", f"/groups/{name}/pause", "path:group"),
        ("GET", f"/calendars/{name}", "path:calendar"),
        ("GET", f"/jobs/a/backfills/{name}", "path:backfill_id"),
        ("POST", f"/jobs/a/backfills/{name}/cancel", "path:backfill_id"),
    ):
        refused = over_memory.call(method, path)
        problem(refused, 422, "invalid")
        assert [pointer for pointer, _ in refused.faults] == [at]
    for method, tail in (("GET", ""), ("GET", "/explain"), ("POST", "/cancel")):
        answer = over_memory.call(method, f"/jobs/a/runs/{name}{tail}")
        problem(answer, 404, "run-not-found")


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize(
    ("path", "name"),
    [("/runs", "from"), ("/runs", "to"), ("/overview", "to"), ("/jobs/a/upcoming", "after")],
)
def test_instants_at_the_ends_of_time(over_memory: Api, path: str, name: str, at: str) -> None:
    over_memory.put()
    answer = over_memory.call("GET", path, query={name: at})
    problem(answer, 422, "invalid")
    assert answer.faults == [(f"query:{name}", "out_of_range")]


@pytest.mark.parametrize("run_id", ["00010101T000000Z-k3f9a2qd", "99991231T235959Z-k3f9a2qd"])
def test_no_run_is_at_the_ends_of_time(over_memory: Api, run_id: str) -> None:
    over_memory.put()
    for tail in ("", "/explain"):
        answer = over_memory.call("GET", f"/jobs/a/runs/{run_id}{tail}")
        problem(answer, 404, "run-not-found")


def test_occurrences_go_no_further_than_years_have_numbers(over_memory: Api) -> None:
    over_memory.put(schedule={"rate": "3650d", "timezone": "Pacific/Kiritimati"})
    query = {"after": "8999-12-31T00:00:00Z", "count": "200"}
    answer = over_memory.call("GET", "/jobs/a/upcoming", query=query)
    assert answer.status == 200
    assert answer.json["occurrences"][-1] == "9991-08-16T10:00:00Z"


@pytest.mark.parametrize("name", [".", ".."])
def test_nothing_is_named_as_what_no_url_can_say(over_memory: Api, name: str) -> None:
    over_memory.put()
    for method, path, body, at in (
        ("PUT", f"/jobs/{name}", JOB, ("path:job_id", "bad_id")),
        ("PUT", f"/groups/{name}", {"max_starts_per_second": 1}, ("path:group", "bad_group")),
        ("PUT", "/jobs/b", {**JOB, "group": name}, ("/group", "bad_group")),
        ("POST", "/jobs/a/run", {"id": name}, ("/id", "bad_id")),
        (
            "POST",
            "/jobs/a/backfill",
            {"from": "2026-11-01T00:00:00Z", "id": name},
            ("/id", "bad_id"),
        ),
    ):
        answer = over_memory.call(method, path, body)
        problem(answer, 422, "invalid")
        assert answer.faults == [at]
    assert [job["id"] for job in over_memory.call("GET", "/jobs").json["jobs"]] == ["a"]


@pytest.mark.parametrize("job_id", ["a", "x" * 128, "A.b_c-9", "...", ".a", "-"])
def test_ids_that_are(over_memory: Api, job_id: str) -> None:
    assert over_memory.put(job_id).status == 201
    assert over_memory.call("GET", f"/jobs/{job_id}").json["id"] == job_id


@pytest.mark.parametrize(
    ("path", "query", "pointer"),
    [
        ("/jobs/a/runs", {"limit": "0"}, "query:limit"),
        ("/jobs/a/runs", {"limit": "101"}, "query:limit"),
        ("/jobs/a/runs", {"limit": "ten"}, "query:limit"),
        ("/jobs/a/runs", {"limit": "-1"}, "query:limit"),
        ("/jobs/a/runs", {"limit": "9" * 5000}, "query:limit"),
        ("/jobs/a/runs", {"limit": "\u0665"}, "query:limit"),
        ("/jobs/a/runs", {"cursor": "nonsense"}, "query:cursor"),
        ("/jobs/a/runs", {"page": "1"}, "query:page"),
        ("/jobs/a/upcoming", {"count": "0"}, "query:count"),
        ("/jobs/a/upcoming", {"count": "1001"}, "query:count"),
        ("/jobs/a/upcoming", {"after": "now"}, "query:after"),
        ("/jobs/a", {"verbose": "1"}, "query:verbose"),
        ("/jobs", {"group": "a b"}, "query:group"),
        ("/jobs", {"status": "running"}, "query:status"),
        ("/jobs", {"cursor": "W10"}, "query:cursor"),
        ("/jobs", {"cursor": "x" * 2000}, "query:cursor"),
        ("/runs", {"status": "succeeded"}, "query:status"),
        ("/runs", {"from": "yesterday"}, "query:from"),
        ("/runs", {"from": "2026-11-30T10:00:00"}, "query:from"),
        ("/runs", {"to": "2026-13-30T10:00:00Z"}, "query:to"),
        ("/runs", {"to": "0001-01-01T00:00:00+23:00"}, "query:to"),
        ("/runs", {"from": "2026-11-30T10:00:00Z", "to": "2026-11-29T10:00:00Z"}, "query:from"),
        ("/runs", {"cursor": "eyJhIjoxfQ"}, "query:cursor"),
    ],
)
def test_queries_that_are_not_valid(
    over_memory: Api, path: str, query: dict[str, str], pointer: str
) -> None:
    over_memory.put("a")
    answer = over_memory.call("GET", path, query=query)
    problem(answer, 422, "invalid")
    assert [p for p, _ in answer.faults] == [pointer]


@pytest.mark.parametrize(
    ("method", "path", "headers", "pointer"),
    [
        ("PUT", "/jobs/a", {"If-Match": "abc"}, "header:If-Match"),
        ("PUT", "/jobs/a", {"If-Match": '"1", "2"'}, "header:If-Match"),
        ("PUT", "/jobs/a", {"if-match": 'W/"1"'}, "header:If-Match"),
        ("PUT", "/jobs/a", {"If-None-Match": '"1"'}, "header:If-None-Match"),
        ("POST", "/jobs/a/run", {"Idempotency-Key": "a b"}, "header:Idempotency-Key"),
        ("POST", "/jobs", {"Idempotency-Key": "x" * 65}, "header:Idempotency-Key"),
    ],
)
def test_headers_that_are_not_valid(
    over_memory: Api, method: str, path: str, headers: dict[str, str], pointer: str
) -> None:
    over_memory.put("a")
    body = None if path.endswith("run") else JOB
    answer = over_memory.call(method, path, body, headers=headers)
    problem(answer, 422, "invalid")
    assert [p for p, _ in answer.faults] == [pointer]


@pytest.mark.parametrize(
    ("path", "body", "fault"),
    [
        ("/jobs/a/run", {"client_id": "x"}, ("/client_id", "unknown_field")),
        ("/jobs/a/run", {"id": "a b"}, ("/id", "bad_id")),
        ("/jobs/a/run", {"id": 5}, ("/id", "bad_id")),
        ("/jobs/a/run", [], ("", "wrong_type")),
        ("/jobs/a/pause", {"note": 5}, ("/note", "bad_note")),
        ("/jobs/a/pause", {"note": "x" * 201}, ("/note", "bad_note")),
        ("/jobs/a/resume", {"note": "x"}, ("/note", "unknown_field")),
    ],
)
def test_small_bodies_that_are_not_valid(
    over_memory: Api, path: str, body: Any, fault: tuple[str, str]
) -> None:
    over_memory.put("a")
    answer = over_memory.call("POST", path, body)
    problem(answer, 422, "invalid")
    assert answer.faults == [fault]


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({}, [("/schedule", "missing_field")]),
        ({"schedule": {"cron": "nope"}}, [("/schedule/cron", "field_count")]),
        ({"schedule": {"at": "2020-01-01T00:00:00Z"}}, [("/schedule/at", "in_past")]),
        (
            {"schedule": "@daily", "after": 5, "count": 0, "timeout": "x", "overlap": 1, "x": 1},
            [
                ("/x", "unknown_field"),
                ("/after", "bad_time"),
                ("/timeout", "bad_duration"),
                ("/count", "out_of_range"),
                ("/overlap", "unknown_value"),
            ],
        ),
        ([], [("", "wrong_type")]),
    ],
)
def test_previews_that_are_not_valid(
    over_memory: Api, body: Any, faults: list[tuple[str, str]]
) -> None:
    answer = over_memory.call("POST", "/schedules/preview", body)
    problem(answer, 422, "invalid")
    assert answer.faults == faults


def test_two_names_for_one_run(over_memory: Api) -> None:
    over_memory.put("a")
    headers = {"Idempotency-Key": "x"}
    answer = over_memory.call("POST", "/jobs/a/run", {"id": "y"}, headers=headers)
    assert answer.faults == [("/id", "exclusive")]
    assert over_memory.call("POST", "/jobs/a/run", {"id": "x"}, headers=headers).status == 202


def event_of(raw: bytes, encoded: bool) -> dict[str, Any]:
    from .conftest import proxy_event

    text = base64.b64encode(raw).decode() if encoded else raw.decode("utf-8", "surrogateescape")
    event = proxy_event("PUT", "/jobs/a", text, {}, {}, "arn:aws:iam::1:user/x")
    return event | {"isBase64Encoded": encoded}


def send_raw(api: Api, raw: bytes, encoded: bool) -> Answer:
    return api.send(event_of(raw, encoded))


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
