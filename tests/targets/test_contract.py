"""What a target is told, and what is kept of its answers."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.targets import contract
from support.target_calls import call_of

JOB, RUN = "billing.invoice", "20261130T013000Z-k3f9a2qd"


def test_every_form_tells_the_same():
    call = call_of({})
    told = contract.context(call)
    assert contract.headers(call) == told
    assert {k: v["StringValue"] for k, v in contract.attributes(call).items()} == told
    assert json.loads(base64.b64decode(contract.client_context(call)))["custom"] == told
    env = {k.upper().replace("-", "_"): v for k, v in told.items()}
    assert contract.environment(call) == env
    assert len(told) == 6


@pytest.mark.parametrize(
    ("payload", "sent"),
    [
        ('{"run":"<cronce.run_id>"}', f'{{"run":"{RUN}"}}'),
        ('["<cronce.job_id>/<cronce.attempt>"]', f'["{JOB}/2"]'),
        ('{"<cronce.scheduled_for>":1.10}', '{"2026-11-30T01:30:00Z":1.10}'),
        ('"<cronce.deadline>"', '"2026-11-30T01:31:00Z"'),
        ('"\\u003ccronce.run_id\\u003E"', f'"{RUN}"'),
        ('"\\\\u003ccronce.run_id>"', '"\\\\u003ccronce.run_id>"'),
        ('"<cronce.unknown> <cronce.run_id"', '"<cronce.unknown> <cronce.run_id"'),
        ('{"z":1,"a":12345678901234567890.0}', '{"z":1,"a":12345678901234567890.0}'),
    ],
)
def test_placeholders_in_json(payload, sent):
    assert contract.expand(payload, call_of({})) == sent


def test_placeholders_in_text():
    call = call_of({}, payload_is_json=False)
    assert contract.expand("a=<cronce.run_id>&b=\\u003c", call) == f"a={RUN}&b=\\u003c"


def test_what_was_inserted_is_not_expanded_again():
    call = call_of({}, job_id="<cronce.run_id>", payload_is_json=False)
    assert contract.expand("<cronce.job_id>", call) == "<cronce.run_id>"


@given(st.text())
def test_json_stays_json_whatever_is_inserted(value):
    call = call_of({}, job_id=value)
    assert json.loads(contract.expand('{"a":"<cronce.job_id>"}', call)) == {"a": value}


def test_a_text_for_a_target_of_json_becomes_a_string():
    call = call_of({}, payload='say "<cronce.attempt>"', payload_is_json=False)
    assert json.loads(contract.json_body(call)) == 'say "2"'
    assert contract.json_body(call_of({}, payload="[1.0]")) == "[1.0]"
    assert json.loads(contract.json_body(call_of({})))["run_id"] == RUN


@given(st.one_of(st.text(max_size=700), st.binary(max_size=700)))
def test_an_excerpt_is_bounded_printable_text(data):
    text = contract.excerpt(data)
    assert len(text.encode()) <= contract.EXCERPT_BYTES
    assert all(c.isprintable() or c in "\n\t" for c in text)


def test_an_excerpt_ends_with_a_whole_character():
    assert contract.excerpt("x" + "é" * 400) == "x" + "é" * 255
    assert contract.excerpt("🐘" * 200) == "🐘" * 128
    assert contract.excerpt("a\x1b[31mb\x00\ud800") == "a [31mb ?"


@pytest.mark.parametrize(
    ("status", "retried"),
    [(401, True), (403, False), (404, False), (429, True), (499, False), (500, True), (600, False)],
)
def test_statuses(status, retried):
    assert contract.is_retried(status) is retried
