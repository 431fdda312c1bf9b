"""The console over a deployment in virtual time, and what a browser would send to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import pytest

from cronce.console.site import Site
from support.acted import Acted, a_night
from support.browsing import Answer, Browser, serving
from support.emulator import aws, client, deployment, hooks

__all__ = ["aws", "client", "deployment", "hooks"]


class Page(HTMLParser):
    """What a page is made of."""

    VOID = frozenset(
        {"meta", "link", "input", "br", "img", "path", "circle", "rect", "line", "use"}
    )

    def __init__(self, status: int, text: str) -> None:
        super().__init__()
        self.status, self.html = status, text
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._open: list[str] = []
        self._words: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        optional = {"li", "dd", "dt"}
        while self._open and self._open[-1] != tag and self._open[-1] in optional:
            self._open.pop()
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    @property
    def text(self) -> str:
        """As it is read: one space between words."""
        return re.sub(r"\s+", " ", " ".join(self._words)).strip()

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [
            attrs
            for name, attrs in self.tags
            if name == tag and all(attrs.get(n) == v for n, v in wanted.items())
        ]

    @property
    def links(self) -> list[str]:
        return [a["href"] for a in self.all("a")]


@dataclass
class Web:
    """A browser that was given the key."""

    http: Browser
    site: Site

    def get(self, path: str, status: int = 200) -> Page:
        answer = self.http.get(path)
        assert answer.status == status, answer.text[:2000]
        assert answer.headers["content-type"].startswith("text/html")
        return Page(answer.status, answer.text)

    def post(self, path: str, status: int = 303, **fields: str) -> Page:
        """What the form leads to."""
        answer = self.send(path, **fields)
        assert answer.status == status, answer.text[:2000]
        if status == 303:
            return self.get(answer.headers["location"])
        return Page(answer.status, answer.text)

    def send(self, path: str, **fields: str) -> Answer:
        given = {"token": self.site.keys.token, **fields}
        return self.http.post(path, given, Origin=self.http.origin)


@contextmanager
def console_over(client: Any) -> Iterator[Web]:
    with serving(client) as site:
        browser = Browser(site.keys.port)
        browser.get(f"/?key={site.keys.key}")
        yield Web(browser, site)


@pytest.fixture(scope="session")
def night() -> Iterator[Acted]:
    """To be read only."""
    acted = a_night(2)
    yield acted
    acted.close()


@pytest.fixture(scope="session")
def web(night: Acted) -> Iterator[Web]:
    with console_over(night) as made:
        yield made


@pytest.fixture
def evening() -> Iterator[Acted]:
    """To be changed."""
    acted = a_night(0.5)
    yield acted
    acted.close()


@pytest.fixture
def hands(evening: Acted) -> Iterator[Web]:
    with console_over(evening) as made:
        yield made


@pytest.fixture
def over() -> Iterator[Callable[[Any], Web]]:
    """A console over any client."""
    with ExitStack() as stack:
        yield lambda client: stack.enter_context(console_over(client))
