"""Jitter: when a run may start, spread over a window after its occurrence."""

from __future__ import annotations

import hashlib

MAX_JITTER = 86_400


def jitter_seconds(uid: str, occurrence: int, window: int, gap: int | None) -> int:
    """Whole seconds from 0 to `window`, less than `gap`, the time to the next occurrence.

    The same for the same (uid, occurrence), whoever asks and whenever; unrelated between jobs and
    between occurrences, so that a herd of jobs spreads evenly.
    """
    if gap is not None:
        window = min(window, gap - 1)
    if window <= 0:
        return 0
    digest = hashlib.blake2b(f"{uid}|{occurrence}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (window + 1)
