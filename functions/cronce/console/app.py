"""The console as an ASGI application."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from cronce.console import actions, pages
from cronce.console.guard import Guard
from cronce.console.load import Trouble
from cronce.console.site import Site

STATIC = Path(__file__).parent / "static"


def build(site: Site) -> Guard:
    def show(page: pages.Show) -> pages.Endpoint:
        return pages.answering(site, page)

    async def act(request: Request) -> Response:
        return await actions.act(site, request)

    def missing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return site.trouble(request, Trouble(status, "There is no such page", request.url.path))

    def broken(request: Request, error: Exception) -> Response:
        detail = f"{type(error).__name__}: the console itself failed at {request.url.path}."
        return site.trouble(request, Trouble(500, "Something went wrong here", detail))

    app = Starlette(
        routes=[
            Route("/", show(pages.overview)),
            Route("/jobs", show(pages.jobs)),
            Route("/find", show(pages.find)),
            Route("/jobs/{job_id}", show(pages.job)),
            Route("/jobs/{job_id}/runs/{run_id}", show(pages.run)),
            Route("/attention", show(pages.attention)),
            Route("/health", show(pages.health)),
            Route("/confirm", show(pages.confirm)),
            Route("/do/{verb}", act, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={HTTPException: missing, 500: broken},
    )
    app.router.redirect_slashes = False
    # Around everything, the page that tells of a defect included.
    return Guard(app, site.keys)
