"""The fields of a kind's object, as data: read by validation and by the API's description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cronce.domain.errors import Fault
from cronce.domain.meant import meant

_NAMES: dict[type, str] = {str: "a string", dict: "an object", list: "an array", bool: "a boolean"}
ARN_LENGTH = 1024


@dataclass(frozen=True)
class Field:
    """What one field accepts.

    form: a pattern, of the whole string or of each string of an array; accepted: the same in
    words. words: the only ones. code: of the fault. most: items of an array, at least one.
    fields: those of an object; None for one that holds strings under names of the user's choice.
    default: what is meant where it is left out. about: for people. is_arn: its value is not
    repeated in a fault: where a secret is named, that may be the secret itself.
    """

    type: type
    required: bool = False
    form: str = ""
    accepted: str = ""
    words: tuple[str, ...] = ()
    code: str = "bad_value"
    most: int = 0
    fields: Mapping[str, Field] | None = None
    default: object = None
    about: str = ""
    is_arn: bool = False


Fields = Mapping[str, Field]


def arn(service: str, resource: str, *, required: bool = True, about: str = "") -> Field:
    """The ARN of a service whose resource matches the pattern."""
    return Field(
        str,
        required=required,
        form=rf"arn:aws[a-z-]*:{service}:[a-z0-9-]+:[0-9]{{12}}:{resource}",
        accepted=f"an ARN, arn:aws:{service}:<region>:<account>:...",
        code="bad_arn",
        about=about,
        is_arn=True,
    )


def one_of(words: tuple[str, ...], *, code: str = "bad_value", default: str | None = None) -> Field:
    form = "|".join(words)
    return Field(str, form=form, accepted=", ".join(words), words=words, code=code, default=default)


def check_fields(config: Mapping[str, Any], fields: Fields) -> list[Fault]:
    """Faults for fields that are unknown, missing, of another type or form; pointers are relative
    to the object."""
    faults: list[Fault] = []
    for name, value in config.items():
        if name not in fields:
            detail = f"{name!r:.80} is unknown{meant(name, fields)}"
            faults.append(Fault(pointer(name), "unknown_field", detail, ", ".join(fields)))
        else:
            faults += _value_faults(name, value, fields[name])
    return faults + [
        Fault(pointer(name), "missing_field", f"{name} is required", _NAMES[field.type])
        for name, field in fields.items()
        if field.required and name not in config
    ]


def _value_faults(name: str, value: Any, field: Field) -> list[Fault]:
    at = pointer(name)
    if not _is(value, field.type):
        accepted = _NAMES[field.type]
        return [Fault(at, "wrong_type", f"{name} is not {accepted}", accepted)]
    if field.fields is not None:
        return [fault.under(at) for fault in check_fields(value, field.fields)]
    if not field.form or _fits(value, field):
        return []
    if field.type is list:
        accepted = f"1 to {field.most} of {field.form}"
        return [Fault(at, field.code, f"{name} is not accepted", accepted)]
    detail = f"{value!r:.80} is not accepted{meant(value, field.words)}"
    if field.is_arn:
        detail = f"{name} is no such ARN"
    return [Fault(at, field.code, detail, field.accepted)]


def _is(value: object, wanted: type) -> bool:
    return isinstance(value, Mapping if wanted is dict else wanted)


def _fits(value: Any, field: Field) -> bool:
    if field.type is list:
        return 1 <= len(value) <= field.most and all(_matches(each, field.form) for each in value)
    return _matches(value, field.form) and not (field.is_arn and len(value) > ARN_LENGTH)


def _matches(value: object, form: str) -> bool:
    return isinstance(value, str) and re.fullmatch(form, value, re.ASCII) is not None


def pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def region_of(arn: str) -> str:
    return arn.split(":", 5)[3]


def resource_of(arn: str) -> str:
    """Everything behind the account, colons included."""
    return arn.split(":", 5)[5]
