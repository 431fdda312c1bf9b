"""Sizes, numbers, keys and rows: B22, B55 to B58, B62, through the whole deployment."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import limits
from cronce.domain.sizes import stored_bytes
from support.functions import URL, Functions, Kit

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
HEAD = '"schedule":{"at":"2026-11-29T12:01:00Z"},"target":' + json.dumps(URL)
# What DynamoDB takes for one item.
ITEM_BYTES = 400_000


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Functions:
    return Functions(Kit(NOON), monkeypatch)


def problem(answer: tuple[int, str]) -> tuple[int, Any]:
    status, body = answer
    return status, json.loads(body)


# --- B22


@pytest.mark.parametrize(
    ("payload", "status", "number"),
    [
        ("x" * (limits.PAYLOAD_BYTES - 2), 201, None),
        ("x" * (limits.PAYLOAD_BYTES - 1), 422, limits.PAYLOAD_BYTES),
        ("€" * ((limits.PAYLOAD_BYTES - 2) // 3), 201, None),
        ("€" * ((limits.PAYLOAD_BYTES - 2) // 3 + 1), 422, limits.PAYLOAD_BYTES),
        ("x" * 399_000, 413, limits.BODY_BYTES),
        ("x" * 401_000, 413, limits.BODY_BYTES),
        ("x" * 1_048_575, 413, limits.BODY_BYTES),
        ("x" * 1_048_577, 413, limits.BODY_BYTES),
        ("€" * 300_000, 413, limits.BODY_BYTES),
    ],
    ids=lambda value: f"{len(value)}{value[0]}" if isinstance(value, str) else str(value),
)
def test_b22_what_is_accepted_can_be_stored_and_sent(
    functions: Functions, payload: str, status: int, number: int | None
) -> None:
    kit = functions.kit
    body = f'{{"payload":{json.dumps(payload, ensure_ascii=False)},{HEAD}}}'
    found, document = problem(functions.call("PUT", "/jobs/a", body))
    assert found == status
    if number is not None:
        assert str(number) in json.dumps(document)
        assert kit.store.rows.all() == []
        return
    biggest = max(map(stored_bytes, kit.store.rows.all()))
    assert biggest < ITEM_BYTES / 2
    kit.run_for(90)
    [call] = kit.target.calls
    assert call.payload is not None
    assert json.loads(call.payload) == payload


# --- B55


WRITTEN = (
    '{"a":1.1,"b":5,"c":12345678901234567890123456789012345678901,"f":true,"g":"",'
    '"h":5.0,"i":1E+2,"j":-0.0,"k":[null,{}]}'
)


def test_b55_a_payload_comes_through_to_the_target_as_it_was_written(functions: Functions) -> None:
    status, made = functions.call("PUT", "/jobs/a", f'{{"payload":{WRITTEN},{HEAD}}}')
    assert status == 201
    assert f'"payload":{WRITTEN}' in made
    status, got = functions.call("GET", "/jobs/a")
    assert (status, f'"payload":{WRITTEN}' in got) == (200, True)
    functions.kit.run_for(90)
    [call] = functions.kit.target.calls
    assert (call.payload, call.payload_is_json) == (WRITTEN, True)
    [run] = functions.kit.runs("a")
    status, shown = functions.call("GET", f"/jobs/a/runs/{run.key.run_id}")
    assert (status, json.loads(shown)["status"]) == (200, "succeeded")


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity"])
def test_b55_a_number_that_is_none_is_refused(functions: Functions, number: str) -> None:
    payload = WRITTEN[:-1] + f',"d":{number}}}'
    status, document = problem(functions.call("PUT", "/jobs/a", f'{{"payload":{payload},{HEAD}}}'))
    assert status == 400
    assert document["errors"][0]["pointer"] == "/payload/d"
    assert functions.kit.store.rows.all() == []


# --- B57


@pytest.mark.parametrize("how", ["at", "pause", "years"])
def test_b57_a_job_without_a_next_run_is_not_in_the_index(functions: Functions, how: str) -> None:
    kit = functions.kit
    schedule = {
        "at": {"at": "2026-11-29T12:01:00Z"},
        "pause": "rate(1 hour)",
        "years": "cron(0 0 1 1 ? 2027-2028)",
    }[how]
    kit.job(schedule=schedule)
    if how == "at":
        kit.run_for(600)
    elif how == "pause":
        kit.control.pause("a", by="me")
    for year in (2027, 2028) if how == "years" else ():
        kit.clock.set(datetime(year - 1, 12, 31, 23, 58, tzinfo=UTC))
        kit.run_for(600)
    row = kit.row()
    assert {"next_run", "next_occurrence"}.isdisjoint(row)
    assert None not in row.values()
    assert "" not in row.values()
    status, body = functions.call("GET", "/jobs/a")
    assert status == 200
    shown = json.loads(body)["status"]
    assert (shown["state"], shown["next_run"]) == ("paused" if how == "pause" else "ended", None)
    ran = len(kit.target.calls)
    assert ran == {"at": 1, "pause": 0, "years": 2}[how]
    due = kit.store.due(range(kit.settings.shards), kit.clock.now() + timedelta(days=4000))
    assert [item for item in due if getattr(item, "job_id", None) == "a"] == []
    kit.clock.advance(400 * 86_400)
    kit.run_for(300)
    assert len(kit.target.calls) == ran


# --- B58


def test_b58_no_row_grows_in_five_thousand_runs() -> None:
    """Job, definition, lock, group, lease and records; runs are rows of their own."""
    kit = Kit(NOON)
    kit.control.put_group("g", 5_000, by="me")
    kit.job(schedule={"rate": 5}, overlap="queue_all", group="g")
    kit.run_for(500)
    sizes = [largest(kit)]
    kit.run_for(25_000)
    sizes.append(largest(kit))
    assert kit.statuses().count("succeeded") >= 5_000
    early, late = sizes
    assert set(late) == set(early)
    for kind, size in late.items():
        assert size <= early[kind] + 64, kind


def largest(kit: Kit) -> dict[str, int]:
    """Bytes of the biggest row of each kind."""
    sizes: dict[str, int] = {}
    for row in kit.store.rows.all():
        pk, sk = str(row["pk"]).split("#")[0], str(row["sk"]).split("#")[0]
        kind = f"{pk} {sk if not sk[:1].isdigit() else ''}"
        sizes[kind] = max(sizes.get(kind, 0), stored_bytes(row))
    return sizes


# --- B62


BODIES = {
    "base64 of no UTF-8": (base64.b64encode(b'{"a":"\xff\xfe"}').decode(), True),
    "5,000 digits": (f'{{"payload":{"9" * 5000},{HEAD}}}', False),
    "100,000 brackets": ("[" * 100_000, False),
    "brackets in a document": (f'{{"payload":{"[" * 100_000}{"]" * 100_000},{HEAD}}}', False),
}


@pytest.mark.parametrize(("body", "encoded"), BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(("method", "path"), [("PUT", "/jobs/a"), ("POST", "/schedules/preview")])
def test_b62_bodies_that_no_parser_likes_are_problems(
    functions: Functions, body: str, method: str, path: str, *, encoded: bool
) -> None:
    answer = functions.answer(method, path, body, encoded=encoded)
    assert answer["statusCode"] == 400
    [kind] = [v for k, v in headers_of(answer).items() if k.lower() == "content-type"]
    assert kind == "application/problem+json"
    document = json.loads(answer["body"])
    assert (document["type"], document["status"]) == ("urn:cronce:problem:not-json", 400)
    assert functions.kit.store.rows.all() == []


def test_b62_an_exception_that_nobody_foresaw_is_a_problem(functions: Functions) -> None:
    def breaks(job_id: str) -> Any:
        raise RecursionError("secret")

    functions.kit.store.read_job = breaks  # type: ignore[method-assign]
    answer = functions.answer("GET", "/jobs/a")
    assert answer["statusCode"] == 500
    assert json.loads(answer["body"])["type"] == "urn:cronce:problem:internal-error"
    assert "secret" not in answer["body"]


def headers_of(answer: dict[str, Any]) -> dict[str, str]:
    many = {name: values[-1] for name, values in (answer.get("multiValueHeaders") or {}).items()}
    return many | (answer.get("headers") or {})


# --- B63


@pytest.mark.parametrize("origin", ["https://console.example.com", "https://evil.example.org"])
@pytest.mark.parametrize("asked", [{}, {"Access-Control-Request-Headers": "authorization"}])
def test_b63_preflights_and_errors_are_problems_without_cors(
    functions: Functions, origin: str, asked: dict[str, str]
) -> None:
    """Every request is signed with IAM: no browser origin is allowed, and none is told it is."""
    functions.kit.job()
    headers = {"Origin": origin}
    preflight = {**headers, "Access-Control-Request-Method": "PUT", **asked}
    answers = [
        functions.answer("OPTIONS", "/jobs/a", headers=preflight),
        functions.answer("GET", "/nowhere", headers=headers),
        functions.answer("GET", "/jobs/missing", headers=headers),
        functions.answer("PUT", "/jobs/b", "{}", headers=headers),
    ]

    def breaks(job_id: str) -> Any:
        raise RuntimeError("secret")

    functions.kit.store.read_job = breaks  # type: ignore[method-assign]
    answers.append(functions.answer("GET", "/jobs/a", headers=headers))
    assert [a["statusCode"] for a in answers] == [405, 404, 404, 422, 500]
    for answer in answers:
        found = headers_of(answer)
        assert [n for n in found if n.lower().startswith("access-control")] == []
        assert found["Content-Type"] == "application/problem+json"
        assert json.loads(answer["body"])["status"] == answer["statusCode"]
