"""Which addresses may be called, and that the checked one is the one that is called."""

from __future__ import annotations

import socket
import threading
from ipaddress import ip_network

import pytest

from cronce.targets.addresses import why_refused
from support.target_calls import LOOPBACK, call_of, http_target

REFUSED = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "private": [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "fc00::1",
        "fd00:ec2::254",
    ],
    "shared (carrier-grade NAT)": ["100.64.0.1", "100.127.255.255"],
    "link-local": ["169.254.169.254", "169.254.170.2", "169.254.100.1", "fe80::1", "fe80::1%eth0"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "reserved": [
        "240.0.0.1",
        "255.255.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "192.88.99.1",
        "2001:db8::1",
        "2001:10::1",
        "3fff::1",
        "64:ff9b:1::1",
        "100::1",
        "4000::1",
        "fec0::1",
    ],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:a9fe:a9fe"],
    "IPv4-compatible": ["::127.0.0.1", "::a9fe:a9fe", "::2"],
    "6to4": ["2002:7f00:1::", "2002:a9fe:a9fe::1"],
    "Teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "unreadable": ["", "example.com", "2130706433", "0x7f.1", "127.1", "1.2.3.4.5"],
}


@pytest.mark.parametrize(
    ("address", "why"), [(a, why) for why, some in REFUSED.items() for a in some]
)
def test_refused(address, why):
    assert why_refused(address) == why


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b::808:808", None),
    ],
)
def test_nat64_is_judged_by_the_address_inside(address, why):
    assert why_refused(address) == why


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "223.255.255.255",
        "169.253.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860:4860::8888",
    ],
)
def test_public(address):
    assert why_refused(address) is None


def test_a_deployment_may_allow_networks():
    allowed = (ip_network("10.20.0.0/16"), ip_network("fd00:1::/32"))
    assert why_refused("10.20.3.4", allowed) is None
    assert why_refused("fd00:1::5", allowed) is None
    assert why_refused("10.21.0.1", allowed) == "private"
    assert why_refused("::ffff:10.20.3.4", allowed) == "IPv4-mapped"


def post(url: str) -> dict[str, dict[str, str]]:
    return {"http": {"url": url}}


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["8.8.8.8", "10.0.0.1"],
        ["10.0.0.1", "8.8.8.8"],
        ["2606:4700::1111", "::ffff:127.0.0.1"],
        ["64:ff9b::a9fe:a9fe"],
        ["not an address"],
    ],
)
def test_one_refused_address_refuses_the_name(monkeypatch, addresses):
    def connected(*args: object, **kwargs: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "create_connection", connected)
    target = http_target(resolve=lambda host, port: addresses, allowed_addresses=())
    answer = target.execute(call_of(post("https://hooks.test/")))
    assert (answer.ok, answer.permanent, answer.code) == (False, True, "address_refused")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{}/", "http://[::1]:{}/", "http://localhost:{}/"]
)
def test_loopback_is_refused_unless_allowed(serve, url):
    server = serve(lambda seen: (200, {}, b""))
    call = call_of(post(url.format(server.port)))
    answer = http_target(allowed_addresses=()).execute(call)
    assert (answer.code, answer.permanent, server.calls) == ("address_refused", True, [])


def test_a_name_that_changes_its_address_is_resolved_once(serve):
    server = serve(lambda seen: (200, {}, b""))
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    target = http_target(resolve=rebinding)
    assert target.execute(call_of(post(server.named("rebind.test")))).ok
    assert asked == ["rebind.test"]
    assert len(server.calls) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_runtime_is_refused_even_where_loopback_is_allowed(serve, host):
    server, runtime = serve(lambda seen: (200, {}, b"")), serve(lambda seen: (200, {}, b""))
    target = http_target(allowed_addresses=LOOPBACK, runtime_api=f"{host}:{runtime.port}")
    assert target.execute(call_of(post(server.url))).ok
    answer = target.execute(call_of(post(runtime.url)))
    assert (answer.code, answer.permanent, runtime.calls) == ("address_refused", True, [])


def test_the_next_address_is_tried_when_one_does_not_answer(serve):
    server = serve(lambda seen: (200, {}, b""))
    target = http_target(resolve=lambda host, port: ["127.0.0.9", "127.0.0.1"])
    assert target.execute(call_of(post(server.named("two.test")))).ok
    assert len(server.calls) == 1


def test_a_resolver_that_hangs_is_bounded():
    release = threading.Event()

    def hanging(host: str, port: int) -> list[str]:
        release.wait(10)
        return []

    answer = http_target(resolve=hanging).execute(call_of(post("https://hang.test"), timeout=0.1))
    release.set()
    assert answer.outcome == "timed_out"


def test_an_unknown_name_is_retried():
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for resolve in (unknown, lambda host, port: []):
        answer = http_target(resolve=resolve).execute(call_of(post("https://gone.test")))
        assert (answer.code, answer.permanent) == ("dns", False)
