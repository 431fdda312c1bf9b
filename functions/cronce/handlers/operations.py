"""An operation of the API: one row from which both the route and its OpenAPI entry are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from cronce.control import Control
from cronce.domain.allowed import parse_allowed
from cronce.domain.definition import CheckPayload, CheckTarget, JobSpec, parse_job
from cronce.domain.identity import CLIENT_ID
from cronce.handlers.request import PAGE, Request
from cronce.holidays_source import INLINE_YEARS, holidays_from
from cronce.targets.registry import payload_faults, target_faults

Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
# Which any operation may answer, and any that reads a body, were it only to refuse one.
ALWAYS = frozenset({403, 404, 422, 429, 500, 503})
OF_A_BODY = frozenset({400, 413})


@dataclass(frozen=True)
class Parts:
    """What every operation is given."""

    control: Control
    check_target: CheckTarget
    check_payload: CheckPayload

    @staticmethod
    def of(control: Control) -> Parts:
        """Targets are checked as the deployment's settings say."""
        settings = control.settings
        allowed = parse_allowed(settings.allowed_targets, profile=settings.profile)
        check = partial(
            target_faults,
            profile=settings.profile,
            allowed=allowed,
            addresses=settings.allowed_addresses,
        )
        return Parts(control, check, payload_faults)

    def parse(self, doc: object) -> Callable[[Any, Any], JobSpec]:
        """The request as the control plane wants it: to be read as of an instant."""
        return lambda now, anchor: parse_job(
            doc,
            now=now,
            anchor=anchor,
            check_target=self.check_target,
            check_payload=self.check_payload,
            holidays=holidays_from(now.year, INLINE_YEARS),
            find_calendar=self.control.find_calendar,
        )


@dataclass(frozen=True)
class Answered:
    """document: None for an answer without a body."""

    status: int
    document: Mapping[str, object] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True)
class Operation:
    """path: with `{job_id}` where a parameter stands. answers: what each status carries.
    conflicts: the statuses of refusals beside those that others have too."""

    id: str
    method: Method
    path: str
    summary: str
    run: Callable[[Parts, Request], Answered]
    answers: Mapping[int, type[BaseModel] | None]
    body: type[BaseModel] | None = None
    body_required: bool = True
    query: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    conflicts: tuple[int, ...] = ()

    @property
    def problems(self) -> frozenset[int]:
        """The statuses of all its refusals."""
        reads_body = self.method not in ("GET", "DELETE")
        return ALWAYS.union(self.conflicts, OF_A_BODY if reads_body else ())


IF_MATCH = Parameter(
    "If-Match", "The ETag of the version that is to be changed, or *.", {"type": "string"}
)
IF_NONE_MATCH = Parameter(
    "If-None-Match", "`*`: only if there is no such job.", {"type": "string", "enum": ["*"]}
)
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "The same key again gives the same answer and changes nothing.",
    {"type": "string", "pattern": f"^{CLIENT_ID.pattern}$"},
)
PAGED = (
    Parameter(
        "limit",
        "How many at most.",
        {"type": "integer", "minimum": 1, "maximum": PAGE, "default": PAGE},
    ),
    Parameter("cursor", "From the answer before.", {"type": "string"}),
)


def instant_parameter(name: str, description: str) -> Parameter:
    return Parameter(name, description, {"type": "string", "format": "date-time"})


def word_parameter(name: str, description: str, words: Sequence[str]) -> Parameter:
    return Parameter(name, description, {"type": "string", "enum": list(words)})
