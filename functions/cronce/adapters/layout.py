"""The table's keys and indexes: what the construct builds, and every item lies in.

Imports nothing, so that the construct can read it without the product's dependencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PK: Final = "pk"
SK: Final = "sk"
# Epoch seconds, only ever on what has ended; everything else about time is a string.
TTL: Final = "expires_at"


@dataclass(frozen=True)
class Index:
    """A global secondary index. kinds: S or N, of partition and sort attribute. include: projected
    beside the keys; empty means keys only."""

    name: str
    partition: str
    sort: str
    kinds: tuple[Literal["S", "N"], Literal["S", "N"]] = ("S", "S")
    include: tuple[str, ...] = ()


# The one to-do list, sparse by its sort attribute: what a tick needs and not one attribute more,
# since each advance pays for what is projected.
NEXT_RUN: Final = Index(
    "next_run",
    "shard",
    "next_run",
    ("N", "S"),
    ("plan", "uid", "generation", "next_occurrence", "runs_planned", "group", "v"),
)
BY_GROUP: Final = Index("by_group", "group", "job_id")
# Sparse by its partition attribute: a success has no `day`, and pays nothing.
ATTENTION: Final = Index("attention", "day", "finished_at", include=("status", "v"))
INDEXES: Final = (NEXT_RUN, BY_GROUP, ATTENTION)
