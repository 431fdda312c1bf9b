"""What a request says: an event of API Gateway (REST API, proxy integration) read with suspicion.

Faults of the body have JSON pointers; other places are named `query:limit`, `path:job_id`,
`header:If-Match`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from cronce.domain.errors import Fault, Invalid, NotJson, TooLarge
from cronce.domain.identity import CLIENT_ID, CLIENT_ID_FORM, JOB_ID, JOB_ID_FORM
from cronce.handlers.fields import Fields, one_of
from cronce.jsontext import parse, plain
from cronce.limits import BODY_BYTES
from cronce.ports import Page

_ETAG = re.compile(r'"?([1-9][0-9]{0,17})"?', re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
# With room on both sides for a range that begins or ends there.
_YEARS = range(2, 9000)
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
UNKNOWN_CALLER = "unknown"
CALLER_CHARS = 256
ANY = "*"
PAGE = 100


@dataclass(frozen=True)
class Request:
    """event: the gateway's. path: the parameters of the route, as they stand in the URL."""

    event: Mapping[str, Any]
    path: Mapping[str, str]

    @property
    def caller(self) -> str:
        """Who the gateway says is calling; nothing that the caller wrote counts."""
        return caller_of(self.event)

    def job_id(self) -> str:
        """Raises Invalid."""
        return check_job_id(self.path["job_id"])

    def run_id(self) -> str:
        return unquote(self.path["run_id"])[:300]

    # --- body

    def has_body(self) -> bool:
        return bool(self.event.get("body"))

    def document(self) -> Any:
        """The body as `jsontext.parse` gives it. Raises NotJson, TooLarge, Invalid."""
        return parse(body_of(self.event))

    def fields(self, known: Sequence[str]) -> Fields:
        """Of the body, an object with some of these. Raises as `document`."""
        return Fields(plain(self.document()), known)

    def optional_fields(self, known: Sequence[str]) -> Fields:
        """As `fields`; none without a body."""
        return self.fields(known) if self.has_body() else Fields({}, known)

    def check_empty(self) -> None:
        """Raises Invalid for a body that says anything."""
        self.optional_fields(()).check()

    # --- headers

    def header(self, name: str) -> str | None:
        """The last value of a header, whatever the case of its name."""
        wanted = name.lower()
        many = self.event.get("multiValueHeaders") or {}
        for given, values in many.items():
            if given.lower() == wanted and values:
                return str(values[-1]).strip()
        for given, value in (self.event.get("headers") or {}).items():
            if given.lower() == wanted and value is not None:
                return str(value).strip()
        return None

    def if_match(self, current: Callable[[], int]) -> int | None:
        """The version that is asked for; for `*` the current one, which may raise that there is
        none. Raises Invalid for what is no ETag of ours."""
        value = self.header("If-Match")
        if value is None:
            return None
        if value == ANY:
            return current()
        if match := _ETAG.fullmatch(value):
            return int(match[1])
        accepted = 'the ETag of the job as it was answered, such as "3", or *'
        raise Invalid.one("header:If-Match", "bad_etag", "no ETag of this API", accepted)

    def if_none_match(self) -> bool:
        """Whether the job must not exist yet."""
        value = self.header("If-None-Match")
        if value in (None, ANY):
            return value == ANY
        raise Invalid.one("header:If-None-Match", "bad_etag", "only * is accepted", "*")

    def idempotency_key(self) -> str | None:
        """A client's id, as it goes into a run id. Raises Invalid."""
        value = self.header("Idempotency-Key")
        return None if value is None else check_client_id(value, "header:Idempotency-Key")

    # --- query

    def query(self, name: str) -> str | None:
        values = self._queries().get(name)
        return values[-1] if values else None

    def check_query(self, known: tuple[str, ...]) -> None:
        """Raises Invalid for parameters that the operation does not have, or that come twice."""
        accepted = ", ".join(known) or "no parameters"
        faults = []
        for name, values in self._queries().items():
            at = f"query:{name[:80]}"
            if name not in known:
                faults.append(Fault(at, "unknown_parameter", "no such parameter", accepted))
            elif len(values) > 1:
                faults.append(Fault(at, "repeated_parameter", "given twice", "once"))
        if faults:
            raise Invalid(faults)

    def number(self, name: str, low: int, high: int, absent: int) -> int:
        """Raises Invalid."""
        value = self.query(name)
        if value is None:
            return absent
        if _WHOLE.fullmatch(value) and low <= int(value) <= high:
            return int(value)
        accepted = f"a whole number from {low} to {high}"
        raise Invalid.one(
            f"query:{name}", "out_of_range", f"{value!r:.40} is not accepted", accepted
        )

    def word(self, name: str, words: Sequence[str]) -> str | None:
        """Raises Invalid."""
        value = self.query(name)
        return None if value is None else one_of(words)(value, f"query:{name}")

    def instant(self, name: str) -> datetime | None:
        """Raises Invalid."""
        value = self.query(name)
        return None if value is None else read_instant(value, f"query:{name}")

    def listed(self, listing: Callable[..., Page]) -> Any:
        """The Page that the query asks for. listing: takes limit and cursor. Raises Invalid."""
        limit, cursor = self.number("limit", 1, PAGE, PAGE), self.query("cursor")
        try:
            return listing(limit=limit, cursor=cursor)
        except Invalid as e:
            raise Invalid([replace(fault, pointer="query:cursor") for fault in e.faults]) from None

    def _queries(self) -> Mapping[str, list[str]]:
        many = self.event.get("multiValueQueryStringParameters")
        if many:
            return {name: list(values) for name, values in many.items()}
        single = self.event.get("queryStringParameters") or {}
        return {name: [value] for name, value in single.items()}


