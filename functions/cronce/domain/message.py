"""The message that says: this run is due."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from cronce.domain.identity import JOB_ID, UID, RunKey
from cronce.domain.instants import from_wire, to_wire

VERSION = 1
READABLE = (VERSION,)


class UnknownVersion(ValueError):
    """A message of a version that this code does not read: left alone, never dropped."""


class Unreadable(ValueError):
    """Not a message of ours."""


@dataclass(frozen=True)
class Message:
    """generation: the job's when this was dispatched. due: scheduled_for plus jitter.
    first_sent: when the first copy was sent; age counts from it. held_until: when it may start,
    where that is later than due: its turn in a group, or in a backfill."""

    key: RunKey
    generation: int
    due: datetime
    first_sent: datetime
    held_until: datetime | None = None

    @property
    def start(self) -> datetime:
        """Not before this."""
        return self.held_until or self.due

    def to_body(self) -> str:
        held = {} if self.held_until is None else {"held_until": to_wire(self.held_until)}
        return json.dumps(
            {
                "v": VERSION,
                "job": self.key.job_id,
                "uid": self.key.uid,
                "scheduled_for": to_wire(self.key.scheduled_for),
                "trigger": self.key.trigger,
                "generation": self.generation,
                "due": to_wire(self.due),
                "first_sent": to_wire(self.first_sent),
                **held,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_body(body: str) -> Message:
        """Raises UnknownVersion, Unreadable."""
        try:
            doc = json.loads(body)
        except (ValueError, RecursionError) as e:
            raise Unreadable("not JSON") from e
        if (
            not isinstance(doc, dict)
            or isinstance(doc.get("v"), bool)
            or not isinstance(doc.get("v"), int)
        ):
            raise Unreadable("no version")
        if doc["v"] not in READABLE:
            raise UnknownVersion(f"version {doc['v']}"[:60])
        try:
            job_id, uid, trigger, generation = (
                doc["job"],
                doc["uid"],
                doc["trigger"],
                doc["generation"],
            )
            if not (JOB_ID.fullmatch(job_id) and UID.fullmatch(uid) and isinstance(trigger, str)):
                raise Unreadable("not a run")
            if isinstance(generation, bool) or not isinstance(generation, int):
                raise Unreadable("generation is not a number")
            key = RunKey(job_id, uid, from_wire(doc["scheduled_for"]), trigger)
            held = from_wire(doc["held_until"]) if "held_until" in doc else None
            due, first_sent = from_wire(doc["due"]), from_wire(doc["first_sent"])
            return Message(key, generation, due, first_sent, held)
        except (KeyError, TypeError, ValueError) as e:
            raise e if isinstance(e, Unreadable) else Unreadable(f"bad field: {e}"[:200]) from e
