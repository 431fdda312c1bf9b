"""Checks that the kinds share: the fields of an object, and ARNs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cronce.domain.errors import Fault

_NAMES: dict[type, str] = {str: "a string", dict: "an object", list: "an array", bool: "a boolean"}


def check_fields(
    config: Mapping[str, Any], fields: Mapping[str, type], *, required: tuple[str, ...] = ()
) -> list[Fault]:
    """Faults for fields that are unknown, missing, or of another type than the one given."""
    known = ", ".join(fields)
    faults = []
    for name, value in config.items():
        if name not in fields:
            faults.append(Fault(pointer(name), "unknown_field", f"{name!r:.80} is unknown", known))
        elif not _is(value, fields[name]):
            accepted = _NAMES[fields[name]]
            faults.append(Fault(pointer(name), "wrong_type", f"{name} is not {accepted}", accepted))
    missing = (name for name in required if name not in config)
    return faults + [
        Fault(pointer(name), "missing_field", f"{name} is required", _NAMES[fields[name]])
        for name in missing
    ]


def _is(value: object, wanted: type) -> bool:
    return isinstance(value, Mapping) if wanted is dict else isinstance(value, wanted)


def pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def check_text(config: Mapping[str, Any], name: str, form: str, accepted: str) -> list[Fault]:
    """A fault if the string field `name` is there and does not match the pattern `form`."""
    value = config.get(name)
    if not isinstance(value, str) or re.fullmatch(form, value, re.ASCII):
        return []
    return [Fault(pointer(name), "bad_value", f"{value!r:.80} is not accepted", accepted)]


def check_arn(config: Mapping[str, Any], name: str, service: str, resource: str) -> list[Fault]:
    """A fault if the string field `name` is no ARN of `service` whose resource matches.

    It does not repeat the value: where a secret is named, that may be the secret itself.
    """
    value = config.get(name)
    if not isinstance(value, str) or is_arn(value, service, resource):
        return []
    accepted = f"an ARN, arn:aws:{service}:<region>:<account>:..."
    return [Fault(pointer(name), "bad_arn", f"{name} is no such ARN", accepted)]


def is_arn(value: str, service: str, resource: str) -> bool:
    head = rf"arn:aws[a-z-]*:{service}:[a-z0-9-]+:[0-9]{{12}}:"
    return len(value) <= 1024 and re.fullmatch(head + resource, value, re.ASCII) is not None


def region_of(arn: str) -> str:
    return arn.split(":", 5)[3]


def resource_of(arn: str) -> str:
    """Everything behind the account, colons included."""
    return arn.split(":", 5)[5]
