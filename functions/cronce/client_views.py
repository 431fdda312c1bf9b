"""The part of the client that operators use: overviews, stories of runs, single pages."""

from __future__ import annotations

from cronce.client_base import Calls, Document, segment


class Views(Calls):
    """What `Client` inherits. since, until, to: instants as text."""

    def explain(self, job_id: str, run_id: str) -> Document:
        """``story``, and what it was told from: ``run``, ``dispatches``, ``missed``."""
        return self._call("GET", f"/jobs/{segment(job_id)}/runs/{segment(run_id)}/explain")

    def missed(self, job_id: str) -> Document:
        return self._call("GET", f"/jobs/{segment(job_id)}/missed")

    def overview(self, *, since: str | None = None, until: str | None = None) -> Document:
        """The last twelve hours without either."""
        return self._call("GET", "/overview", query={"from": since, "to": until})

    def coming(self, *, within: int | None = None) -> Document:
        """within: seconds; an hour without."""
        return self._call("GET", "/upcoming", query={"within": within})

    def health(self) -> Document:
        return self._call("GET", "/health")

    def deep_health(self) -> Document:
        return self._call("GET", "/health/deep")

    # --- single pages, each with the cursor of the next

    def jobs_page(
        self,
        *,
        group: str | None = None,
        status: str | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Document:
        query = {"group": group, "status": status, "limit": limit, "cursor": cursor}
        return self._call("GET", "/jobs", query=query)

    def runs_page(self, job_id: str, *, limit: int, cursor: str | None = None) -> Document:
        query = {"limit": limit, "cursor": cursor}
        return self._call("GET", f"/jobs/{segment(job_id)}/runs", query=query)

    def attention_page(
        self,
        *,
        status: str | None = None,
        since: str | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Document:
        query = {"status": status, "from": since, "limit": limit, "cursor": cursor}
        return self._call("GET", "/runs", query=query)
