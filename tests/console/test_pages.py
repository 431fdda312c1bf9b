"""What the pages show, and what they never do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from cronce.client import ApiError, Unreachable
from support.acted import Acted

from .conftest import Web

PATHS = [
    "/",
    "/?span=7d",
    "/jobs",
    "/jobs?status=paused",
    "/jobs/broken.export",
    "/jobs/cleanup",
    "/attention",
    "/health",
    "/confirm?do=pause&job=cleanup",
    "/find?job=cleanup",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_sound(web: Web, path: str) -> None:
    page = web.get(path)
    assert page.html.startswith("<!doctype html>")
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.links[0] == "#main"
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
        for name in ("aria-labelledby", "for"):
            assert attrs.get(name, ids[0]) in ids
    scripts = [script["src"] for script in page.all("script")]
    assert scripts == ["/static/htmx.min.js", "/static/live.js"]
    labelled = {attrs["for"] for attrs in page.all("label") if "for" in attrs}
    wrapped = page.html.count("<label>")
    free = [
        i for i in page.all("input") if i.get("type") != "hidden" and i.get("id") not in labelled
    ]
    assert len(free) + len(page.all("select")) <= wrapped


def test_every_link_leads_somewhere(web: Web) -> None:
    seen: set[str] = set()
    left = ["/"]
    while left and len(seen) < 120:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        page = web.get(path)
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.netloc, f"{path} leads away, to {link}"
            if parts.path and not link.startswith("#"):
                left.append(link)
    assert len(seen) > 60


def test_the_overview_says_what_the_api_says(web: Web, night: Acted) -> None:
    said = night.overview(since="2026-11-29T09:00:00Z")
    page = web.get("/")
    for status in ("succeeded", "failed"):
        assert f"{said['outcomes'][status]} {status}" in page.text
    assert "0 cancelled" in page.text
    assert "wait for their time" in page.text
    assert "http_410" in page.text
    assert "up to 100 ms" in page.text
    assert "orders.poll" in page.text
    strips = [svg for svg in page.all("svg", role="img") if "first at" in svg.get("aria-label", "")]
    coming = night.coming()["jobs"]
    assert len(strips) == len(coming)
    poll = next(job for job in coming if job["job_id"] == "orders.poll")
    assert f"{poll['total']} runs, the first at" in page.html


def test_what_others_wrote_is_shown_as_text(web: Web) -> None:
    for path in ("/", "/attention", "/jobs/broken.export"):
        page = web.get(path)
        assert not [attrs for attrs in page.all("script") if attrs.get("src", "") == ""]
        assert page.all("img") == []
        assert "<script>alert" not in page.html
    job = web.get("/jobs/broken.export")
    assert "&lt;img src=x onerror=alert(1)&gt; nightly export" in job.html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in job.html


def test_no_secret_of_a_job_is_shown(web: Web) -> None:
    page = web.get("/jobs/broken.export")
    assert "hunter2" not in page.html
    assert "api_key" in page.html
    assert "token=" in page.html
    assert "1.5" in page.html


def test_one_job(web: Web) -> None:
    page = web.get("/jobs/cleanup")
    assert "America/New_York" in page.text
    assert "-05:00" in page.text
    assert "Starts" in page.text  # it has jitter
    assert "Starts" not in web.get("/jobs/invoices.send").text
    assert "run now" in web.get("/jobs/invoices.send").text


def test_what_is_dispatched_already_is_the_next_run(web: Web, night: Acted) -> None:
    """The job's own `next_run` is the next one to dispatch, three minutes ahead."""
    job, coming = night.get_job("orders.poll"), night.upcoming("orders.poll", count=1)
    first = coming["details"][0]["due"]
    assert first < job["status"]["next_run"]
    page = web.get("/jobs/orders.poll")
    facts = page.html[page.html.index("<dt>Next run</dt>") :]
    assert facts.index(first) < facts.index("<dt>Target</dt>")
    assert "these do not run unless it is resumed" in web.get("/jobs/resting").text


def test_hours_and_tiles_count_the_same(night: Acted) -> None:
    said = night.overview(since="2026-11-29T09:00:00Z")
    by_hour: Counter[str] = Counter()
    for hour in said["hours"]:
        by_hour.update(hour["outcomes"])
    assert by_hour == Counter(said["outcomes"])


