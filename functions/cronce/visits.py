"""What a tick does with one row of the index, on its way through the steps; and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from cronce.domain.plan import Plan
from cronce.domain.record import Sent
from cronce.domain.schedule import Schedule
from cronce.ports import DueJob, DueRun


@dataclass
class TickReport:
    """What a tick did, in counts. finished: nothing that was due is left. idle: what the queue said
    when it was asked; None when it was not."""

    led: bool = False
    finished: bool = False
    sent: int = 0
    advanced: int = 0
    resent: int = 0
    failed: int = 0
    errors: int = 0
    claimed_up_to: datetime | None = None
    idle: bool | None = None


@dataclass
class Visit:
    """A job and its plan, or a waiting run, on its way through the steps. schedule: what the job
    was planned with."""

    item: DueJob | DueRun
    runs: tuple[Sent, ...]
    plan: Plan | None = None
    schedule: Schedule | None = None
    sent: bool = True

    @staticmethod
    def of_run(item: DueRun, held_until: datetime | None = None) -> Visit:
        """Of no generation: the worker asks whether it is counted as missed, or withdrawn."""
        return Visit(item, (Sent(item.key, 0, item.due, held_until),))

    def only_up_to(self, now: datetime) -> Visit:
        """Without what is intended after `now`: that belongs to the schedule that follows."""
        assert self.plan is not None
        fire = tuple(d for d in self.plan.fire if d.scheduled_for <= now)
        if len(fire) == len(self.plan.fire):
            return self
        kept = replace(
            self.plan,
            fire=fire,
            next=self.plan.fire[len(fire)],
            runs_planned=self.plan.runs_planned - len(self.plan.fire) + len(fire),
        )
        return replace(self, runs=self.runs[: len(fire)], plan=kept)