def body_of(event: Mapping[str, Any]) -> bytes:
    """The bytes that were sent. Raises NotJson, TooLarge."""
    text = event.get("body") or ""
    if len(text) > 2 * BODY_BYTES:
        raise TooLarge("the body", len(text), BODY_BYTES)
    try:
        if event.get("isBase64Encoded"):
            return base64.b64decode(text, validate=True)
        return str(text).encode("utf-8")
    except (binascii.Error, ValueError):
        raise NotJson("not UTF-8") from None


def caller_of(event: Mapping[str, Any]) -> str:
    """The ARN of an IAM caller, else what an authorizer vouches for, else `unknown`."""
    context = event.get("requestContext") or {}
    identity = context.get("identity") or {}
    authorizer = context.get("authorizer") or {}
    claims = authorizer.get("claims") or {}
    for value in (
        identity.get("userArn"),
        identity.get("caller"),
        identity.get("user"),
        claims.get("sub"),
        authorizer.get("principalId"),
    ):
        if isinstance(value, str) and value:
            return value[:CALLER_CHARS]
    return UNKNOWN_CALLER


def check_job_id(text: str) -> str:
    """The id as it stands in a path. One that is percent-encoded is refused even if what it stands
    for would do: IAM policies are compared with the path as written. Raises Invalid."""
    if JOB_ID.fullmatch(text):
        return text
    detail = f"{unquote(text)!r:.160} is not a job id"
    raise Invalid.one("path:job_id", "bad_id", detail, f"{JOB_ID_FORM}, not percent-encoded")


def check_client_id(value: object, at: str) -> str:
    if isinstance(value, str) and CLIENT_ID.fullmatch(value):
        return value
    raise Invalid.one(at, "bad_id", f"{value!r:.80} is not accepted", CLIENT_ID_FORM)


def read_instant(value: object, at: str) -> datetime:
    """An ISO 8601 date and time with offset. Raises Invalid naming `at`."""
    try:
        if isinstance(value, str) and _INSTANT.fullmatch(value):
            instant = datetime.fromisoformat(value).astimezone(UTC)
            if instant.year in _YEARS:
                return instant
            detail, years = f"the year {instant.year} is out of range", "2 to 8999"
            raise Invalid.one(at, "out_of_range", detail, years)
    except (ValueError, OverflowError):
        pass
    accepted = "an instant such as 2026-11-30T10:00:00Z"
    raise Invalid.one(at, "bad_time", f"{value!r:.60} is not an instant", accepted)