def test_the_night_the_clocks_change_has_a_note(evening: Acted, hands: Web) -> None:
    schedule = {"cron": "30 2 * 3 *", "timezone": "Europe/Berlin"}
    evening.put_job(
        "night.shift", {"schedule": schedule, "target": {"http": {"url": "https://x/"}}}
    )
    coming = evening.upcoming("night.shift", count=40)
    (note,) = [each["note"] for each in coming["details"] if each["note"]]
    shown = {**coming, "details": [each for each in coming["details"] if each["note"]]}
    evening.upcoming = lambda job_id, **_: shown  # type: ignore[method-assign]
    assert note in hands.get("/jobs/night.shift").text


def test_the_story_of_a_run(web: Web, night: Acted) -> None:
    run = next(r for r in night.attention(limit=20) if r["job_id"] == "down.mirror")
    page = web.get(f"/jobs/down.mirror/runs/{run['run_id']}")
    for line in night.explain("down.mirror", run["run_id"])["story"]:
        assert line["text"] in page.text
    assert "connection refused" in page.text
    assert "Redrive" in page.text
    assert "every 10s" not in page.html  # it has ended


def test_a_run_that_has_no_row_yet(web: Web, night: Acted) -> None:
    run = next(r for r in night.overview()["open"] if r["status"] == "pending")
    page = web.get(f"/jobs/{run['job_id']}/runs/{run['run_id']}")
    assert "no record yet" in page.text
    assert "Cancel" in page.text
    assert "every 10s" in page.html


def test_pages_follow_each_other(web: Web, night: Acted) -> None:
    first = web.get("/jobs/orders.poll")
    (following,) = [a["href"] for a in first.all("a", rel="next")]
    second = web.get(following)
    ids = [r["run_id"] for r in night.list_runs("orders.poll", limit=52)]
    assert ids[0] in first.html
    assert ids[51] in second.html
    assert ids[0] not in second.html
    assert "First page" in second.text
    assert "every 10s" not in second.html  # what one reads does not move


def test_refreshing_can_be_stopped(web: Web) -> None:
    on, off = web.get("/"), web.get("/?live=off")
    assert on.all("div", id="live")[0]["hx-trigger"] == "every 10s"
    assert "hx-trigger" not in off.all("div", id="live")[0]
    assert "/?live=off" in on.links
    assert "/" in off.links


def test_jobs_are_filtered(web: Web) -> None:
    page = web.get("/jobs?status=paused")
    assert "until the audit is over" in page.text
    assert "invoices.send" not in page.text
    assert "No job is like that" in web.get("/jobs?group=nobodys").text
    assert "invoices.send" in web.get("/jobs?status=<script>").text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nothing", 404, "There is no such page"),
        ("/jobs/nobody", 404, "There is no such job"),
        ("/jobs/..%2f", 404, "no such page"),
        ("/jobs/cleanup/runs/nonsense", 404, "There is no such run"),
        ("/jobs/%3Cscript%3E", 422, "not"),
        ("/confirm?do=drop&job=cleanup", 404, "nothing to confirm"),
        ("/confirm?do=cancel&job=cleanup", 404, "nothing to confirm"),
        ("/jobs?cursor=nonsense", 422, "not valid"),
    ],
)
def test_what_is_not_there(web: Web, path: str, status: int, words: str) -> None:
    page = web.get(path, status)
    assert words in page.text
    assert "Traceback" not in page.html
    assert "<script>" not in page.html


class Broken:
    """Answers nothing."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            raise self._error

        return call


def test_an_api_that_does_not_answer(over: Callable[[Any], Web]) -> None:
    web = over(Broken(Unreachable("https://x/ does not answer: <refused>")))
    page = web.get("/")
    assert page.text.count("The API does not answer") >= 3
    assert "&lt;refused&gt;" in page.html
    assert "does not answer" in web.get("/jobs", 502).text


def test_one_call_that_is_forbidden_spoils_no_other(
    night: Acted, over: Callable[[Any], Web]
) -> None:
    class Partly:
        instant = night.instant

        def __getattr__(self, name: str) -> Any:
            return getattr(night, name)

        def overview(self, **_: Any) -> Any:
            raise ApiError(403, {"message": "User is not authorized"})

    page = over(Partly()).get("/")
    assert "Not allowed." in page.text
    assert "User is not authorized" in page.text
    assert "orders.poll" in page.text


def test_a_defect_of_the_console_is_told_without_its_insides(over: Callable[[Any], Web]) -> None:
    page = over(Broken(ZeroDivisionError("inner secret"))).get("/jobs", 500)
    assert "Something went wrong here" in page.text
    assert "inner secret" not in page.html
