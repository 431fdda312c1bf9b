"""What a deployment may reach: `allowed_targets`, URL origins and ARN patterns. Empty by default.

A URL entry is `https://host[:port][/path prefix]` or `https://*.example.com`; an ARN entry may
hold `*` inside its segments, which never matches across a colon. Only an emulator's deployment
may list plain http, and `:*` for any port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cronce.domain.errors import Fault, Invalid
from cronce.domain.urls import Url, parse_url

ACCEPTED = "https://host[:port][/prefix], https://*.example.com, or an ARN with * inside segments"
EMULATOR = "emulator"
_TARGETS = "what an entry of the deployment's allowed_targets covers (--allow-target)"
_SECRETS = "a secret of the deployment's secrets (--secret)"

_ARN = re.compile(r"arn:[a-z-]{3,20}(:[^:\s]*){4,6}", re.ASCII)
_LITERAL_HEAD = re.compile(r"arn:[a-z-]+:[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True)
class UrlEntry:
    """port None: any; subdomains: the names below `host`, not `host` itself."""

    scheme: str
    host: str
    port: int | None
    path: str
    subdomains: bool = False

    def matches(self, resource: str) -> bool:
        try:
            url = parse_url(resource)
        except ValueError:
            return False
        host_fits = url.host.endswith("." + self.host) if self.subdomains else url.host == self.host
        port_fits = self.port in (None, url.port)
        return url.scheme == self.scheme and host_fits and port_fits and self._covers(url)

    def _covers(self, url: Url) -> bool:
        prefix = self.path.rstrip("/")
        return url.path == self.path or url.path == prefix or url.path.startswith(prefix + "/")


@dataclass(frozen=True)
class ArnEntry:
    pattern: str

    def matches(self, resource: str) -> bool:
        if not _ARN.fullmatch(resource) or "*" in resource:
            return False
        mine, theirs = self.pattern.split(":"), resource.split(":")
        return len(mine) == len(theirs) and all(
            _segment_matches(p, s) for p, s in zip(mine, theirs, strict=True)
        )


Entry = UrlEntry | ArnEntry


def _segment_matches(pattern: str, segment: str) -> bool:
    """`*` stands for any characters. Greedy from the left, so the work is bounded.

    >>> [_segment_matches("team-*-in", s) for s in ("team-a-in", "team--in", "team-in", "team-a")]
    [True, True, False, False]
    """
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == segment
    last = rest.pop()
    if not segment.startswith(first) or len(segment) < len(first) + len(last):
        return False
    middle = segment[len(first) : len(segment) - len(last)]
    if not segment.endswith(last):
        return False
    at = 0
    for part in rest:
        found = middle.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def is_allowed(resource: str, allowed: Iterable[Entry]) -> bool:
    """Whether a URL or an ARN is covered by an entry. What cannot be read is not allowed."""
    return any(entry.matches(resource) for entry in allowed)


def parse_allowed(entries: Sequence[object], *, profile: str = "aws") -> tuple[Entry, ...]:
    """The entries as written in CDK. Raises Invalid with every fault, at `/allowed_targets/n`."""
    parsed: list[Entry] = []
    faults: list[Fault] = []
    for n, text in enumerate(entries):
        try:
            parsed.append(_parse_entry(text, profile))
        except ValueError as e:
            pointer = f"/allowed_targets/{n}"
            faults.append(Fault(pointer, "bad_allowed_target", f"{text!r:.200}: {e}", ACCEPTED))
    if faults:
        raise Invalid(faults)
    return tuple(parsed)


def _parse_entry(text: object, profile: str) -> Entry:
    if not isinstance(text, str):
        raise ValueError("not a string")
    return _parse_arn(text) if text.startswith("arn:") else _parse_origin(text, profile)


def _parse_arn(text: str) -> ArnEntry:
    if not _ARN.fullmatch(text) or not _LITERAL_HEAD.match(text):
        raise ValueError("not an ARN whose partition and service are literal")
    resource = text.split(":", 5)[5]
    if not resource.strip("*:/"):
        raise ValueError("the resource is nothing but a wildcard")
    return ArnEntry(text)


def _parse_origin(text: str, profile: str) -> UrlEntry:
    emulator = profile == EMULATOR
    any_port = emulator and re.match(r"https?://[^/]*:\*(?:/|\Z)", text) is not None
    plain = text.replace(":*", "", 1) if any_port else text
    subdomains = "://*." in plain
    url = parse_url(plain.replace("://*.", "://", 1) if subdomains else plain)
    if url.query:
        raise ValueError("a query is not part of an entry")
    if url.scheme != "https" and not emulator:
        raise ValueError("only https is accepted")
    if subdomains and ("." not in url.host or url.host[-1].isdigit() or ":" in url.host):
        raise ValueError("a wildcard needs a domain of at least two labels behind it")
    return UrlEntry(url.scheme, url.host, None if any_port else url.port, url.path, subdomains)


class KindRules(Protocol):
    """What validation needs to know of a kind. Pointers are relative to the kind's object."""

    def validate(self, config: Mapping[str, Any], profile: str, /) -> list[Fault]: ...

    def resources(self, config: Mapping[str, Any], /) -> list[tuple[str, str]]:
        """(pointer, URL or ARN) of everything that a valid `config` makes the worker reach."""
        ...


def validate_target(
    doc: object, *, profile: str, allowed: Sequence[Entry], kinds: Mapping[str, KindRules]
) -> list[Fault]:
    """Every fault of a target, e.g. `{"http": {...}}`; pointers such as `/http/url`."""
    accepted = f"an object with exactly one key of {', '.join(kinds)}"
    if not isinstance(doc, Mapping):
        return [Fault("", "wrong_type", "a target is an object", accepted)]
    if len(doc) != 1:
        return [Fault("", "bad_target", f"a target has one key, this has {len(doc)}", accepted)]
    ((name, config),) = doc.items()
    if name not in kinds:
        detail = f"{name!r:.80} is not a kind of target"
        return [Fault(_at(name), "unknown_target_kind", detail, accepted)]
    if not isinstance(config, Mapping):
        return [Fault(_at(name), "wrong_type", f"{name} takes an object", "an object")]
    kind = kinds[name]
    if faults := kind.validate(config, profile):
        return [fault.under(_at(name)) for fault in faults]
    return [
        Fault(
            _at(name) + pointer,
            "target_not_allowed",
            f"this deployment may not reach {_shown(resource)}",
            _SECRETS if ":secretsmanager:" in resource else _TARGETS,
        )
        for pointer, resource in kind.resources(config)
        if not is_allowed(resource, allowed)
    ]


def _at(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _shown(resource: str) -> str:
    """Only the origin of a URL: its path and query may be secret."""
    return resource if resource.startswith("arn:") else parse_url(resource).origin
