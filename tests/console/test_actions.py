"""What forms do."""

from __future__ import annotations

from support.acted import Acted

from .conftest import Page, Web


def hidden(page: Page) -> dict[str, str]:
    """The fields that the form of a page would send."""
    return {i["name"]: i.get("value", "") for i in page.all("input", type="hidden")}


def failed_run(acted: Acted) -> str:
    found = next(r for r in acted.attention(limit=20) if r["job_id"] == "down.mirror")
    return str(found["run_id"])


def test_a_job_is_paused_and_resumed(hands: Web, evening: Acted) -> None:
    asked = hands.get("/confirm?do=pause&job=cleanup")
    assert asked.all("form", method="post")[0]["action"] == "/do/pause"
    page = hands.post("/do/pause", **hidden(asked), note="audit <b>")
    assert "The job is paused." in page.text
    assert "audit &lt;b&gt;" in page.html
    assert evening.get_job("cleanup")["status"]["reason"] == "audit <b>"
    asked = hands.get("/confirm?do=resume&job=cleanup")
    page = hands.post("/do/resume", **hidden(asked))
    assert "The job goes on." in page.text
    assert evening.get_job("cleanup")["status"]["state"] == "active"


def test_a_form_that_is_sent_twice_runs_once(hands: Web, evening: Acted) -> None:
    fields = hidden(hands.get("/confirm?do=run&job=month.end"))
    first = hands.post("/do/run", **fields)
    assert "was asked for" in first.text
    hands.post("/do/run", **fields)
    assert len(list(evening.list_runs("month.end"))) == 1
    hands.post("/do/run", **hidden(hands.get("/confirm?do=run&job=month.end")))
    evening.run(2)
    assert len(list(evening.list_runs("month.end"))) == 2


def test_a_failed_run_gets_new_attempts(hands: Web, evening: Acted) -> None:
    run_id = failed_run(evening)
    overview = hands.get("/")
    assert run_id in overview.html
    assert {"action": "/do/redrive", "method": "post"} in overview.all("form")
    page = hands.post("/do/redrive", job="down.mirror", run=run_id)
    assert "gets new attempts" in page.text
    assert evening.get_run("down.mirror", run_id)["status"] == "retrying"


def test_a_run_is_cancelled(hands: Web, evening: Acted) -> None:
    evening.put_job("slow.one", {"schedule": "@yearly", "target": {"http": {"url": "https://x/"}}})
    run_id = evening.run_job("slow.one")["run_id"]
    evening.run(5)
    page = hands.get(f"/jobs/slow.one/runs/{run_id}")
    assert "running" in page.text
    (ask,) = [link for link in page.links if link.startswith("/confirm?do=cancel")]
    page = hands.post("/do/cancel", **hidden(hands.get(ask)))
    assert f"Run {run_id} is cancelled." in page.text
    assert evening.get_run("slow.one", run_id)["status"] == "cancelled"


def test_what_the_api_refuses_is_said(hands: Web, evening: Acted) -> None:
    good = next(r for r in evening.list_runs("orders.poll") if r["status"] == "succeeded")
    page = hands.post("/do/redrive", job="orders.poll", run=good["run_id"])
    assert "Not possible in this state" in page.text
    assert "note bad" in page.html
    assert evening.get_run("orders.poll", good["run_id"])["status"] == "succeeded"


def test_a_note_is_shown_once_and_cannot_be_made_up(hands: Web) -> None:
    where = hands.send("/do/pause", job="cleanup").headers["location"]
    assert "The job is paused." in hands.get(where).text
    assert "The job is paused." not in hands.get(where).text
    assert "All is well" not in hands.get("/jobs/cleanup?note=All+is+well").text


def test_a_form_that_says_too_little(hands: Web) -> None:
    for path, fields in (
        ("/do/pause", {}),
        ("/do/redrive", {"job": "cleanup"}),
        ("/do/delete", {"job": "cleanup"}),
    ):
        assert "not complete" in hands.post(path, 400, **fields).text
