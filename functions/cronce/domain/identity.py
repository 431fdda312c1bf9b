"""What a job, a run and a trigger are called."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from cronce import limits
from cronce.domain.instants import check_aware

# Whoever reads a URL takes the segments . and .. out of it: nothing is named so.
JOB_ID = re.compile(rf"(?!\.\.?$)[A-Za-z0-9._-]{{1,{limits.JOB_ID_LENGTH}}}", re.ASCII)
JOB_ID_FORM = f"1 to {limits.JOB_ID_LENGTH} of A-Z a-z 0-9 . _ -, neither . nor .."
UID = re.compile(r"[a-z0-9]{8}", re.ASCII)
CLIENT_ID = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}", re.ASCII)
CLIENT_ID_FORM = "1 to 64 of A-Z a-z 0-9 . _ -, neither . nor .."

_RUN_ID = re.compile(r"(\d{8}T\d{6})Z-([a-z0-9]{8})(?:-([mb]-[A-Za-z0-9._-]{1,64}))?", re.ASCII)
# With room on both sides for a range of time around it.
_YEARS = range(1970, 9000)
_UID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, order=True)
class RunKey:
    """The identity of a run.

    scheduled_for: the intended instant, whole seconds.
    trigger: empty for the schedule's own run; `m-<client id>` run now; `b-<backfill>` backfill.
    """

    job_id: str
    uid: str
    scheduled_for: datetime
    trigger: str = ""

    def __post_init__(self) -> None:
        if check_aware(self.scheduled_for).microsecond:
            raise ValueError(f"an occurrence lies on a whole second: {self.scheduled_for}")

    @property
    def run_id(self) -> str:
        """URL-safe, sorts by time, unique within the job.

        >>> RunKey("a", "k3f9a2qd", datetime(2026, 11, 30, 1, 30, tzinfo=UTC), "m-x").run_id
        '20261130T013000Z-k3f9a2qd-m-x'
        """
        tail = f"-{self.trigger}" if self.trigger else ""
        return f"{self.scheduled_for:%Y%m%dT%H%M%SZ}-{self.uid}{tail}"


def parse_run_id(job_id: str, run_id: str) -> RunKey | None:
    """The key that a run id names, or None when it is not a run id at all."""
    match = _RUN_ID.fullmatch(run_id)
    if match is None:
        return None
    try:
        at = datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    if at.year not in _YEARS:
        return None
    return RunKey(job_id, match[2], at, match[3] or "")


def manual_trigger(client_id: str) -> str:
    return f"m-{client_id}"


def uid_from(entropy: bytes) -> str:
    """8 characters from at least 8 random bytes; unique per creation of a job id."""
    number = int.from_bytes(hashlib.blake2b(entropy, digest_size=8).digest(), "big")
    chars = []
    for _ in range(8):
        number, index = divmod(number, len(_UID_ALPHABET))
        chars.append(_UID_ALPHABET[index])
    return "".join(chars)


def shard_of(text: str, shards: int) -> int:
    """0 .. shards-1, the same on every machine (Python's own hash is not)."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") % shards
