"""What all rows of the table have in common: keys, version, and how attributes are read.

Only what means something is stored: no nulls, no empty strings, so that a claim and a completion
stay under 1 KB, which is one write unit. Every item carries `v`; readers accept it and the one
before. A newer one raises UnknownVersion and is left alone; what is broken raises Unplannable.
The rows themselves: `job_items.py`, `run_items.py`, `dispatch_items.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import Final, TypeVar

from cronce.adapters.wire import Item
from cronce.domain.errors import Unavailable, Unplannable
from cronce.domain.identity import JOB_ID, RunKey
from cronce.domain.instants import from_wire, to_wire

VERSION: Final = 1

JOB_SK: Final = "JOB"
SPEC_SK: Final = "JOB#SPEC"
# Sorts right after the two, so that one query reads all three.
LOCK_SK: Final = "LOCK"
RUN_PREFIX: Final = "RUN#"
MISSED_PREFIX: Final = "MISSED#"
BACKFILL_PREFIX: Final = "BACKFILL#"
LEASE_SK: Final = "LEASE"
# Sorts after every instant, uid and trigger.
LAST: Final = "~"

T = TypeVar("T")


class UnknownVersion(Unavailable):
    """A row that a newer release has written: this one leaves it alone, and tries again later."""

    def __init__(self, item: Mapping[str, object]) -> None:
        super().__init__(f"row {item.get('pk')} {item.get('sk')} has version {item.get('v')!r:.20}")


def check_version(item: Mapping[str, object]) -> None:
    """Raises UnknownVersion; ValueError where there is no version at all."""
    v = item.get("v")
    if isinstance(v, bool) or not isinstance(v, int):
        raise ValueError("no version")
    if not VERSION - 1 <= v <= VERSION:
        raise UnknownVersion(item)


def is_known(item: Mapping[str, object]) -> bool:
    try:
        check_version(item)
    except (UnknownVersion, ValueError):
        return False
    return True


def in_table(at: datetime) -> datetime:
    """The instant as the table keeps it: whole milliseconds."""
    return from_wire(to_wire(at))


# --- keys


def job_pk(job_id: str) -> str:
    return f"JOB#{job_id}"


def run_sk(key: RunKey) -> str:
    return f"{RUN_PREFIX}{to_wire(key.scheduled_for)}#{key.uid}#{key.trigger}"


def missed_sk(first: datetime, uid: str) -> str:
    return f"{MISSED_PREFIX}{to_wire(first)}#{uid}"


def backfill_sk(backfill_id: str) -> str:
    return f"{BACKFILL_PREFIX}{backfill_id}"


def trigger_sk(key: RunKey) -> str:
    return f"TRIGGER#{key.uid}#{key.trigger}"


def dispatch_pk(slice_: int) -> str:
    return f"DISPATCH#{slice_}"


def lease_pk(slice_: int) -> str:
    return f"DISPATCHER#{slice_}"


def wire_key(item: Mapping[str, object]) -> tuple[str, str]:
    return str(item["pk"]), str(item["sk"])


def job_id_of(pk: object) -> str:
    """Raises ValueError."""
    if not isinstance(pk, str) or not pk.startswith("JOB#") or not JOB_ID.fullmatch(pk[4:]):
        raise ValueError("not the key of a job")
    return pk[4:]


def run_key_of(pk: object, sk: object) -> RunKey:
    """Raises ValueError."""
    if not isinstance(sk, str) or not sk.startswith(RUN_PREFIX):
        raise ValueError("not the key of a run")
    at, uid, trigger = sk.removeprefix(RUN_PREFIX).split("#")
    return RunKey(job_id_of(pk), uid, from_wire(at), trigger)


# --- attributes


def reading(read: Callable[[Mapping[str, object]], T]) -> Callable[[Mapping[str, object]], T]:
    """A reader of rows that raises UnknownVersion, or Unplannable for whatever else is wrong."""

    @wraps(read)
    def checked(item: Mapping[str, object]) -> T:
        try:
            check_version(item)
            return read(item)
        except KeyError as e:
            raise Unplannable(f"row {_shown(item)} has no {e}"[:200]) from e
        except (ValueError, TypeError, AttributeError, RecursionError) as e:
            raise Unplannable(f"row {_shown(item)}: {e}"[:200]) from e

    return checked


def readable(
    read: Callable[[Mapping[str, object]], T],
) -> Callable[[Mapping[str, object]], T | None]:
    """The same reader for listings: None for a row of a newer release, and for a broken one."""

    def found(item: Mapping[str, object]) -> T | None:
        try:
            return read(item)
        except (UnknownVersion, Unplannable):
            return None

    return found


def _shown(item: Mapping[str, object]) -> str:
    return f"{item.get('pk')} {item.get('sk')}"[:100]


def present(values: Mapping[str, object | None]) -> Item:
    return {name: value for name, value in values.items() if value is not None}


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def wire(at: datetime | None) -> str | None:
    return None if at is None else to_wire(at)


def text(item: Mapping[str, object], name: str, absent: str | None = None) -> str:
    value = item[name] if absent is None else item.get(name, absent)
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a string")
    return value


def number(item: Mapping[str, object], name: str, absent: int | None = None) -> int:
    value = item[name] if absent is None else item.get(name, absent)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is not a whole number")
    return value


def number_or_none(item: Mapping[str, object], name: str) -> int | None:
    return number(item, name) if name in item else None


def mapping(item: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = item[name]
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is not a map")
    return value


def instant(item: Mapping[str, object], name: str) -> datetime:
    return from_wire(text(item, name))


def instant_or_none(item: Mapping[str, object], name: str) -> datetime | None:
    return instant(item, name) if name in item else None
