"""What operators read, over DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from cronce.adapters.dispatch_items import record_from_item
from cronce.adapters.items import (
    LAST,
    LEASE_SK,
    MISSED_PREFIX,
    dispatch_pk,
    instant,
    instant_or_none,
    is_known,
    job_id_of,
    job_pk,
    lease_pk,
    readable,
    reading,
    text,
    wire_key,
)
from cronce.adapters.job_items import missed_day, missed_from_item
from cronce.adapters.layout import ATTENTION
from cronce.domain.instants import to_wire
from cronce.domain.record import DispatchRecord
from cronce.operate.port import MissedSeen, TickSeen

if TYPE_CHECKING:
    from cronce.adapters.dynamodb_table import Table

KEYS: Final = 100
MOST_DAYS: Final = 60
DAY: Final = timedelta(days=1)


class OperateRows:
    table: Table

    def read_tick(self, slice_: int) -> TickSeen | None:
        item = self.table.get(lease_pk(slice_), LEASE_SK)
        return readable_tick(slice_, item) if item else None

    def records(
        self, slice_: int, earliest: datetime, latest: datetime, *, latest_first: bool
    ) -> Iterator[DispatchRecord]:
        if earliest > latest:
            return
        pages = self.table.pages(
            "#pk = :pk AND #sk BETWEEN :first AND :last",
            {
                "pk": dispatch_pk(slice_),
                "first": to_wire(earliest),
                "last": to_wire(latest) + LAST,
            },
            descending=latest_first,
        )
        for page in pages:
            yield from filter(None, map(readable_record, page))

    def missed_of(self, job_id: str) -> Iterator[MissedSeen]:
        pages = self.table.pages(
            "#pk = :pk AND begins_with(#sk, :prefix)",
            {"pk": job_pk(job_id), "prefix": MISSED_PREFIX},
            descending=True,
        )
        for page in pages:
            yield from filter(None, map(readable_missed, page))

    def missed_between(self, earliest: datetime, latest: datetime) -> Iterator[MissedSeen]:
        for day in missed_days(earliest, latest):
            pages = self.table.index_pages(
                ATTENTION,
                "#day = :day AND #finished_at BETWEEN :first AND :last",
                {"day": day, "first": to_wire(earliest), "last": to_wire(latest)},
                after=None,
                limit=KEYS,
                descending=True,
            )
            for keys in pages:
                wanted = [wire_key(key) for key in keys]
                rows = self.table.get_many(wanted) if wanted else []
                by_key = {wire_key(row): row for row in rows}
                found = (by_key.get(key) for key in wanted)
                yield from filter(None, (readable_missed(row) for row in found if row))


def missed_days(earliest: datetime, latest: datetime) -> list[str]:
    """Partitions of the index, the last day first. Raises ValueError for too many."""
    days = (latest.date() - earliest.date()).days + 1
    if days > MOST_DAYS:
        raise ValueError(f"{days} days, at most {MOST_DAYS} are looked at")
    return [missed_day(latest - n * DAY) for n in range(days)]


readable_record = readable(record_from_item)


def readable_tick(slice_: int, item: Mapping[str, object]) -> TickSeen | None:
    try:
        at = instant(item, "lease_expires_at")
        claimed = instant_or_none(item, "claimed_up_to")
    except (KeyError, ValueError, TypeError):
        return None
    return TickSeen(slice_, at, claimed) if is_known(item) else None


@reading
def _missed(item: Mapping[str, object]) -> MissedSeen:
    return MissedSeen(
        job_id=job_id_of(item["pk"]),
        uid=text(item, "uid"),
        missed=missed_from_item(item),
        recorded_at=instant(item, "finished_at"),
    )


readable_missed = readable(_missed)
