"""Another release of the time zone data: a package `tzdata` of real files, made for a test."""

from __future__ import annotations

import importlib
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

# (since, seconds east of UTC), oldest first; the first holds since ever.
Rules = Sequence[tuple[datetime | None, int]]


def compiled(rules: Rules) -> bytes:
    """A zone's file (RFC 8536, version 2): offsets that hold from some instant on."""
    offsets = [offset for _, offset in rules]
    instants = [int(since.timestamp()) for since, _ in rules if since is not None]
    types = b"".join(struct.pack(">lbb", offset, 0, 0) for offset in offsets)
    times = struct.pack(f">{len(instants)}q", *instants)
    kinds = bytes(range(1, len(offsets)))
    empty = _header(0, 1) + struct.pack(">lbb", offsets[0], 0, 0) + b"X\0"
    full = _header(len(instants), len(offsets)) + times + kinds + types + b"X\0"
    return empty + full + b"\n" + _footer(offsets[-1]) + b"\n"


def _header(times: int, types: int) -> bytes:
    return struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, times, types, 2)


def _footer(offset: int) -> bytes:
    """A POSIX rule; its sign is the other way round."""
    sign, seconds = ("-" if offset > 0 else ""), abs(offset)
    return f"<X>{sign}{seconds // 3600}:{seconds % 3600 // 60:02d}".encode()


@contextmanager
def release(folder: Path, version: str, zones: Mapping[str, Rules]) -> Iterator[None]:
    """Within the block this release is installed, and nothing remembers another one.

    zones: by key; UTC is there anyhow.
    """
    package = folder / version / "tzdata"
    every = {"UTC": compiled([(None, 0)])} | {k: compiled(r) for k, r in zones.items()}
    for key, data in every.items():
        file = package / "zoneinfo" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (package / "zones").write_text("\n".join(every))
    (package / "__init__.py").write_text(f'IANA_VERSION = "{version}"\n')
    sys.path.insert(0, str(package.parent))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(package.parent))
        _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "tzdata"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for name, module in list(sys.modules.items()):
        if name.startswith("cronce."):
            for value in list(vars(module).values()):
                clear: Callable[[], None] | None = getattr(value, "cache_clear", None)
                if clear is not None:
                    clear()
