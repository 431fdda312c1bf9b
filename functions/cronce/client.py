"""Calls a deployment's API over HTTP, every request signed (SigV4, ``execute-api``).

Documents go in and come out as plain dicts; a document given as text or bytes is sent untouched,
so that its numbers and key order stay as written.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from botocore import exceptions as botocore_errors
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from cronce.client_base import (
    BadId,
    Document,
    NotUnderstood,
    Unreachable,
    conditions,
    following,
    segment,
)
from cronce.client_calendars import Calendars
from cronce.client_many import Many
from cronce.client_views import Views

__all__ = ["ApiError", "BadId", "Client", "Document", "NotSigned", "NotUnderstood", "Unreachable"]

Body = Mapping[str, Any] | str | bytes

SERVICE = "execute-api"
TIMEOUT = (5.0, 35.0)  # to connect, and to read: above the 29 s that a gateway waits
TRIES = 4
RETRIED = frozenset({429, 503})
MOST_WAIT = 5.0
PAGE = 100

_NOT_SENT = (
    botocore_errors.EndpointConnectionError,
    botocore_errors.ConnectTimeoutError,
    botocore_errors.ProxyConnectionError,
)


class ApiError(Exception):
    """The API refused a call. errors: the faults, each with pointer, code, detail and accepted.

    status: of HTTP. type: the problem's type, ``about:blank`` where the gateway itself answered.
    document: the whole answer, with what else it says (such as ``current_version``).
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.document = document
        self.type = str(document.get("type") or "about:blank")
        self.title = str(document.get("title") or "")
        # The gateway itself says `message`, and `Message` where IAM refused.
        said = (document.get(name) for name in ("detail", "message", "Message"))
        self.detail = str(next(filter(None, said), ""))
        errors = document.get("errors")
        listed = errors if isinstance(errors, list) else []
        self.errors: list[Document] = [each for each in listed if isinstance(each, dict)]
        super().__init__(f"{status} {self.title}: {self.detail}".strip(": "))


class NotSigned(Exception):
    """There are no credentials to sign with."""


