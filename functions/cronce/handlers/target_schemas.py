"""The kinds of targets as JSON Schema, made of the fields that validation goes by. What a rule of
a kind's own checks (`Kind.rules`) is more than this can say."""

from __future__ import annotations

from typing import Any

from cronce.targets.fields import ARN_LENGTH, Field, Fields
from cronce.targets.kinds import Kind
from cronce.targets.registry import KINDS


def target_schema() -> dict[str, Any]:
    """Of a target: an object with one key, the kind."""
    return {
        "title": "Target",
        "description": "One key, the kind. What a deployment may reach is its `allowed_targets`.",
        "examples": [{"http": {"url": "https://example.com/hook"}}],
        "oneOf": [_kind(kind) for kind in KINDS.values()],
    }


def _kind(kind: Kind) -> dict[str, Any]:
    wrapped = _object({kind.name: Field(dict, required=True, fields=kind.fields)})
    return {"title": kind.name, "description": kind.about, **wrapped}


def _object(fields: Fields) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _field(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _field(field: Field) -> dict[str, Any]:
    accepted = f"Accepted: {field.accepted}" if field.accepted and not field.words else ""
    said = " ".join(part for part in (field.about, accepted) if part)
    shown: dict[str, Any] = {"description": said} if said else {}
    if field.default is not None:
        shown["default"] = field.default
    return shown | _form(field)


def _form(field: Field) -> dict[str, Any]:
    if field.type is bool:
        return {"type": "boolean"}
    if field.type is dict:
        any_name = {"type": "object", "additionalProperties": {"type": "string"}}
        return any_name if field.fields is None else _object(field.fields)
    pattern = {"pattern": f"^(?:{field.form})$"} if field.form else {}
    if field.type is list:
        items = {"type": "string", **pattern}
        return {"type": "array", "items": items, "minItems": 1, "maxItems": field.most}
    if field.words:
        return {"type": "string", "enum": list(field.words)}
    length = {"maxLength": ARN_LENGTH} if field.is_arn else {}
    return {"type": "string", **pattern, **length}
