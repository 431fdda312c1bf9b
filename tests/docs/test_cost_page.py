"""docs/cost.md adds up, from what the code and the counted units say."""

from __future__ import annotations

import json
import re

import pytest

from cronce import limits
from cronce.adapters.observer import METRICS, PowertoolsObserver
from support.pages import ROOT, read, rows, section, words

PAGE = read("cost")
MINUTES = 730 * 60
UNITS = {
    name: int(units)
    for name, units in re.findall(
        r'"([\w-]+)": (\d+),', (ROOT / "tests" / "cost" / "test_units.py").read_text()
    )
}


def number(cell: str) -> float:
    found = re.search(r"\d[\d,]*(?:\.\d+)?", cell)
    assert found, cell
    return float(found[0].replace(",", ""))


PRICES = {words(row[0])[0]: float(row[1]) / number(row[2]) for row in rows(PAGE.split("\n## ")[0])}
IDLE = rows(section(PAGE, "Nothing is due"))
RUNS = rows(section(PAGE, "A million runs"))


def test_what_is_paid_when_nothing_is_due_adds_up() -> None:
    *parts, last = IDLE
    amounts = [number(many) * PRICES[words(price)[0]] for _, many, price, _ in parts]
    assert [f"{amount:.2f}" for amount in amounts] == [row[3] for row in parts]
    assert last[3] == f"**{sum(float(row[3]) for row in parts):.2f}**"


def test_how_many_are_what_the_code_does() -> None:
    many = {words(price)[0]: number(many) for _, many, price, _ in IDLE[:-1]}
    assert many["write"] == MINUTES * UNITS["acquire_lease"]
    assert many["read"] == MINUTES * (2 * limits.SHARDS * 0.5 + 0.5)
    assert many["invocation"] == 2 * MINUTES
    assert many["time"] == MINUTES * (0.3 * 1 + 0.5 * 0.25)
    assert many["queue"] == MINUTES * 5 * 60 / 20
    assert many["log"] == pytest.approx(MINUTES * 1.7e-6, abs=0.001)
    assert PAGE.count(f"{MINUTES:,}") >= 2


@pytest.mark.parametrize(("k", "b", "column", "amount"), [(1, 1, 2, 5), (100, 10, 3, 6)])
def test_a_million_runs_add_up(k: int, b: int, column: int, amount: int) -> None:
    *parts, last = RUNS
    for row in parts:
        for_a_run = eval(row[1], {"k": k, "b": b, "t": 0.5})
        assert number(row[column]) == pytest.approx(for_a_run, abs=0.006)
        price = PRICES[words(row[4])[0]]
        millions = 1 if "million" in row[0] else 1_000_000
        assert f"{for_a_run * millions * price:.2f}" == row[amount], row
    assert last[amount] == f"**{sum(float(row[amount]) for row in parts):.2f}**"


def test_the_units_of_a_run_are_those_that_are_counted() -> None:
    for_each = UNITS["advance"] + UNITS["claim"] + UNITS["succeed"]
    shared = UNITS["put_record"] + UNITS["update_record-to-the-end"] + UNITS["note_claimed"]
    assert RUNS[0][1] == f"{for_each} + {shared}/k"
    more = {row[0]: row[1:] for row in rows(section(PAGE, "What adds to a run"))}
    assert number(more["each 10 s that it goes on"][0]) == UNITS["renew"]
    assert limits.RENEW_EVERY == 10
    assert number(more["a further attempt"][0]) == UNITS["retry"] + UNITS["claim"]
    assert UNITS["retry-far"] == UNITS["retry"] + 1
    assert number(more["an end that is not a success"][0]) == UNITS["fail"] - UNITS["succeed"]
    by_request = UNITS["trigger"] + UNITS["dispatched"]
    assert more["a run by request"][0] == f"{by_request} in place of {UNITS['advance']}"


def test_the_sums_in_the_text_are_those_of_the_tables() -> None:
    idle, alone, company = (
        float(cell.strip("*")) for cell in (IDLE[-1][3], RUNS[-1][5], RUNS[-1][6])
    )
    text = " ".join(PAGE.split())
    assert f"a month = {idle} + 0.90 + ({company} to {alone}) for each million runs" in text
    hourly = idle + 0.9 + 0.73 * company
    assert f"about {hourly:.0f} USD a month" in text
    assert f"{10.6 * PRICES['time'] * 1e6:.0f} USD a million" in text


def test_metrics_are_those_that_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    observer = PowertoolsObserver("cronce")

    def written() -> set[str]:
        capsys.readouterr()
        observer.flush()
        (line,) = capsys.readouterr().out.splitlines()
        (group,) = json.loads(line)["_aws"]["CloudWatchMetrics"]
        return {metric["Name"] for metric in group["Metrics"]}

    observer.event("tick", sent=0, advanced=0)
    observer.event("watched", overdue=0.0)
    (idle,) = (row for row in IDLE if row[0].startswith("metrics"))
    assert written() == set(words(idle[0]))
    assert number(idle[1]) == len(words(idle[0]))
    assert f"{len(METRICS)} in all" in PAGE
