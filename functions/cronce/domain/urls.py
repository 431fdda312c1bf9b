"""URLs as cronce accepts them: a narrow, unambiguous subset, read the same way everywhere.

Whatever two parsers could read differently is refused: user info, backslashes, blanks, control
characters, dot segments, IPv4 addresses in any but the dotted form, empty ports.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import unquote

MAX_LENGTH = 2048
ACCEPTED = "https://host[:port][/path][?query], ASCII, without user info or fragment"

_PORTS = {"https": 443, "http": 80}
_SHAPE = re.compile(r"(?i:(https?))://([^/?#]*)([^?#]*)(\?[^#]*)?", re.ASCII)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_UNSAFE = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")


@dataclass(frozen=True)
class Url:
    """scheme and host lower case; host without brackets and without a final dot; path is never
    empty; query holds its question mark, or is empty."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def parse_url(text: str) -> Url:
    """Raises ValueError saying what is wrong, without repeating the query (it may hold a secret).

    >>> parse_url("HTTPS://Hooks.Example.com.:443/a?b=1").origin
    'https://hooks.example.com'
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters")
    if "#" in text:
        raise ValueError("a fragment is never sent")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ValueError("not an http or https URL with a host")
    scheme, authority, path, query = shape[1].lower(), shape[2], shape[3], shape[4] or ""
    if _UNSAFE.search(path + query):
        raise ValueError('blanks, control, non-ASCII and "<>\\^`{|} must be percent-encoded')
    if has_dot_segments(path):
        raise ValueError("the path contains . or .. segments")
    host, port = _split_authority(authority, scheme)
    return Url(scheme, host, port, path or "/", query)


def _split_authority(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise ValueError("user info is not accepted")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError("the host or the port is not valid")
    port = int(parts[2]) if parts[2] else _PORTS[scheme]
    if not 1 <= port <= 65535:
        raise ValueError("the port is not between 1 and 65535")
    return normal_host(parts[1]), port


def normal_host(host: str) -> str:
    """Lower case, IDNA-encoded, without a final dot. Raises ValueError."""
    if host.startswith("["):
        return ipaddress.IPv6Address(host[1:-1]).compressed
    try:
        name = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise ValueError("the host is not a valid name") from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("the host is not a valid name")
    if _NUMBER.fullmatch(labels[-1]):
        return _dotted_quad(name)
    return name


def _dotted_quad(name: str) -> str:
    """Resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as addresses; only one form is accepted."""
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise ValueError("an IPv4 address is written as four decimal numbers") from None


def has_dot_segments(path: str) -> bool:
    """Also behind one or two layers of percent-encoding, and between backslashes."""
    for _ in range(3):
        if any(segment in (".", "..") for segment in re.split(r"[/\\]", path)):
            return True
        path = unquote(path)
    return False
