"""The store over one DynamoDB table."""

from __future__ import annotations

from typing import Any

from cronce import limits
from cronce.adapters.backfills import BackfillRows
from cronce.adapters.dynamodb_calendars import CalendarRows
from cronce.adapters.dynamodb_dispatch import DispatchRows
from cronce.adapters.dynamodb_jobs import JobRows
from cronce.adapters.dynamodb_lists import ListRows
from cronce.adapters.dynamodb_operate import OperateRows
from cronce.adapters.dynamodb_runs import RunRows
from cronce.adapters.dynamodb_table import Table
from cronce.adapters.groups import GroupRows
from cronce.adapters.locks import LockRows
from cronce.adapters.system import SystemClock, SystemRandom
from cronce.ports import Clock, Random


class DynamoStore(
    JobRows,
    LockRows,
    RunRows,
    BackfillRows,
    GroupRows,
    CalendarRows,
    ListRows,
    DispatchRows,
    OperateRows,
):
    """`cronce.ports.Store`. client: boto3's low-level client, made with CLIENT_CONFIG.

    clock and random: for the pauses between tries, and for tokens; never for what is written.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        shards: int = limits.SHARDS,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.table = Table(client, table, clock or SystemClock(), random or SystemRandom())
        self.shards = shards
