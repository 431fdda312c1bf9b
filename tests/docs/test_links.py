"""Every page is found, and every link leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import DOCS, ROOT, all_pages, section

LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]*))?\)")


def text_of(page: Path) -> str:
    """Without blocks of code, in which brackets are not links."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def links() -> Iterator[tuple[str, str, str]]:
    for page in all_pages():
        for target, anchor in LINK.findall(text_of(page)):
            yield page.relative_to(ROOT).as_posix(), target, anchor


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@pytest.mark.parametrize(("page", "target", "anchor"), sorted(set(links())))
def test_a_link_leads_somewhere(page: str, target: str, anchor: str) -> None:
    found = (ROOT / page).parent / target if target else ROOT / page
    assert found.exists()
    assert not anchor or anchor in anchors(found)


def test_the_readme_lists_every_page() -> None:
    listed = LINK.findall(section((ROOT / "README.md").read_text(), "Documentation"))
    pages = {page.relative_to(ROOT).as_posix() for page in DOCS.glob("*.md")}
    assert {target for target, _ in listed if target.startswith("docs/")} == {
        *pages,
        "docs/openapi.json",
    }
