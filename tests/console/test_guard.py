"""Who may speak to the console."""

from __future__ import annotations

import pytest

from cronce.console.guard import HEADERS
from support.browsing import Browser

from .conftest import Web

FIELDS = {"job": "cleanup"}


@pytest.fixture
def stranger(web: Web) -> Browser:
    """Without the key."""
    return Browser(web.site.keys.port)


def test_the_address_alone_opens_nothing(stranger: Browser, web: Web) -> None:
    for path in ("/", "/jobs", "/static/style.css", "/?key=", "/?key=guess", "/nothing"):
        answer = stranger.get(path)
        assert answer.status == 403, path
        assert "carries the key" in answer.text
        assert "night" not in answer.text
    assert stranger.post("/do/pause", FIELDS, Origin=stranger.origin).status == 403
    stranger.cookies[web.site.keys.cookie] = "guess"
    assert stranger.get("/").status == 403


def test_the_key_opens_it_and_does_not_stay_in_the_address(stranger: Browser, web: Web) -> None:
    answer = stranger.get(f"/?key={web.site.keys.key}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/jobs").status == 200


@pytest.mark.parametrize("host", ["evil.example.com", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_that_points_here(web: Web, host: str) -> None:
    assert web.http.get("/", Host=host).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example.com"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "https://127.0.0.1"},
        {"Referer": "https://evil.example.com/HERE"},
        {"Referer": "HERE.example.com/"},
        {"Origin": "http://["},
        {"Origin": "HERE", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_page(web: Web, headers: dict[str, str]) -> None:
    fields = {**FIELDS, "token": web.site.keys.token}
    given = {name: value.replace("HERE", web.http.origin) for name, value in headers.items()}
    answer = web.http.post("/do/pause", fields, **given)
    assert answer.status == 403
    assert web.site.client.get_job("cleanup")["status"]["state"] == "active"


@pytest.mark.parametrize("token", ["", "guess", "é"])
def test_a_form_without_the_token(web: Web, token: str) -> None:
    fields = {**FIELDS, "token": token}
    answer = web.http.post("/do/pause", fields, Origin=web.http.origin)
    assert answer.status == 403
    assert web.site.client.get_job("cleanup")["status"]["state"] == "active"


def test_reading_changes_nothing_and_other_methods_do_not_exist(web: Web) -> None:
    assert web.http.get("/do/pause?job=cleanup").status == 405
    assert web.http.send("PUT", "/jobs/cleanup").status == 405
    big = {"token": web.site.keys.token, "job": "x" * 5_000}
    assert web.http.post("/do/pause", big, Origin=web.http.origin).status == 413


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/nothing", "/jobs/nobody"])
def test_every_answer_carries_the_policy(web: Web, path: str) -> None:
    answer = web.http.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name.lower()] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_secret_of_the_console_leaves_it(web: Web) -> None:
    """The key is in no page; credentials are nowhere."""
    for path in ("/", "/jobs", "/jobs/cleanup", "/health"):
        text = web.get(path).html
        assert web.site.keys.key not in text
        assert "AKID" not in text
        assert "SECRET" not in text
