"""What a worker is, what it is given, and what may come of one message."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from cronce.domain.run import NO_LOG, LogPointer, Run
from cronce.execute import Attempt
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Target


@dataclass(frozen=True)
class Delivery:
    """One received message. body: as in the queue; receipt: handle of this receive."""

    body: str
    message_id: str
    receipt: str


@dataclass(frozen=True)
class Done:
    """Acknowledge: the table has all there is to know, or the message was never ours."""


@dataclass(frozen=True)
class Back:
    """Return to the queue. hidden: seconds until it is visible again; None keeps what was set."""

    hidden: float | None = None


@dataclass(frozen=True)
class TakeOver:
    """The run's lease has expired: it is taken over once the rest of the batch has ended, alone, so
    that a job that kills its worker does not use up its neighbours' attempts, and one that takes
    long does not keep them waiting."""

    attempt: Attempt
    seen: Run


Step = Done | Back | TakeOver


@dataclass
class BatchReport:
    """returned: message ids for `batchItemFailures`. abandoned: targets that outlived their timeout
    and still run in this process."""

    returned: list[str] = field(default_factory=list)
    abandoned: int = 0


@dataclass(frozen=True)
class Worker:
    """deadline: when this process will be stopped. log: where its lines lie."""

    ports: Ports
    settings: Settings
    target: Target
    deadline: datetime
    log: LogPointer = NO_LOG
