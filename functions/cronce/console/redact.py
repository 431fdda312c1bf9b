"""A job's document as text to be read: what looks like a secret is not shown."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from cronce import verbatim

HIDDEN = "••••••"
MOST_CHARS = 20_000
_NAME = re.compile(
    r"authori[sz]ation|cookie|passw|passphrase|secret|credential|signature|private"
    r"|(api|access|auth|session)[-_ ]?(key|token)|(^|[-_.])(token|pwd|key|sig)$",
    re.IGNORECASE,
)
# A reference to where a secret lies is no secret.
_REFERENCE = re.compile(r"arn:aws[a-z-]*:(secretsmanager|ssm):", re.IGNORECASE)
_PAIR = re.compile(
    r"""(?P<name>["']?[\w.-]{1,64}["']?)(?P<sign>\s*[:=]\s*)(?P<value>"[^"]*"|'[^']*'|[^\s,;&}]+)"""
)
_QUERY = re.compile(r"([^&=]+)=([^&]*)")


def shown(text: str, *, leave_out: tuple[str, ...] = ()) -> str:
    """A JSON document indented, numbers as written, secrets hidden, cut when very long.

    >>> print(shown('{"n": 1.50, "api_key": "x"}'))
    {
      "n": 1.50,
      "api_key": "••••••"
    }
    """
    document = verbatim.loads(text)
    if isinstance(document, dict):
        document = {name: value for name, value in document.items() if name not in leave_out}
    return clipped(verbatim.dumps(hidden(document)))


def clipped(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    return f"{text[:MOST_CHARS]}\n… {len(text) - MOST_CHARS} more characters"


def hidden(value: Any, name: str = "") -> Any:
    """The same with the values of telling names, and of telling parts of URLs, hidden."""
    if isinstance(value, dict):
        return {key: hidden(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner, name) for inner in value]
    if not isinstance(value, str):
        return value
    if _NAME.search(name) and value and not _REFERENCE.match(value):
        return HIDDEN
    if isinstance(value, verbatim.Number):
        return value
    if name == "payload_text":
        return _text(value)
    return url(value) if value.startswith(("http://", "https://")) else value


def url(text: str) -> str:
    """
    >>> url("https://u:p@example.com/a?token=1&b=2")
    'https://••••••@example.com/a?token=••••••&b=2'
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    host = parts.netloc
    if "@" in host:
        host = f"{HIDDEN}@{host.rsplit('@', 1)[1]}"
    query = _QUERY.sub(lambda m: f"{m[1]}={HIDDEN if _NAME.search(m[1]) else m[2]}", parts.query)
    return urlunsplit((parts.scheme, host, parts.path, query, parts.fragment))


def _text(value: str) -> str:
    """JSON is looked through; of anything else, what looks like a name and its value."""
    try:
        document = verbatim.loads(value)
    except ValueError:
        document = None
    if isinstance(document, dict | list):
        return verbatim.dumps(hidden(document))
    return _PAIR.sub(_pair, value)


def _pair(match: re.Match[str]) -> str:
    telling = _NAME.search(match["name"].strip("\"'"))
    return f"{match['name']}{match['sign']}{HIDDEN if telling else match['value']}"
