"""The moves of a run: the table, its picture in the README, and the functions agree."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from cronce.domain import transitions as t
from cronce.domain.identity import RunKey
from cronce.domain.run import ENDED, MAX_ENTRIES, MOVES, OPEN, Entry, Run, RunStatus

NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)
KEY = RunKey("invoice", "k3f9a2qd", NOW)
LEASE = timedelta(seconds=30)
END = t.Ending("code", "detail", 86_400)
ENTRY = Entry(1, "failed", "http_500", "no", NOW, NOW)
README = Path(__file__).parents[2] / "README.md"


def claim_of(owner: str = "me", at: datetime = NOW) -> t.Claim:
    return t.Claim(owner, "message", NOW, at + LEASE)


def run_in(status: str) -> Run | None:
    """A run in a status, reached in the state that most moves may leave it from."""
    if status == "none":
        return None
    claimed = t.claim(None, KEY, claim_of(at=NOW - LEASE), NOW - LEASE)
    assert claimed is not None
    return replace(claimed, status=status, retry_at=NOW if status == "retrying" else None)


ATTEMPTS = {
    "trigger": lambda r: t.trigger(r, KEY, shard=1, triggered_by="me", now=NOW),
    "claim": lambda r: (
        t.claim(r, KEY, claim_of("you"), NOW)
        or (r and t.take_over(r, claim_of("you"), seen_attempt=r.attempt, now=NOW))
    ),
    "renew": lambda r: t.renew(r, "me", NOW + LEASE),
    "succeed": lambda r: t.succeed(r, "me", END, NOW),
    "fail": lambda r: t.fail(r, "me", ENTRY, END, NOW),
    "lose": lambda r: r and t.lose(r, END, seen_attempt=r.attempt, now=NOW),
    "retry": lambda r: t.retry(r, "me", ENTRY, retry_at=NOW, indexed_at=None, shard=1),
    "skip": lambda r: t.skip(r, KEY, NOW, END, NOW),
    "miss": lambda r: t.miss(r, KEY, NOW, END, NOW) or t.concede(r, "me", END, NOW),
    "cancel": lambda r: t.cancel(r, KEY, NOW, END, by_request=False, now=NOW),
    "redrive": lambda r: t.redrive(r, shard=1, triggered_by="me", now=NOW),
}


def test_every_status_is_open_or_ended() -> None:
    assert set(get_args(RunStatus)) == OPEN | ENDED
    assert not OPEN & ENDED


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("status", ["none", *get_args(RunStatus)])
def test_a_move_is_made_exactly_where_the_table_allows_it(move: str, status: str) -> None:
    allowed_from, to = MOVES[move]
    after = ATTEMPTS[move](run_in(status))
    if status in allowed_from:
        assert after is not None
        assert after.status == to
        assert (after.expires_at is not None) == after.ended
        assert (after.finished_at is not None) == after.ended
    else:
        assert after is None


def test_nothing_leaves_an_ended_status_but_redrive_from_failed() -> None:
    leaving = {(m, s) for m, (froms, _) in MOVES.items() for s in froms & ENDED}
    assert leaving == {("redrive", "failed")}


def test_the_picture_in_the_readme_is_the_table() -> None:
    picture = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", README.read_text(), re.S)
    assert picture is not None
    drawn = set()
    for source, target, names in re.findall(r"(\S+) --> (\S+): (.+)", picture[1]):
        for name in names.split(","):
            drawn.add((name.strip(), source.replace("[*]", "none"), target))
    table = {(m, s, to) for m, (froms, to) in MOVES.items() for s in froms}
    assert drawn == table


def test_a_lease_has_expired_at_its_very_end() -> None:
    run = t.claim(None, KEY, claim_of(), NOW)
    assert run is not None
    almost = NOW + LEASE - timedelta(milliseconds=1)
    assert t.take_over(run, claim_of("you"), seen_attempt=1, now=almost) is None
    taken = t.take_over(run, claim_of("you", NOW + LEASE), seen_attempt=1, now=NOW + LEASE)
    assert taken is not None
    assert (taken.attempt, taken.owner, taken.entries[-1].outcome) == (2, "you", "lost")


def test_a_take_over_refuses_another_attempt_than_the_one_seen() -> None:
    run = run_in("running")
    assert run is not None
    assert t.take_over(run, claim_of("you"), seen_attempt=run.attempt + 1, now=NOW) is None


def test_a_stale_owner_completes_nothing() -> None:
    run = t.take_over(run_in("running"), claim_of("new"), seen_attempt=1, now=NOW)
    assert t.succeed(run, "me", END, NOW) is None
    assert t.fail(run, "me", ENTRY, END, NOW) is None
    assert t.retry(run, "me", ENTRY, retry_at=NOW, indexed_at=None, shard=0) is None
    assert t.renew(run, "me", NOW) is None
    assert t.succeed(run, "", END, NOW) is None


def test_a_retry_is_claimed_when_due_and_not_before() -> None:
    run = run_in("running")
    retrying = t.retry(run, "me", ENTRY, retry_at=NOW, indexed_at=None, shard=0)
    assert t.claim(retrying, KEY, claim_of("you"), NOW - timedelta(milliseconds=1)) is None
    claimed = t.claim(retrying, KEY, claim_of("you"), NOW)
    assert claimed is not None
    assert (claimed.attempt, claimed.retry_at) == (2, None)


def test_a_cancelled_run_has_no_owner_and_a_live_one_needs_a_request() -> None:
    live = t.claim(None, KEY, claim_of(), NOW)
    assert t.cancel(live, KEY, NOW, END, by_request=False, now=NOW) is None
    cancelled = t.cancel(live, KEY, NOW, END, by_request=True, now=NOW)
    assert cancelled is not None
    assert cancelled.owner == ""
    assert t.succeed(cancelled, "me", END, NOW) is None


def test_a_redrive_goes_on_counting_and_takes_the_expiry_off() -> None:
    failed = t.fail(run_in("running"), "me", ENTRY, END, NOW)
    again = t.redrive(failed, shard=3, triggered_by="me", now=NOW)
    assert again is not None
    assert (again.base, again.attempt, again.expires_at, again.indexed_at) == (1, 1, None, NOW)
    claimed = t.claim(again, KEY, claim_of("you"), NOW)
    assert claimed is not None
    assert (claimed.attempt, claimed.indexed_at, claimed.shard) == (2, None, None)


def test_the_list_of_failed_attempts_is_bounded() -> None:
    run = run_in("running")
    for n in range(MAX_ENTRIES + 5):
        run = t.retry(run, "me", replace(ENTRY, attempt=n), retry_at=NOW, indexed_at=None, shard=0)
        run = t.claim(run, KEY, claim_of(), NOW)
    assert run is not None
    assert [e.attempt for e in run.entries] == list(range(5, MAX_ENTRIES + 5))


def test_a_claim_keeps_the_due_time_of_the_row() -> None:
    pending = t.trigger(None, KEY, shard=1, triggered_by="me", now=NOW)
    claimed = t.claim(pending, KEY, replace(claim_of(), due=NOW + LEASE), NOW)
    assert claimed is not None
    assert claimed.due == NOW
