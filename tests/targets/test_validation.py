"""Every fault of a target and of its payload: code and pointer, all at once."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from cronce.domain.allowed import parse_allowed
from cronce.targets.registry import KINDS, payload_faults, target_faults

HEAD = "eu-west-1:123456789012"
SECRET = f"arn:aws:secretsmanager:{HEAD}:secret:hook-AbCdEf"
QUEUE = f"arn:aws:sqs:{HEAD}:in"
FIFO = f"arn:aws:sqs:{HEAD}:in.fifo"
TOPIC = f"arn:aws:sns:{HEAD}:news"
CLUSTER = f"arn:aws:ecs:{HEAD}:cluster/main"
TASK = f"arn:aws:ecs:{HEAD}:task-definition/report:3"
URL = "https://hooks.example.com/in"
TASK_TARGET = {"cluster": CLUSTER, "task_definition": TASK, "container": "main"}

VALID: list[dict[str, Any]] = [
    {"http": {"url": URL}},
    {"http": {"url": URL, "method": "PUT", "headers": {"X-A": "b c", "X-Empty": ""}}},
    {"http": {"url": URL, "auth": {"bearer": {"secret": SECRET}}}},
    {"lambda": {"function": f"arn:aws:lambda:{HEAD}:function:f"}},
    {"lambda": {"function": f"arn:aws:lambda:{HEAD}:function:f:$LATEST"}},
    {"sqs": {"queue": QUEUE}},
    {"sqs": {"queue": FIFO, "group": "g-1"}},
    {"sns": {"topic": TOPIC, "subject": "Good morning"}},
    {"events": {"bus": f"arn:aws:events:{HEAD}:event-bus/default", "source": "com.acme"}},
    {"states": {"machine": f"arn:aws:states:{HEAD}:stateMachine:m", "wait": True}},
    {"ecs": TASK_TARGET},
    {"ecs": TASK_TARGET | {"launch_type": "FARGATE", "subnets": ["subnet-0123abcd"]}},
]
ALLOWED = parse_allowed(
    ["https://hooks.example.com"]
    + [f"arn:aws:{s}:*:*:*{r}" for s, r in (("sqs", "in"), ("sqs", "in.fifo"), ("sns", "news"))]
    + [f"arn:aws:lambda:{HEAD}:function:f", f"arn:aws:lambda:{HEAD}:function:f:*"]
    + [f"arn:aws:events:{HEAD}:event-bus/*", f"arn:aws:states:{HEAD}:stateMachine:m"]
    + [CLUSTER, f"arn:aws:ecs:{HEAD}:task-definition/report:*", SECRET]
)


def faults(target: object, profile: str = "aws") -> list[tuple[str, str]]:
    found = target_faults(target, profile=profile, allowed=ALLOWED)
    assert all(f.detail and f.accepted for f in found)
    return [(f.pointer, f.code) for f in found]


@pytest.mark.parametrize("target", VALID, ids=str)
def test_valid(target):
    assert faults(target) == []


def test_every_kind_is_covered():
    assert {next(iter(t)) for t in VALID} == set(KINDS)


@pytest.mark.parametrize("target", VALID, ids=str)
def test_nothing_is_allowed_by_default(target):
    found = target_faults(target, profile="aws", allowed=())
    assert {f.code for f in found} == {"target_not_allowed"}
    assert len(found) == len(KINDS[next(iter(target))].resources(next(iter(target.values()))))


def test_where_to_allow_it_is_said():
    target = {"http": {"url": "https://a.example/", "auth": {"bearer": {"secret": SECRET}}}}
    url, secret = target_faults(target, profile="aws", allowed=())
    assert "allowed_targets" in url.accepted
    assert "--allow-target" in url.accepted
    assert secret.pointer == "/http/auth/bearer/secret"
    assert "--secret" in secret.accepted
    assert "allowed_targets" not in secret.accepted


@pytest.mark.parametrize(
    ("host", "blocks", "refused"),
    [
        ("10.1.2.3", [], True),
        ("10.1.2.3", ["10.1.0.0/16"], False),
        ("10.1.2.3", ["10.2.0.0/16"], True),
        ("127.0.0.1:8000", ["127.0.0.1/32"], False),
        ("[::1]", [], True),
        ("[::1]", ["::1/128"], False),
        ("93.184.216.34", [], False),
        ("hooks.example.com", [], False),
    ],
)
def test_an_address_in_a_url_is_judged_when_the_job_is_written(host, blocks, refused):
    url = f"https://{host}/in"
    found = target_faults(
        {"http": {"url": url}},
        profile="aws",
        allowed=parse_allowed([url]),
        addresses=[ip_network(block) for block in blocks],
    )
    assert [(f.pointer, f.code) for f in found] == [("/http/url", "address_refused")] * refused


def test_what_is_not_allowed_is_named_without_its_path():
    target = {"http": {"url": "https://evil.example.com/t0p?key=s3cr3t"}}
    (fault,) = target_faults(target, profile="aws", allowed=ALLOWED)
    assert (fault.pointer, fault.code) == ("/http/url", "target_not_allowed")
    assert "https://evil.example.com" in fault.detail
    assert "t0p" not in str(fault)
    assert "s3cr3t" not in str(fault)


def test_a_secret_that_is_not_allowed():
    other = SECRET.replace("hook", "payroll")
    target = {"http": {"url": URL, "auth": {"bearer": {"secret": other}}}}
    assert faults(target) == [("/http/auth/bearer/secret", "target_not_allowed")]


def header(name: str, value: object) -> dict[str, Any]:
    return {"http": {"url": URL, "headers": {name: value}}}


def auth(value: object) -> dict[str, Any]:
    return {"http": {"url": URL, "auth": value}}


@pytest.mark.parametrize(
    ("target", "pointer", "code"),
    [
        (None, "", "wrong_type"),
        ([], "", "wrong_type"),
        ({}, "", "bad_target"),
        ({"http": {"url": URL}, "sqs": {"queue": QUEUE}}, "", "bad_target"),
        ({"smtp": {}}, "/smtp", "unknown_target_kind"),
        ({"a/b~c": {}}, "/a~1b~0c", "unknown_target_kind"),
        ({"http": URL}, "/http", "wrong_type"),
        ({"http": {}}, "/http/url", "missing_field"),
        ({"http": {"url": 7}}, "/http/url", "wrong_type"),
        ({"http": {"url": URL, "uri": URL}}, "/http/uri", "unknown_field"),
        ({"http": {"url": "http://hooks.example.com"}}, "/http/url", "bad_url"),
        ({"http": {"url": "https://u:p@hooks.example.com"}}, "/http/url", "bad_url"),
        ({"http": {"url": "https://2130706433/"}}, "/http/url", "bad_url"),
        ({"http": {"url": URL + "#x"}}, "/http/url", "bad_url"),
        ({"http": {"url": URL + "/" + "x" * 2048}}, "/http/url", "bad_url"),
        ({"http": {"url": URL, "method": "post"}}, "/http/method", "bad_method"),
        ({"http": {"url": URL, "method": "CONNECT"}}, "/http/method", "bad_method"),
        ({"http": {"url": URL, "method": None}}, "/http/method", "wrong_type"),
        ({"http": {"url": URL, "headers": ["X: 1"]}}, "/http/headers", "wrong_type"),
        (header("Authorization", "Bearer x"), "/http/headers/Authorization", "literal_secret"),
        (header("COOKIE", "a=b"), "/http/headers/COOKIE", "literal_secret"),
        (header("x-api-key", "k"), "/http/headers/x-api-key", "literal_secret"),
        (header("Proxy-Authorization", 7), "/http/headers/Proxy-Authorization", "literal_secret"),
        (header("Host", "evil.com"), "/http/headers/Host", "bad_header"),
        (header("content-length", "0"), "/http/headers/content-length", "bad_header"),
        (header("Transfer-Encoding", "x"), "/http/headers/Transfer-Encoding", "bad_header"),
        (header("Connection", "close"), "/http/headers/Connection", "bad_header"),
        (header("Idempotency-Key", "1"), "/http/headers/Idempotency-Key", "bad_header"),
        (header("cronce-attempt", "1"), "/http/headers/cronce-attempt", "bad_header"),
        (header("X-A", "1\r\nX-B: 2"), "/http/headers/X-A", "bad_header"),
        (header("X-A", "1\n"), "/http/headers/X-A", "bad_header"),
        (header("X-A", " 1"), "/http/headers/X-A", "bad_header"),
        (header("X-A", "ü"), "/http/headers/X-A", "bad_header"),
        (header("X-A", "\x00"), "/http/headers/X-A", "bad_header"),
        (header("X-A", 1), "/http/headers/X-A", "wrong_type"),
        (header("X A", "1"), "/http/headers/X A", "bad_header"),
        (header("X-A:", "1"), "/http/headers/X-A:", "bad_header"),
        (header("X\n", "1"), "/http/headers/X\n", "bad_header"),
        (header("", "1"), "/http/headers/", "bad_header"),
        (header("X-A", "1" * 8192), "/http/headers", "bad_header"),
        (
            {"http": {"url": URL, "headers": {"X-A": "1", "x-a": "2"}}},
            "/http/headers",
            "bad_header",
        ),
        (auth("Bearer x"), "/http/auth", "wrong_type"),
        (auth({}), "/http/auth/bearer", "missing_field"),
        (auth({"bearer": {"secret": SECRET}, "basic": {}}), "/http/auth/basic", "unknown_field"),
        (auth({"bearer": "x"}), "/http/auth/bearer", "wrong_type"),
        (auth({"bearer": {"secret": "hunter2"}}), "/http/auth/bearer/secret", "bad_arn"),
        (auth({"bearer": {"secret": QUEUE}}), "/http/auth/bearer/secret", "bad_arn"),
        ({"lambda": {"function": "f"}}, "/lambda/function", "bad_arn"),
        ({"lambda": {"function": QUEUE}}, "/lambda/function", "bad_arn"),
        ({"sqs": {"queue": "https://sqs.eu-west-1.amazonaws.com/1/in"}}, "/sqs/queue", "bad_arn"),
        ({"sqs": {"queue": QUEUE + "/../x"}}, "/sqs/queue", "bad_arn"),
        ({"sqs": {"queue": QUEUE, "group": "g"}}, "/sqs/group", "bad_value"),
        ({"sqs": {"queue": FIFO, "group": ""}}, "/sqs/group", "bad_value"),
        ({"sns": {"topic": TOPIC, "subject": "a\nb"}}, "/sns/subject", "bad_value"),
        ({"events": {"bus": "default"}}, "/events/bus", "bad_arn"),
        (
            {"events": {"bus": f"arn:aws:events:{HEAD}:event-bus/x", "source": "aws.ec2"}},
            "/events/source",
            "bad_value",
        ),
        ({"states": {"machine": "m"}}, "/states/machine", "bad_arn"),
        (
            {"states": {"machine": f"arn:aws:states:{HEAD}:stateMachine:m", "wait": "yes"}},
            "/states/wait",
            "wrong_type",
        ),
        ({"ecs": TASK_TARGET | {"launch_type": "SPOT"}}, "/ecs/launch_type", "bad_value"),
        ({"ecs": TASK_TARGET | {"subnets": []}}, "/ecs/subnets", "bad_value"),
        ({"ecs": TASK_TARGET | {"subnets": [1]}}, "/ecs/subnets", "bad_value"),
        ({"ecs": TASK_TARGET | {"public_ip": True}}, "/ecs/subnets", "missing_field"),
        ({"ecs": TASK_TARGET | {"cluster": TASK}}, "/ecs/cluster", "bad_arn"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_one_fault(target, pointer, code):
    assert (pointer, code) in faults(target)
    assert len(faults(target)) == 1


def test_all_faults_at_once():
    target = {
        "http": {
            "url": "http://x",
            "method": "BREW",
            "headers": {"Cookie": "a", "Host": "b"},
            "auth": {"bearer": {}},
            "tls": False,
        }
    }
    assert sorted(faults(target)) == [
        ("/http/auth/bearer/secret", "missing_field"),
        ("/http/headers/Cookie", "literal_secret"),
        ("/http/headers/Host", "bad_header"),
        ("/http/method", "bad_method"),
        ("/http/tls", "unknown_field"),
        ("/http/url", "bad_url"),
    ]


def test_a_literal_secret_is_not_repeated_and_the_way_out_is_named():
    (fault,) = target_faults(header("x-api-key", "s3cr3t"), profile="aws", allowed=ALLOWED)
    assert "s3cr3t" not in str(fault)
    assert 'auth: {"bearer": {"secret": ARN}}' in fault.accepted


def test_what_stands_where_a_reference_belongs_is_not_repeated():
    target = auth({"bearer": {"secret": "hunter2"}})
    (fault,) = target_faults(target, profile="aws", allowed=ALLOWED)
    assert fault.code == "bad_arn"
    assert "hunter2" not in str(fault)


def test_a_word_that_was_meant_is_asked_for():
    target = {"http": {"url": URL, "method": "post", "header": {}}}
    details = [f.detail for f in target_faults(target, profile="aws", allowed=ALLOWED)]
    assert details == [
        "'post' is not accepted, did you mean POST?",
        "'header' is unknown, did you mean headers?",
    ]


@pytest.mark.parametrize(("profile", "accepted"), [("aws", "https://"), ("emulator", "http or ")])
def test_which_urls_are_accepted_is_said_as_it_is(profile: str, accepted: str):
    [fault] = target_faults({"http": {"url": "ftp://x/"}}, profile=profile, allowed=ALLOWED)
    assert fault.accepted.startswith(accepted)


def test_plain_http_is_for_the_emulator():
    allowed = parse_allowed(["http://127.0.0.1:8080"], profile="emulator")
    target = {"http": {"url": "http://127.0.0.1:8080/x"}}
    assert target_faults(target, profile="emulator", allowed=allowed) == []
    assert [f.code for f in target_faults(target, profile="aws", allowed=allowed)] == ["bad_url"]


EVENTS = {"events": {"bus": f"arn:aws:events:{HEAD}:event-bus/default"}}


@pytest.mark.parametrize(
    ("target", "payload", "is_json", "code"),
    [
        ({"http": {"url": URL}}, "x" * 131_072, False, None),
        ({"http": {"url": URL, "method": "GET"}}, None, True, None),
        ({"http": {"url": URL, "method": "GET"}}, "{}", True, "payload_not_sent"),
        ({"sqs": {"queue": QUEUE}}, '""', True, None),
        ({"sqs": {"queue": QUEUE}}, "", False, "empty_payload"),
        ({"sqs": {"queue": QUEUE}}, "a\x00", False, "bad_payload"),
        ({"sqs": {"queue": QUEUE}}, '"\uffff"', True, "bad_payload"),
        ({"sns": {"topic": TOPIC}}, '["\ufffe"]', True, "bad_payload"),
        ({"http": {"url": URL}}, '"\uffff"', True, None),
        ({"sqs": {"queue": QUEUE}}, "a\t\r\n🐘", False, None),
        ({"sns": {"topic": TOPIC}}, "é" * 129_024, False, None),
        ({"sns": {"topic": TOPIC}}, "é" * 129_025, False, "payload_too_large"),
        ({"sns": {"topic": TOPIC}}, "<cronce.job_id>" * 8000, False, "payload_too_large"),
        (EVENTS, None, True, None),
        (EVENTS, ' {"a":1}', True, None),
        (EVENTS, "[1]", True, "payload_not_object"),
        (EVENTS, "{}", False, "payload_not_object"),
        ({"ecs": TASK_TARGET}, "x" * 6142, False, None),
        ({"ecs": TASK_TARGET}, "x" * 6143, False, "payload_too_large"),
        ({"ecs": TASK_TARGET}, '"' * 4000, False, "payload_too_large"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_payloads(target, payload, is_json, code):
    assert target_faults(target, profile="aws", allowed=ALLOWED) == []
    found = payload_faults(target, payload, is_json)
    assert [f.code for f in found] == ([] if code is None else [code])
