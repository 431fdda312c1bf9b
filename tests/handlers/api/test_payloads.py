"""A payload goes in, comes out and is stored as it was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronce import limits
from cronce.domain.errors import Invalid, NotJson, TooLarge
from cronce.jsontext import compact, merge, parse, plain

from .conftest import JOB, TARGET, Api

WRITTEN = (
    '{"a":1.1,"b":5,"c":12345678901234567890123456789012345678901,"f":true,"g":"",'
    '"z":1E+2,"y":-0,"x":-0.0,"w":1.10,"v":[null,[],{}],"é€\U0001f600":"\\n\\u0000\\\\\\"/\u2028"}'
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.one_of(
    st.integers(-(10**45), 10**45).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)
scalars = st.one_of(
    numbers,
    st.sampled_from(["null", "true", "false"]),
    text.map(lambda t: json.dumps(t, ensure_ascii=False)),
)


def array(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def object_(fields: dict[str, str]) -> str:
    inside = (f"{json.dumps(n, ensure_ascii=False)}:{v}" for n, v in fields.items())
    return f"{{{','.join(inside)}}}"


documents = st.recursive(
    scalars,
    lambda below: st.one_of(
        st.lists(below, max_size=4).map(array),
        st.dictionaries(text, below, max_size=4).map(object_),
    ),
    max_leaves=20,
)


@given(documents)
@settings(deadline=None)
def test_compact_json_comes_out_byte_for_byte(written: str) -> None:
    assert compact(parse(written.encode())) == written


@given(documents, st.sampled_from([1, 2, "\t"]), st.booleans())
@settings(deadline=None)
def test_other_json_means_the_same(written: str, indent: Any, ascii_only: bool) -> None:
    loose = json.dumps(json.loads(written), indent=indent, ensure_ascii=ascii_only)
    out = compact(parse(loose.encode()))
    assert json.loads(out) == json.loads(loose)
    assert parse(out.encode()) == parse(loose.encode())


@given(
    st.binary(max_size=60)
    | documents.map(str.encode).flatmap(lambda raw: st.integers(0, len(raw)).map(lambda n: raw[:n]))
)
@settings(deadline=None)
def test_what_is_read_is_read_as_the_standard_library_reads_it(raw: bytes) -> None:
    try:
        expected = json.loads(raw.decode())
    except (ValueError, RecursionError):
        with pytest.raises((NotJson, Invalid)):
            parse(raw)
        return
    try:
        tree = parse(raw)
    except (NotJson, Invalid):
        return
    assert plain(tree) == expected


def test_the_whole_way(api: Api) -> None:
    body = f'{{"payload":{WRITTEN},{json.dumps(JOB)[1:]}'
    created = api.call("PUT", "/jobs/a", body)
    assert created.status == 201, created.body
    assert f'"payload":{WRITTEN}' in created.body
    assert f'"payload":{WRITTEN}' in api.call("GET", "/jobs/a").body
    stored = api.store.read_job("a")
    assert stored is not None
    assert stored.definition.payload == WRITTEN
    assert stored.definition.payload_is_json
    [row] = [r for r in api.rows.all() if r["sk"] == "JOB#SPEC"]
    assert row["payload"] == WRITTEN


def test_blanks_between_tokens_go(over_memory: Api) -> None:
    body = json.dumps({"payload": {"a": [1, "b c"], "d": {}}, **JOB}, indent=3)
    assert '"payload":{"a":[1,"b c"],"d":{}}' in over_memory.call("PUT", "/jobs/a", body).body


@pytest.mark.parametrize(
    "text_", ["", " ", "a\r\nb\x00", "{not json", "é€\U0001f600", "<cronce.run_id>"]
)
def test_texts_stay_byte_for_byte(api: Api, text_: str) -> None:
    api.put("a", payload_text=text_)
    assert api.call("GET", "/jobs/a").json["payload_text"] == text_
    stored = api.store.read_job("a")
    assert stored is not None
    assert (stored.definition.payload, stored.definition.payload_is_json) == (text_, False)


@pytest.mark.parametrize("written", ["null", '""', "0", "false", "[]", "{}"])
def test_empty_payloads_are_payloads(api: Api, written: str) -> None:
    api.call("PUT", "/jobs/a", f'{{"payload":{written},{json.dumps(JOB)[1:]}')
    assert f'"payload":{written}' in api.call("GET", "/jobs/a").body
    again = api.call("PUT", "/jobs/a", JOB)
    assert "payload" not in again.json
    assert again.json["status"]["version"] == 2


def test_a_change_of_the_payload_alone_is_a_change(api: Api) -> None:
    api.put("a", payload=1)
    assert api.put("a", payload=2).json["status"]["version"] == 2
    assert (
        api.call("PUT", "/jobs/a", f'{{"payload":2.0,{json.dumps(JOB)[1:]}').json["status"][
            "version"
        ]
        == 3
    )
    assert api.put("a", payload_text="2.0").json["status"]["version"] == 4


def test_depth() -> None:
    most = limits.BODY_DEPTH
    assert parse(b"[" * most + b"]" * most)
    assert parse(b'["' + b"[" * 1000 + b'"]') == ["[" * 1000]
    with pytest.raises(NotJson):
        parse(b"[" * (most + 1) + b"]" * (most + 1))


@pytest.mark.parametrize(
    "raw",
    [
        b'"' * 262_144,
        b'"\\' * 131_072,
        b'\\"' * 131_072,
        b"[" * 262_144,
        b'{"a":' * 52_000,
        b"9" * 262_144,
        b"1e" + b"9" * 262_000,
    ],
)
def test_hostile_bodies_are_refused(raw: bytes) -> None:
    with pytest.raises(NotJson):
        parse(raw)


def test_a_long_body_is_read() -> None:
    raw = b"[" + b"1," * 131_000 + b"1]"
    assert compact(parse(raw)).encode() == raw


def test_the_body_limit_is_of_bytes() -> None:
    assert parse(b'"' + b"x" * (limits.BODY_BYTES - 2) + b'"')
    with pytest.raises(TooLarge) as refused:
        parse(b'"' + b"x" * (limits.BODY_BYTES - 1) + b'"')
    assert refused.value.size == limits.BODY_BYTES + 1


@pytest.mark.parametrize(
    ("tree", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merging_follows_rfc_7396(tree: Any, patch: Any, merged: Any) -> None:
    before = json.dumps(tree)
    assert merge(tree, patch) == merged
    assert json.dumps(tree) == before


def test_what_is_replaced_whole() -> None:
    tree = {"target": {**TARGET}, "other": {"a": 1, "b": 2}}
    patch = {"target": {"sqs": {"x": None}}, "other": {"a": None}}
    assert merge(tree, patch, whole=frozenset({"target"})) == {
        "target": {"sqs": {"x": None}},
        "other": {"b": 2},
    }