@dataclass
class Client(Views, Calendars, Many):
    """One deployment.

    api_url: with the stage. credentials: botocore's, or anything with ``get_frozen_credentials``.
    region: that of the deployment. verify: False, or a file of certificates.
    """

    api_url: str
    credentials: Any
    region: str
    timeout: tuple[float, float] = TIMEOUT
    verify: bool | str = True
    sleep: Callable[[float], None] = time.sleep
    _http: URLLib3Session = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.credentials is None:
            raise NotSigned("no AWS credentials were found to sign with")
        self._http = URLLib3Session(
            verify=self.verify,
            proxies=_proxies(self.api_url),
            timeout=self.timeout,
        )

    @classmethod
    def of_session(cls, api_url: str, session: Any, region: str | None = None) -> Client:
        """Signs with a boto3 or botocore session's credentials."""
        where = region or getattr(session, "region_name", None) or "us-east-1"
        bundle = getattr(session, "_session", session).get_config_variable("ca_bundle")
        return cls(api_url, session.get_credentials(), where, verify=bundle or True)

    # --- jobs

    def put_job(
        self,
        job_id: str,
        document: Body,
        *,
        if_match: int | None = None,
        if_none_match: bool = False,
    ) -> Document:
        """Creates the job or replaces its definition; the same again changes nothing.

        if_match: only at this version. if_none_match: only if there is no such job.
        """
        headers = conditions(if_match, if_none_match)
        return self._call(
            "PUT", _job(job_id), body=document, headers=headers, repeatable=not headers
        )

    def create_job(self, document: Body, *, key: str | None = None) -> Document:
        """The API chooses the id. The same key again finds the first job; without one it is
        random."""
        headers = {"Idempotency-Key": key or secrets.token_hex(12)}
        return self._call("POST", "/jobs", body=document, headers=headers)

    def get_job(self, job_id: str) -> Document:
        return self._call("GET", _job(job_id))

    def get_job_text(self, job_id: str) -> str:
        """The same as JSON text, numbers as written."""
        text = self._send("GET", _job(job_id), {}, b"", {}, repeatable=True)
        self._understood(text)
        return text

    def patch_job(self, job_id: str, patch: Body, *, if_match: int | None = None) -> Document:
        """A merge patch (RFC 7396); ``schedule`` and ``target`` are replaced whole."""
        headers = {"Content-Type": "application/merge-patch+json", **conditions(if_match)}
        return self._call(
            "PATCH", _job(job_id), body=patch, headers=headers, repeatable=if_match is None
        )

    def delete_job(self, job_id: str, *, if_match: int | None = None) -> None:
        """A repeated call that finds the job gone is a success."""
        headers = conditions(if_match)
        self._call("DELETE", _job(job_id), headers=headers, gone_is_done=True)

    def list_jobs(
        self, *, group: str | None = None, status: str | None = None, limit: int | None = None
    ) -> Iterator[Document]:
        """Pages are fetched as they are needed; limit: jobs in all."""
        return self._pages("/jobs", "jobs", {"group": group, "status": status}, limit)

    def pause(self, job_id: str, *, note: str = "") -> Document:
        return self._call("POST", f"{_job(job_id)}/pause", body={"note": note} if note else None)

    def resume(self, job_id: str) -> Document:
        return self._call("POST", f"{_job(job_id)}/resume")

    def upcoming(
        self, job_id: str, *, count: int | None = None, after: str | None = None
    ) -> Document:
        """``occurrences``, and in ``details`` their due and local times. after: an instant."""
        return self._call("GET", f"{_job(job_id)}/upcoming", query={"count": count, "after": after})

    def preview(
        self, schedule: object, *, after: str | None = None, count: int | None = None
    ) -> Document:
        """As `upcoming`, of a schedule that nobody has stored."""
        asked = {"schedule": schedule, "after": after, "count": count}
        body = {name: value for name, value in asked.items() if value is not None}
        return self._call("POST", "/schedules/preview", body=body)

    # --- runs

    def run_job(self, job_id: str, *, client_id: str | None = None) -> Document:
        """A run now. The same client id again finds the first run; without one it is random."""
        body = {"id": client_id or secrets.token_hex(6)}
        return self._call("POST", f"{_job(job_id)}/run", body=body)

    def list_runs(
        self, job_id: str, *, status: str | None = None, limit: int | None = None
    ) -> Iterator[Document]:
        """Latest first. limit: runs in all."""
        return self._pages(f"{_job(job_id)}/runs", "runs", {"status": status}, limit)

    def get_run(self, job_id: str, run_id: str) -> Document:
        return self._call("GET", _run(job_id, run_id))

    def attention(
        self,
        *,
        status: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Document]:
        """Runs of all jobs that ended failed, skipped or missed. since, until: instants."""
        query = {"status": status, "from": since, "to": until}
        return self._pages("/runs", "runs", query, limit)

    def redrive(self, job_id: str, run_id: str) -> Document:
        """New attempts for a failed run."""
        return self._call("POST", f"{_run(job_id, run_id)}/redrive", repeatable=False)

    def cancel(self, job_id: str, run_id: str) -> Document:
        return self._call("POST", f"{_run(job_id, run_id)}/cancel")

    def openapi(self) -> Document:
        return self._call("GET", "/openapi.json")

    # --- transport

    def _pages(
        self, path: str, key: str, query: Mapping[str, Any], limit: int | None
    ) -> Iterator[Document]:
        left = limit
        if left is not None and left <= 0:
            return

        def ask(cursor: str | None) -> Document:
            size = PAGE if left is None else min(left, PAGE)
            return self._call("GET", path, query={**query, "limit": size, "cursor": cursor})

        for page in following(ask):
            if not isinstance(items := page.get(key), list):
                raise NotUnderstood(f"{self.api_url} answered without {key}")
            yield from items[:left]
            if left is not None and (left := left - len(items)) <= 0:
                return

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
        gone_is_done: bool = False,
    ) -> Document:
        text = self._send(
            method,
            path,
            {name: value for name, value in (query or {}).items() if value is not None},
            _encoded(body),
            headers or {},
            repeatable=repeatable,
            gone_is_done=gone_is_done,
        )
        return {} if method == "DELETE" else self._understood(text)

    def _understood(self, text: str) -> Document:
        """The answer to a call that succeeded. Raises NotUnderstood."""
        document = _parsed(text)
        if document is None:
            shown = f"{text:.60}" or "nothing"
            raise NotUnderstood(f"{self.api_url} gave no answer of this API, but {shown}")
        return document

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: bytes,
        headers: Mapping[str, str],
        *,
        repeatable: bool,
        gone_is_done: bool = False,
    ) -> str:
        """The answer's text. repeatable: again is harmless even if the first was carried out."""
        url = self.api_url.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        unknown = False  # whether an earlier try may have been carried out
        for attempt in range(1, TRIES + 1):
            last = attempt == TRIES
            try:
                status, answered, text = self._once(method, url, body, headers)
            except _NOT_SENT as error:
                if last:
                    raise Unreachable(_reason(self.api_url, error)) from None
                wait = None
            except botocore_errors.HTTPClientError as error:
                if last or not repeatable:
                    raise Unreachable(_reason(self.api_url, error)) from None
                wait, unknown = None, True
            else:
                if status < 300:
                    return text
                if status == 404 and gone_is_done and unknown:
                    return ""
                if status not in RETRIED or last:
                    raise ApiError(status, _parsed(text) or {"detail": text[:500]})
                wait, unknown = answered, unknown or status == 503
            self.sleep(_pause(attempt, wait))
        raise AssertionError("unreachable: the last try returns or raises")

    def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, float | None, str]:
        """Status, seconds that the answer asks to wait, text. Raises botocore's HTTPClientError."""
        given = {
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if body else {}),
        }
        request = AWSRequest(method=method, url=url, data=body, headers={**given, **headers})
        SigV4Auth(self.credentials.get_frozen_credentials(), SERVICE, self.region).add_auth(request)
        response = self._http.send(request.prepare())
        text = response.content.decode("utf-8", "replace")
        return response.status_code, _seconds(response.headers.get("Retry-After")), text


def _job(job_id: str) -> str:
    return f"/jobs/{segment(job_id)}"


def _run(job_id: str, run_id: str) -> str:
    return f"{_job(job_id)}/runs/{segment(run_id)}"


def _encoded(body: Body | None) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _parsed(text: str) -> Document | None:
    """None for what is no JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None


def _pause(attempt: int, asked: float | None) -> float:
    """Full jitter up to a doubling bound; at least what the answer asked for; never long."""
    drawn = random.uniform(0, 0.2 * 2**attempt)
    return min(max(drawn, asked or 0.0), MOST_WAIT)


def _proxies(url: str) -> Mapping[str, str]:
    from botocore.utils import get_environ_proxies

    found: Mapping[str, str] = get_environ_proxies(url)
    return found


def _reason(api_url: str, error: Exception) -> str:
    cause = error.kwargs.get("error") if hasattr(error, "kwargs") else None
    return f"{api_url} does not answer: {cause or error}"
