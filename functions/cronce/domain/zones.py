"""Time zones: the IANA keys of the `tzdata` package and nothing else.

The host's zone files are never read, so a laptop, a container and a Lambda agree, and the process's
own zone has no say. Every key is checked against the list that travels with the data before
a file is opened: a path, a directory, `localtime`, `posixrules` or `Factory` cannot get through.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module, resources
from zoneinfo import ZoneInfo

from cronce.domain.errors import Fault, Invalid, Unplannable

ACCEPTED = "an IANA name such as Europe/Berlin, America/New_York or UTC"

# In the data, but no place on earth: their meaning depends on the host, or is "not configured".
_NOT_ZONES = frozenset({"Factory", "localtime", "posixrules"})


@cache
def zone_keys() -> frozenset[str]:
    """Every accepted key, links such as Europe/Kiev included."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return frozenset(listed) - _NOT_ZONES


@cache
def tzdata_version() -> str:
    """The IANA release of the bundled data, such as `2026a`."""
    return str(import_module("tzdata").IANA_VERSION)


@lru_cache(maxsize=700)
def load_zone(key: str) -> ZoneInfo:
    """The zone of an accepted key. Raises Unplannable for any other."""
    if key not in zone_keys():
        raise Unplannable(f"unknown time zone {key[:60]!r}")
    file = resources.files("tzdata").joinpath("zoneinfo", *key.split("/"))
    with file.open("rb") as data:
        return ZoneInfo.from_file(data, key=key)


def check_zone(value: object, pointer: str = "/timezone") -> str:
    """The key itself. Raises Invalid with a hint at the key that was probably meant.

    >>> check_zone("Europe/Berlin")
    'Europe/Berlin'
    """
    if isinstance(value, str) and value in zone_keys():
        return value
    raise Invalid([_unknown(value, pointer)])


def _unknown(value: object, pointer: str) -> Fault:
    if not isinstance(value, str):
        return Fault(pointer, "bad_timezone", "a time zone is a string", ACCEPTED)
    if not value.strip():
        return Fault(pointer, "bad_timezone", "the time zone is empty", ACCEPTED)
    meant = _by_lower_case().get(value[:80].strip().lower())
    hint = f"; {meant} was probably meant" if meant else ""
    if value in _NOT_ZONES:
        hint = ": its meaning depends on the machine"
    shown = value if len(value) <= 60 else value[:57] + "..."
    return Fault(pointer, "unknown_timezone", f"{shown!r} is not a time zone{hint}", ACCEPTED)


@cache
def _by_lower_case() -> dict[str, str]:
    return {key.lower(): key for key in zone_keys()}
