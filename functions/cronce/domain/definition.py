"""From what a user wrote to what is stored."""

from __future__ import annotations

from dataclasses import dataclass

from cronce.domain.job import DEFAULT_GROUP, Definition
from cronce.domain.plan import Misfire
from cronce.domain.schedule import Schedule


@dataclass(frozen=True)
class JobSpec:
    """A valid request. `definition.document` is it, normalised, without payload."""

    schedule: Schedule
    misfire: Misfire
    definition: Definition
    group: str = DEFAULT_GROUP
