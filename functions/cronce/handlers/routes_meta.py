"""Operations on the API itself."""

from __future__ import annotations

from typing import Any

from cronce import __version__
from cronce.domain.zones import tzdata_version
from cronce.handlers import models
from cronce.handlers.operations import Answered, Operation, Parts
from cronce.handlers.request import Request


def health(parts: Parts, request: Request) -> Answered:
    """Says that the function answers; reads nothing."""
    document = models.Health(
        status="ok",
        deployment=parts.control.settings.deployment,
        version=__version__,
        tzdata=tzdata_version(),
    )
    return Answered(200, document.model_dump())


def get_openapi(parts: Parts, request: Request) -> Answered:
    # Here and not above: other requests need not wait for it, and it needs the whole table.
    from cronce.handlers.api import OPERATIONS as TABLE
    from cronce.handlers.openapi import openapi

    document: dict[str, Any] = openapi(TABLE)
    return Answered(200, document)


OPERATIONS = (
    Operation(
        "getOpenapi", "GET", "/openapi.json", "This document.", get_openapi, {200: models.Anything}
    ),
    Operation("health", "GET", "/health", "Whether the API answers.", health, {200: models.Health}),
)
