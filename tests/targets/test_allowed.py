"""What a deployment allows: nobody gets through a near miss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.domain.allowed import is_allowed, parse_allowed
from cronce.domain.errors import Invalid
from cronce.domain.urls import parse_url

ALLOWED = parse_allowed(
    [
        "https://hooks.example.com",
        "https://api.example.com:8443",
        "https://*.tenants.example.org",
        "https://paths.example.com/hooks",
        "https://[2606:4700::1111]",
        "arn:aws:sqs:eu-west-1:123456789012:team-*-in",
        "arn:aws:lambda:eu-west-1:123456789012:function:billing-*",
        "arn:aws:lambda:*:123456789012:function:anywhere:live",
    ]
)


@pytest.mark.parametrize(
    "resource",
    [
        "https://hooks.example.com",
        "https://hooks.example.com/",
        "https://hooks.example.com/a/b?c=d",
        "https://hooks.example.com:443/a",
        "HTTPS://HOOKS.Example.COM/a",
        "https://hooks.example.com./a",
        "https://api.example.com:8443/a",
        "https://a.tenants.example.org",
        "https://a.b.tenants.example.org/x",
        "https://paths.example.com/hooks",
        "https://paths.example.com/hooks?x",
        "https://paths.example.com/hooks/a",
        "https://[2606:4700:0:0::1111]/x",
        "arn:aws:sqs:eu-west-1:123456789012:team-a-in",
        "arn:aws:sqs:eu-west-1:123456789012:team-a-b-in",
        "arn:aws:lambda:eu-west-1:123456789012:function:billing-x",
        "arn:aws:lambda:us-east-1:123456789012:function:anywhere:live",
    ],
)
def test_allowed(resource):
    assert is_allowed(resource, ALLOWED)


@pytest.mark.parametrize(
    "resource",
    [
        "http://hooks.example.com",
        "https://hooks.example.com.evil.com",
        "https://hooks.example.com.evil.com/hooks.example.com",
        "https://evil-hooks.example.com",
        "https://x.hooks.example.com",
        "https://example.com",
        "https://hooks.example.com:444",
        "https://hooks.example.com:",
        "https://hooks.example.com..",
        "https://hooks.example.com@evil.com/",
        "https://evil.com@hooks.example.com/",
        "https://evil.com#@hooks.example.com/",
        "https://evil.com\\@hooks.example.com/",
        "https://evil.com/https://hooks.example.com",
        "https:hooks.example.com",
        "https:///hooks.example.com",
        "https://hooks.example.com%2eevil.com/",
        "https://hooks.example.com%00.evil.com/",
        " https://hooks.example.com",
        "https://hooks.example.com\n",
        "https://hooks.\texample.com",
        "https://hooks.example.com/a b",
        "https://api.example.com",
        "https://tenants.example.org",
        "https://eviltenants.example.org",
        "https://.tenants.example.org",
        "https://*.tenants.example.org",
        "https://paths.example.com/",
        "https://paths.example.com/hooksevil",
        "https://paths.example.com/hooks/../admin",
        "https://paths.example.com/hooks/%2e%2E/admin",
        "https://paths.example.com/hooks/..%2fadmin",
        "https://paths.example.com/hooks/%252e%252e/admin",
        "https://paths.example.com/hooks/..%5cadmin",
        "https://paths.example.com/Hooks",
        "arn:aws:sqs:eu-west-1:123456789012:team-a-in:x",
        "arn:aws:sqs:eu-west-1:123456789012:team-in",
        "arn:aws:sqs:eu-west-1:123456789012:team-a-in2",
        "arn:aws:sqs:eu-west-1:123456789012:my-team-a-in",
        "arn:aws:sqs:eu-west-1:999999999999:team-a-in",
        "arn:aws:sqs:eu-west-2:123456789012:team-a-in",
        "arn:aws:sqs:eu-west-1:123456789012:team-*-in",
        "arn:aws:lambda:eu-west-1:123456789012:function:billing-x:live",
        "arn:aws-cn:sqs:eu-west-1:123456789012:team-a-in",
        "arn:aws:sns:eu-west-1:123456789012:team-a-in",
        "",
        "hooks.example.com",
    ],
)
def test_not_allowed(resource):
    assert not is_allowed(resource, ALLOWED)


def test_nothing_is_allowed_by_default():
    assert not is_allowed("https://hooks.example.com", parse_allowed([]))


def test_names_are_compared_after_idna():
    allowed = parse_allowed(["https://bücher.example"])
    assert is_allowed("https://xn--bcher-kva.example/a", allowed)
    assert is_allowed("https://BÜCHER.example/a", allowed)
    assert not is_allowed("https://bucher.example/a", allowed)


def test_an_emulator_may_list_plain_http_and_any_port():
    allowed = parse_allowed(["http://127.0.0.1:*", "http://localhost:9000"], profile="emulator")
    assert is_allowed("http://127.0.0.1:41234/x", allowed)
    assert is_allowed("http://localhost:9000/x", allowed)
    assert not is_allowed("http://localhost:9001/x", allowed)
    assert not is_allowed("http://127.0.0.2:41234/x", allowed)


BAD_ENTRIES = [
    "http://hooks.example.com",
    "https://hooks.example.com:*",
    "https://*.com",
    "https://*",
    "https://h*.example.com",
    "https://*.*.example.com",
    "https://*.1.2.3.4",
    "https://user@example.com",
    "https://example.com?x",
    "https://example.com/a/../b",
    "https://example.com/#x",
    "ftp://example.com",
    "example.com",
    "*",
    "",
    "https://2130706433",
    "arn:aws:sqs:eu-west-1:123456789012:*",
    "arn:aws:*:eu-west-1:123456789012:x",
    "arn:*:sqs:eu-west-1:123456789012:x",
    "arn:aws:sqs:eu-west-1",
    "arn:aws:sqs:eu-west-1:123456789012:a b",
    7,
    None,
]


def test_bad_entries_are_named_all_at_once():
    with pytest.raises(Invalid) as caught:
        parse_allowed(["https://fine.example.com", *BAD_ENTRIES])
    faults = caught.value.faults
    assert [f.pointer for f in faults] == [
        f"/allowed_targets/{n}" for n in range(1, len(BAD_ENTRIES) + 1)
    ]
    assert {f.code for f in faults} == {"bad_allowed_target"}


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.0x1",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.4..",
        "[::1%25eth0]",
        "[::1",
        "::1",
        "a..b",
        "-a.example.com",
        "a" * 64 + ".example.com",
        "x." * 127 + "example.com",
        "exa mple.com",
        "ex%61mple.com",
        "a/c℀.com",
        "",
    ],
)
def test_hosts_that_could_be_read_in_two_ways(host):
    with pytest.raises(ValueError, match=r".+"):
        parse_url(f"https://{host}" if "/" not in host else f"https://{host.split('/')[1]}")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://\uff11\uff12\uff17.0.0.1/", "https://127.0.0.1"),
        ("https://example.com:0443/", "https://example.com"),
        ("http://example.com:80", "http://example.com"),
        ("http://example.com:443", "http://example.com:443"),
        ("https://[::FFFF:1.2.3.4]/", "https://[::ffff:1.2.3.4]"),
    ],
)
def test_one_origin_has_one_form(text, origin):
    found = parse_url(text).origin
    assert found in (origin, origin.replace("1.2.3.4", "102:304"))


@pytest.mark.parametrize("port", ["0", "65536", "99999", "-1", "+80", "8o", "\uff14\uff14\uff13"])
def test_ports(port):
    with pytest.raises(ValueError, match=r".+"):
        parse_url(f"https://example.com:{port}/")


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_a_value_error(text):
    for candidate in (text, "https://" + text, "https://hooks.example.com" + text):
        try:
            url = parse_url(candidate)
        except ValueError:
            assert not is_allowed(candidate, ALLOWED)
            continue
        assert parse_url(url.origin + url.path + url.query) == url


@given(st.text(alphabet="ab*", max_size=12), st.text(alphabet="ab", max_size=12))
def test_a_pattern_matches_what_the_plain_search_matches(pattern, name):
    def plainly(p: str, s: str) -> bool:
        if not p or not s:
            return not s and not p.strip("*")
        if p[0] == "*":
            return plainly(p[1:], s) or plainly(p, s[1:])
        return p[0] == s[0] and plainly(p[1:], s[1:])

    head = "arn:aws:sqs:eu-west-1:123456789012:"
    entry = parse_allowed([f"{head}x{pattern}"])
    assert is_allowed(f"{head}x{name}", entry) == plainly(pattern, name)
