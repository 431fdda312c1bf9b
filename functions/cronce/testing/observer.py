"""What happened, kept to be looked at."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    action: str
    fields: dict[str, object] = field(default_factory=dict)


class RecordingObserver:
    """`cronce.ports.Observer`."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._lock = threading.Lock()

    def event(self, action: str, **fields: object) -> None:
        with self._lock:
            self.events.append(Event(action, fields))

    def of(self, action: str) -> list[Event]:
        return [e for e in self.events if e.action == action]

    @property
    def actions(self) -> list[str]:
        return [e.action for e in self.events]
