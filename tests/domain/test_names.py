"""Run ids, messages and dispatch records: what they say survives writing and reading."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.domain.identity import JOB_ID, UID, RunKey, parse_run_id, shard_of, uid_from
from cronce.domain.message import Message, UnknownVersion, Unreadable
from cronce.domain.record import Sent, next_look

AT = datetime(2026, 11, 30, 1, 30, tzinfo=UTC)
ids = st.from_regex(JOB_ID, fullmatch=True)
triggers = st.one_of(st.just(""), st.from_regex(r"\A[mb]-[A-Za-z0-9._-]{1,64}\Z"))
instants = st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31)).map(
    lambda d: d.replace(microsecond=0, tzinfo=UTC)
)
keys = st.builds(RunKey, ids, st.from_regex(r"\A[a-z0-9]{8}\Z"), instants, triggers)


@given(keys)
def test_a_run_id_names_its_run(key: RunKey) -> None:
    assert parse_run_id(key.job_id, key.run_id) == key


@pytest.mark.parametrize(
    "run_id",
    ["", "x", "20261130T013000Z", "20261130T013000Z-K3F9A2QD", "20261330T013000Z-k3f9a2qd",
     "20261130T013000Z-k3f9a2qd-x-1", "20261130T013000Z-k3f9a2qd-m-",
     "20261130T013000Z-k3f9a2qd\n"],
)  # fmt: skip
def test_what_is_no_run_id_names_none(run_id: str) -> None:
    assert parse_run_id("a", run_id) is None


def test_an_occurrence_lies_on_a_whole_second() -> None:
    with pytest.raises(ValueError, match="whole second"):
        RunKey("a", "k3f9a2qd", AT + timedelta(milliseconds=1))
    with pytest.raises(ValueError, match="naive"):
        RunKey("a", "k3f9a2qd", AT.replace(tzinfo=None))


@given(keys, st.integers(0, 10**6), st.integers(0, 86_400_000))
def test_a_message_survives_the_queue(key: RunKey, generation: int, later: int) -> None:
    due = key.scheduled_for + timedelta(milliseconds=later)
    message = Message(key, generation, due, due)
    assert Message.from_body(message.to_body()) == message
    sent = Sent(key, generation, due)
    assert Sent.from_text(sent.to_text()) == sent


@pytest.mark.parametrize(
    "body",
    ["", "not json", "null", "[]", "{}", '{"v":"1"}', '{"v":true}', '{"v":1}', "[" * 100_000,
     '{"v":1,"job":"a/b","uid":"k3f9a2qd","scheduled_for":"2026-11-30T01:30:00.000Z","trigger":"",'
     '"generation":1,"due":"2026-11-30T01:30:00.000Z","first_sent":"2026-11-30T01:30:00.000Z"}',
     '{"v":1,"job":"a","uid":"k3f9a2qd","scheduled_for":"soon","trigger":"","generation":1,'
     '"due":"2026-11-30T01:30:00.000Z","first_sent":"2026-11-30T01:30:00.000Z"}'],
)  # fmt: skip
def test_b35_what_is_not_ours_is_unreadable(body: str) -> None:
    with pytest.raises(Unreadable):
        Message.from_body(body)


@pytest.mark.parametrize("field", ["job", "uid", "scheduled_for", "trigger", "generation", "due"])
@pytest.mark.parametrize("value", [None, 7.5, [], {}, True])
def test_b35_a_wrong_type_anywhere_is_unreadable(field: str, value: object) -> None:
    body = json.loads(Message(RunKey("a", "k3f9a2qd", AT), 1, AT, AT).to_body())
    with pytest.raises(Unreadable):
        Message.from_body(json.dumps(body | {field: value}))


@pytest.mark.parametrize("v", [0, 2, 99])
def test_a_message_of_another_version_is_told_apart(v: int) -> None:
    with pytest.raises(UnknownVersion):
        Message.from_body(json.dumps({"v": v}))


def test_uids_are_eight_characters_and_differ() -> None:
    uids = {uid_from(n.to_bytes(8, "big")) for n in range(2000)}
    assert len(uids) == 2000
    assert all(UID.fullmatch(u) for u in uids)


def test_shards_are_even_and_the_same_everywhere() -> None:
    counts = [0] * 16
    for n in range(16_000):
        counts[shard_of(f"job-{n}", 16)] += 1
    assert min(counts) > 850
    assert max(counts) < 1150
    assert shard_of("invoice", 16) == 9


def test_reconciling_looks_less_and_less_often_up_to_ten_minutes() -> None:
    waits = [(next_look(AT, n) - AT).total_seconds() for n in range(1, 6)]
    assert waits == [240, 480, 600, 600, 600]
