"""The part of the client that asks for backfills and steers groups."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from cronce.client_base import Calls, Document, following, segment


class Many(Calls):
    """What `Client` inherits."""

    def backfill(
        self,
        job_id: str,
        *,
        since: str,
        until: str | None = None,
        backfill_id: str | None = None,
        pace: int | None = None,
        overlap: str | None = None,
        dry_run: bool = False,
    ) -> Document:
        """Occurrences in [since, until) that the schedule has not run; instants. The same id again
        finds the first one; without one it is random. pace: runs a minute."""
        asked = {
            "id": backfill_id or secrets.token_hex(6),
            "from": since,
            "to": until,
            "pace": pace,
            "overlap": overlap,
            "dry_run": dry_run or None,
        }
        body = {name: value for name, value in asked.items() if value is not None}
        return self._call("POST", f"/jobs/{segment(job_id)}/backfill", body=body)

    def get_backfill(self, job_id: str, backfill_id: str) -> Document:
        return self._call("GET", _backfill(job_id, backfill_id))

    def list_backfills(self, job_id: str, *, limit: int | None = None) -> Iterator[Document]:
        """By id. limit: in all."""
        return self._pages(f"/jobs/{segment(job_id)}/backfills", "backfills", {}, limit)

    def cancel_backfill(self, job_id: str, backfill_id: str) -> Document:
        return self._call("POST", f"{_backfill(job_id, backfill_id)}/cancel")

    def list_groups(self, *, limit: int | None = None) -> Iterator[Document]:
        """Those that have a limit, by name. limit: in all."""
        return self._pages("/groups", "groups", {}, limit)

    def get_group(self, group: str) -> Document:
        return self._call("GET", _group(group))

    def limit_group(self, group: str, max_starts_per_second: str) -> Document:
        """max_starts_per_second: a number, as text, so that it stays as it is written."""
        body = f'{{"max_starts_per_second":{max_starts_per_second}}}'
        return self._call("PUT", _group(group), body=body)

    def unlimit_group(self, group: str) -> None:
        self._call("DELETE", _group(group))

    def pause_group(self, group: str, *, note: str = "") -> Iterator[Document]:
        """A page of its jobs after the other; each says what was changed."""
        return self._moved(f"{_group(group)}/pause", {"note": note} if note else {})

    def resume_group(self, group: str) -> Iterator[Document]:
        """As `pause_group`."""
        return self._moved(f"{_group(group)}/resume", {})

    def _moved(self, path: str, body: Mapping[str, Any]) -> Iterator[Document]:
        def ask(cursor: str | None) -> Document:
            more = {"cursor": cursor} if cursor else {}
            return self._call("POST", path, body={**body, **more})

        return following(ask)


def _group(group: str) -> str:
    return f"/groups/{segment(group)}"


def _backfill(job_id: str, backfill_id: str) -> str:
    return f"/jobs/{segment(job_id)}/backfills/{segment(backfill_id)}"
