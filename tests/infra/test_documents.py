"""What the documents say about numbers, grants and policies is what the code says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronce import limits
from cronce_cdk.props import CronceProps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "SECURITY.md"]


def numbers() -> dict[str, str]:
    """Every limit as the page shows it."""

    def shown(value: object) -> str:
        if isinstance(value, tuple):
            return " to ".join(map(shown, value))
        return f"{value:,}".replace(",", " ")

    return {name: shown(value) for name, value in vars(limits).items() if name.isupper()}


def test_every_limit_stands_on_its_page_with_its_value() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \| [^|]{8,} \|$", read("limits"), re.MULTILINE)
    assert dict(rows) == numbers()
    assert len(rows) == len(numbers())


def test_every_choice_of_a_deployment_is_documented() -> None:
    chosen = set(CronceProps.__dataclass_fields__)
    table = re.findall(r"^\| (`[^|]+) \| ", read("deploying"), re.MULTILINE)
    documented = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert documented == chosen


def links() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            yield page.relative_to(ROOT).as_posix(), target


@pytest.mark.parametrize(("page", "target"), sorted(set(links())))
def test_a_link_leads_somewhere(page: str, target: str) -> None:
    assert ((ROOT / page).parent / target).exists()


def read(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()
