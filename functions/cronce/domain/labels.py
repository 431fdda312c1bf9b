"""What a job carries for people: group, description, tags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cronce.domain.errors import Fault
from cronce.domain.jsontree import pointer

GROUP = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}", re.ASCII)
GROUP_FORM = "1 to 64 of A-Z a-z 0-9 . _ -, neither . nor .."
DESCRIPTION_CHARS = 1024
TAGS, TAG_NAME_CHARS, TAG_VALUE_CHARS = 50, 128, 256
DESCRIPTION_FORM = f"a string of at most {DESCRIPTION_CHARS} characters"
TAGS_FORM = (
    f"an object of at most {TAGS} names of 1 to {TAG_NAME_CHARS} characters,"
    f" with strings of at most {TAG_VALUE_CHARS}"
)


def label_faults(doc: Mapping[str, Any]) -> list[Fault]:
    """Every fault of those of the three fields that are there."""
    faults: list[Fault] = []
    if "group" in doc:
        faults += _group(doc["group"])
    if "description" in doc:
        faults += _description(doc["description"])
    if "tags" in doc:
        faults += _tags(doc["tags"])
    return faults


def is_group(value: object) -> bool:
    return isinstance(value, str) and GROUP.fullmatch(value) is not None


def _group(value: object) -> Iterator[Fault]:
    if not is_group(value):
        yield Fault("/group", "bad_group", f"{value!r:.80} is not accepted", GROUP_FORM)


def _description(value: object) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault("/description", "wrong_type", "not a string", DESCRIPTION_FORM)
    elif len(value) > DESCRIPTION_CHARS:
        detail = f"{len(value)} characters"
        yield Fault("/description", "too_long", detail, DESCRIPTION_FORM)


def _tags(tags: object) -> Iterator[Fault]:
    if not isinstance(tags, Mapping):
        yield Fault("/tags", "wrong_type", "not an object", TAGS_FORM)
    elif len(tags) > TAGS:
        yield Fault("/tags", "too_many", f"{len(tags)} tags", TAGS_FORM)
    else:
        for name, value in tags.items():
            yield from _tag(name, value)


def _tag(name: str, value: object) -> Iterator[Fault]:
    at = "/tags" + pointer(name)
    if not isinstance(value, str):
        yield Fault(at, "wrong_type", "not a string", TAGS_FORM)
    elif not 1 <= len(name) <= TAG_NAME_CHARS or len(value) > TAG_VALUE_CHARS:
        yield Fault(at, "bad_tag", "too long, or no name", TAGS_FORM)
