"""What a form may ask for: five verbs of the API, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cronce.console.load import TROUBLE, Trouble, trouble_of
from cronce.console.site import Note, Site, link

BODY_BYTES = 4_096
NOTE_CHARS = 200
Form = Mapping[str, str]

NOT_OURS = Trouble(403, "Not done", "The form is of another console. Go back, reload, try again.")
TOO_LARGE = Trouble(413, "Not done", "The form is too large.")


def run_now(client: Any, form: Form) -> str:
    run = client.run_job(form["job"], client_id=form.get("once") or None)
    return f"Run {run['run_id']} was asked for."


def pause(client: Any, form: Form) -> str:
    client.pause(form["job"], note=form.get("note", "")[:NOTE_CHARS])
    return "The job is paused."


def resume(client: Any, form: Form) -> str:
    client.resume(form["job"])
    return "The job goes on."


def cancel(client: Any, form: Form) -> str:
    run = client.cancel(form["job"], form["run"])
    return f"Run {run['run_id']} is {run['status']}."


def redrive(client: Any, form: Form) -> str:
    run = client.redrive(form["job"], form["run"])
    return f"Run {run['run_id']} gets new attempts."


VERBS: dict[str, Callable[[Any, Form], str]] = {
    "run": run_now,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "redrive": redrive,
}


async def act(site: Site, request: Request) -> Response:
    """Does it, and leads to the page of what it was done to."""
    form = await _form(request)
    if form is None:
        return site.trouble(request, TOO_LARGE)
    if not site.keys.is_token(form.get("token", "")):
        return site.trouble(request, NOT_OURS)
    verb, job_id, run_id = request.path_params["verb"], form.get("job", ""), form.get("run", "")
    of_run = verb in ("cancel", "redrive")
    if verb not in VERBS or not job_id or (of_run and not run_id):
        return site.trouble(request, Trouble(400, "Not done", "The form is not complete."))
    try:
        note = Note("good", await run_in_threadpool(VERBS[verb], site.client, form))
    except TROUBLE as error:
        found = trouble_of(error)
        note = Note("bad", f"{found.title}. {found.detail}".strip())
    where = f"/jobs/{quote(job_id, safe='')}"
    if of_run:
        where += f"/runs/{quote(run_id, safe='')}"
    return RedirectResponse(link(where, note=site.notes.keep(note)), 303)


async def _form(request: Request) -> Form | None:
    """The fields of a form as browsers send it; None when it is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            return None
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}
