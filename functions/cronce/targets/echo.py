"""An answer that repeats the secret it was sent, as echoes, error pages and debug output do."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

MASK = b"***"
# A piece of base64 that is shorter is found everywhere.
SHORTEST_PIECE = 8


def masked(answer: bytes, secret: str) -> bytes:
    """`answer` with *** wherever the secret stands: as it is, as URLs, JSON and HTML escape it,
    and inside of base64. Whoever was given the secret can say it in other ways still.

    >>> masked(b'{"a": "x%2Fy", "b": "x\\\\/y"}', "x/y")
    b'{"a": "***", "b": "***"}'
    """
    forms = {form.encode() for form in (*_escaped(secret), *_in_base64(secret))}
    for form in sorted(forms, key=len, reverse=True):
        answer = answer.replace(form, MASK)
    return answer


def _escaped(secret: str) -> Iterator[str]:
    yield secret
    yield html.escape(secret)
    for safe in ("", "/"):
        yield quote(secret, safe=safe)
    in_json = json.dumps(secret)[1:-1]
    yield in_json
    yield in_json.replace("/", "\\/")


def _in_base64(secret: str) -> Iterator[str]:
    """What does not depend on its neighbours, for each of the three places it may begin at."""
    for before in range(3):
        text = b64encode(b"\0" * before + secret.encode()).decode()
        piece = text[(before * 8 + 5) // 6 : (before + len(secret)) * 8 // 6]
        if len(piece) >= SHORTEST_PIECE:
            yield piece
            yield piece.translate(str.maketrans("+/", "-_"))
