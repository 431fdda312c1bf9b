"""What every page has: templates, the deployment's name, times, notes from the page before."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from cronce import __version__
from cronce.adapters.system import SystemClock
from cronce.console import present
from cronce.console.guard import Keys
from cronce.console.load import Trouble
from cronce.console.present import Times
from cronce.console.redact import url

MOST_NOTES = 50
LIVE_SECONDS = 10


@dataclass(frozen=True)
class Note:
    """What came of an action, shown once. tone: good or bad."""

    tone: str
    text: str


class Notes:
    """By a key in the next page's address: a note cannot be made up by whoever wrote a link."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Note] = OrderedDict()

    def keep(self, note: Note) -> str:
        key = secrets.token_urlsafe(6)
        self._kept[key] = note
        while len(self._kept) > MOST_NOTES:
            self._kept.popitem(last=False)
        return key

    def take(self, key: str | None) -> Note | None:
        return self._kept.pop(key, None) if key else None


@dataclass
class Site:
    """client: `cronce.client.Client`, or what answers like it. name: of the deployment. clock: for
    what is shown as now where the API's answer does not say."""

    client: Any
    keys: Keys
    name: str
    times: Times = field(default_factory=Times)
    clock: Callable[[], datetime] = SystemClock().now
    notes: Notes = field(default_factory=Notes)

    @cached_property
    def templates(self) -> Environment:
        env = Environment(
            loader=PackageLoader("cronce.console"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        env.filters |= {
            "tone": present.tone,
            "schedule": present.schedule_words,
            "zone": present.zone_of,
            "target": present.target_words,
            "late": present.late_text,
            "took": present.took,
            "segment": lambda text: quote(str(text), safe=""),
            "secretless": url,
        }
        env.globals |= {
            "clock": self.times.clock,
            "distance": present.distance,
            "OPEN": present.OPEN,
            "link": link,
            "version": __version__,
        }
        return env

    def page(
        self, request: Request, template: str, *, status: int = 200, **values: Any
    ) -> Response:
        given = {
            "here": request.url.path,
            "query": dict(request.query_params),
            "token": self.keys.token,
            "deployment": self.name,
            "zone_name": self.times.name,
            "now": self.clock(),
            "note": self.notes.take(request.query_params.get("note")),
            "live": LIVE_SECONDS if request.query_params.get("live") != "off" else 0,
        }
        return HTMLResponse(
            self.templates.get_template(template).render(given | values), status_code=status
        )

    def trouble(self, request: Request, trouble: Trouble) -> Response:
        return self.page(request, "trouble.html", status=trouble.status, trouble=trouble, live=0)


def link(path: str, **query: object) -> str:
    """A path with the parameters that have a value."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path
