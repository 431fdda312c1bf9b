"""What rows take in the table."""

from __future__ import annotations

from collections.abc import Mapping


def stored_bytes(value: object) -> int:
    """Bytes that DynamoDB counts for a plain value.

    >>> [stored_bytes(v) for v in ("ab", 12345, True, [1, 2], {"a": "b"})]
    [2, 4, 1, 9, 6]
    """
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int):
        return (len(str(abs(value))) + 1) // 2 + 1 + (value < 0)
    if isinstance(value, Mapping):
        return 3 + sum(len(str(n).encode()) + stored_bytes(v) + 1 for n, v in value.items())
    if isinstance(value, list | tuple):
        return 3 + sum(stored_bytes(v) + 1 for v in value)
    raise TypeError(f"{type(value).__name__} is no plain value")
