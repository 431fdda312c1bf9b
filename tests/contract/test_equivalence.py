"""Random lives of runs: whatever the moves, every store gives the answer of the rules."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from cronce.domain.run import OPEN, Run
from cronce.ports import DueRun, Store
from support import samples as s
from support.stores import Engine, memory_engine

Step = Callable[[Store], object]
MOVES = (
    *("claim", "claim", "claim", "take_over", "renew", "succeed", "fail", "retry", "retry"),
    *("lose", "skip", "miss", "concede", "cancel", "redrive", "redrive", "trigger", "dispatched"),
)


@pytest.mark.parametrize("seed", range(12))
def test_stores_agree_on_every_answer_and_every_row(table: Engine, seed: int) -> None:
    draw = random.Random(seed)
    model = memory_engine()
    for turn in range(70):
        step = random_step(draw, turn, model.store)
        expected, found = step(model.store), step(table.store)
        assert found == expected, turn
    assert table.rows.all() == model.rows.all()
    statuses = {row.get("status") for row in model.rows.all()}
    assert statuses - OPEN


def random_step(draw: random.Random, turn: int, model: Store) -> Step:
    """Drawn so that about half of the moves are allowed, by what the row is at the moment."""
    key = s.a_key(draw.randrange(3), trigger=draw.choice(("", "b-may")))
    now = s.after(turn * 5 + draw.random())
    seen = model.read_run(key) or Run(key, "running", s.AT, attempt=1)
    if draw.random() < 0.2:
        seen = replace(seen, attempt=seen.attempt + draw.choice((-1, 1)))
    owner = seen.owner if draw.random() < 0.8 and seen.owner else "nobody"
    return step_of(draw, draw.choice(MOVES), seen, owner, now)


def step_of(draw: random.Random, move: str, seen: Run, owner: str, now: datetime) -> Step:
    key = seen.key
    c = replace(
        s.a_claim(f"{draw.getrandbits(64):x}", due=now),
        lease_expires_at=now + (s.after(draw.choice((3, 30))) - s.AT),
    )
    e = s.an_ending(draw.choice(("late", "x")), draw.choice(("", "why", "é" * 256)))
    entry = s.an_entry(seen.attempt)
    later = now + (s.after(draw.choice((0, 1, 60))) - s.AT)
    flag = draw.random() < 0.5
    steps: dict[str, Step] = {
        "claim": lambda st: st.claim(key, c, now=now),
        "take_over": lambda st: st.take_over(key, c, seen=seen, now=now),
        "renew": lambda st: st.renew(key, owner, later),
        "succeed": lambda st: st.succeed(key, owner, e, now=now),
        "fail": lambda st: st.fail(key, owner, entry, e, now=now),
        "retry": lambda st: st.retry(key, owner, entry, retry_at=later, in_index=flag),
        "lose": lambda st: st.lose(key, e, seen=seen, now=now),
        "skip": lambda st: st.skip(key, now, e, now=now),
        "miss": lambda st: st.miss(key, now, e, now=now),
        "concede": lambda st: st.concede(key, owner, e, now=now),
        "cancel": lambda st: st.cancel(key, now, e, by_request=flag, now=now),
        "redrive": lambda st: st.redrive(key, triggered_by="somebody", now=now),
        "trigger": lambda st: st.trigger(key, triggered_by="somebody", now=now),
        "dispatched": lambda st: st.dispatched(DueRun(key, seen.indexed_at or now)),
    }
    return steps[move]
