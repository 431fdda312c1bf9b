"""The pages: each loads what it shows, and shows what it could not load as such."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from cronce import verbatim
from cronce.client import BadId
from cronce.console import charts, redact
from cronce.console.load import TROUBLE, load, trouble_of
from cronce.console.present import BAD_ENDS, ago, instant
from cronce.console.site import Site

Endpoint = Callable[[Request], Response]
Show = Callable[[Site, Request], Response]

SPANS = {"12h": 12, "24h": 24, "3d": 72, "7d": 168}
STATES = ("active", "paused", "error", "ended")
JOBS = 50
RUNS = 50
FEW = 8
UPCOMING = 10
WITHIN = 3_600


def answering(site: Site, show: Show) -> Endpoint:
    """What the API refuses becomes a page that says so."""

    @wraps(show)
    def endpoint(request: Request) -> Response:
        try:
            return show(site, request)
        except TROUBLE as error:
            return site.trouble(request, trouble_of(error))

    return endpoint


def overview(site: Site, request: Request) -> Response:
    span = request.query_params.get("span", "12h")
    hours = SPANS.get(span, 12)
    client, since = site.client, ago(site.clock(), hours=hours)
    seen = load(
        overview=lambda: client.overview(since=since),
        coming=lambda: client.coming(within=WITHIN),
        health=client.deep_health,
        attention=lambda: client.attention_page(since=since, limit=FEW),
        error=lambda: client.jobs_page(status="error", limit=FEW),
    )
    answer = seen.get("overview")
    now = instant(answer["now"]) if answer else site.clock()
    opened = answer["open"] if answer else []
    due = [r for r in opened if r["status"] != "pending" or instant(_start(r)) <= now]
    return site.page(
        request,
        "overview.html",
        seen=seen,
        now=now,
        span=span if span in SPANS else "12h",
        spans=list(SPANS),
        timeline=charts.timeline(seen.get("coming"), site.times) if seen.get("coming") else None,
        bars=charts.histogram(answer["lateness"]) if answer else [],
        segments=charts.segments(answer["outcomes"]) if answer else [],
        columns=charts.columns(answer, site.times) if answer else [],
        open_runs=sorted(due, key=lambda run: (not run["late"], run["due"])),
        waiting=len(opened) - len(due),
        never_ran=sum(
            each["count"]
            for each in (answer["missed"] if answer else [])
            if each["reason"] == "missed"
        ),
    )


def _start(run: dict[str, Any]) -> str:
    return str(run.get("held_until") or run["due"])


def jobs(site: Site, request: Request) -> Response:
    given = request.query_params
    status = given.get("status") if given.get("status") in STATES else None
    group = (given.get("group") or "").strip() or None
    page = site.client.jobs_page(
        status=status, group=group, limit=JOBS, cursor=given.get("cursor") or None
    )
    return site.page(request, "jobs.html", page=page, only=status, group=group or "", states=STATES)


def find(site: Site, request: Request) -> Response:
    """The form at the top: a job by its id."""
    job_id = (request.query_params.get("job") or "").strip()
    if not job_id:
        return jobs(site, request)
    return job(site, request, job_id)


def job(site: Site, request: Request, job_id: str | None = None) -> Response:
    name = job_id or request.path_params["job_id"]
    client, cursor = site.client, request.query_params.get("cursor") or None
    seen = load(
        job=lambda: client.get_job_text(name),
        runs=lambda: client.runs_page(name, limit=RUNS, cursor=cursor),
        upcoming=lambda: client.upcoming(name, count=UPCOMING),
        missed=lambda: client.missed(name),
    )
    if "job" in seen.trouble and not (seen.get("runs") or {}).get("runs"):
        return site.trouble(request, seen.trouble["job"])
    text = seen.get("job")
    document = verbatim.loads(text) if text else None
    runs: list[dict[str, Any]] = (seen.get("runs") or {"runs": []})["runs"]
    counts = charts.lateness_of(runs)
    coming = (seen.get("upcoming") or {"details": []})["details"]
    return site.page(
        request,
        "job.html",
        seen=seen,
        job_id=name,
        job=document,
        definition=redact.shown(text, leave_out=("id", "status")) if text else "",
        cursor=cursor,
        bars=charts.histogram(counts),
        measured=sum(counts.values()),
        moved=any(each["due"] != each["scheduled_for"] for each in coming),
    )


def run(site: Site, request: Request) -> Response:
    job_id, run_id = request.path_params["job_id"], request.path_params["run_id"]
    told = site.client.explain(job_id, run_id)
    open_ = told["run"] is not None and told["run"]["status"] in ("pending", "running", "retrying")
    return site.page(
        request,
        "run.html",
        told=told,
        run=told["run"],
        job_id=job_id,
        run_id=run_id,
        cancellable=open_ or (told["run"] is None and bool(told["dispatches"])),
    )


def attention(site: Site, request: Request) -> Response:
    given = request.query_params
    status = given.get("status") if given.get("status") in BAD_ENDS else None
    page = site.client.attention_page(status=status, limit=RUNS, cursor=given.get("cursor") or None)
    return site.page(request, "attention.html", page=page, only=status, states=BAD_ENDS)


def health(site: Site, request: Request) -> Response:
    deep = site.client.deep_health()
    return site.page(request, "health.html", deep=deep, now=instant(deep["now"]))


CONFIRMED = {
    "run": ("Run now", "starts a run of its own, beside the schedule"),
    "pause": ("Pause", "stops the schedule until the job is resumed; runs that began go on"),
    "resume": ("Resume", "goes on from now; what fell into the pause is recorded as paused"),
    "cancel": ("Cancel", "ends the run; what its target still does is not recorded any more"),
    "redrive": ("Redrive", "gives the failed run new attempts; the attempts go on counting"),
}


def confirm(site: Site, request: Request) -> Response:
    """A question before an action, so that one wrong click does nothing."""
    given = request.query_params
    do, job_id, run_id = given.get("do", ""), given.get("job", ""), given.get("run", "")
    if do not in CONFIRMED or not job_id or (do in ("cancel", "redrive")) != bool(run_id):
        raise BadId("there is nothing to confirm")
    title, meaning = CONFIRMED[do]
    return site.page(
        request,
        "confirm.html",
        do=do,
        title=title,
        meaning=meaning,
        job_id=job_id,
        run_id=run_id,
        once=secrets.token_hex(6),
        live=0,
    )
