"""What an `http` target may say: `{"url", "method", "headers", "auth": {"bearer": {"secret"}}}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cronce.domain.allowed import EMULATOR
from cronce.domain.errors import Fault
from cronce.domain.urls import ACCEPTED as URL_ACCEPTED
from cronce.domain.urls import parse_url
from cronce.targets.addresses import is_address, why_refused
from cronce.targets.fields import Field, arn, one_of, pointer
from cronce.targets.kinds import Config, Network

METHODS = ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD")
BODYLESS = ("GET", "HEAD")
MOST_HEADERS = 50
MOST_HEADER_BYTES = 8192

ADDRESS_ACCEPTED = "a public address, or one within allowed_addresses (--allow-address)"
SECRET_HEADERS = frozenset({"authorization", "cookie", "x-api-key", "proxy-authorization"})
SECRET_HINT = 'auth: {"bearer": {"secret": ARN}}, read from Secrets Manager by the worker'
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}", re.ASCII)
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|", re.ASCII)


_BEARER = {
    "secret": arn(
        "secretsmanager",
        r"secret:[A-Za-z0-9/_+=.@!-]{1,512}",
        about="Its text is the token; one of `secrets` of the deployment.",
    )
}
FIELDS = {
    "url": Field(str, required=True, accepted=URL_ACCEPTED),
    "method": one_of(METHODS, code="bad_method", default="POST"),
    "headers": Field(
        dict,
        about=f"Further headers, at most {MOST_HEADERS}; none of cronce's own, no credentials.",
    ),
    "auth": Field(
        dict,
        fields={"bearer": Field(dict, required=True, fields=_BEARER)},
        about="A credential by reference, read by the worker and sent as `Authorization`.",
    ),
}


def rules(config: Config, profile: str) -> list[Fault]:
    faults: list[Fault] = []
    if isinstance(url := config.get("url"), str):
        faults += _url_faults(url, profile)
    if isinstance(headers := config.get("headers"), Mapping):
        faults += [f.under("/headers") for f in _headers_faults(headers)]
    return faults


def _url_faults(text: str, profile: str) -> list[Fault]:
    try:
        url = parse_url(text)
    except ValueError as e:
        accepted = f"http or {URL_ACCEPTED}" if profile == EMULATOR else URL_ACCEPTED
        return [Fault("/url", "bad_url", str(e), accepted)]
    if url.scheme != "https" and profile != EMULATOR:
        return [Fault("/url", "bad_url", "plain http is not accepted", URL_ACCEPTED)]
    return []


def address_faults(target: object, allowed: Iterable[Network]) -> list[Fault]:
    """Of a valid target whose URL holds an address."""
    config = target.get("http") if isinstance(target, Mapping) else None
    host = parse_url(config["url"]).host if config else ""
    if not is_address(host) or not (why := why_refused(host, allowed)):
        return []
    detail = f"{host} is {why}, and allowed_addresses of the deployment does not name it"
    return [Fault("/http/url", "address_refused", detail, ADDRESS_ACCEPTED)]


def _headers_faults(headers: Config) -> list[Fault]:
    faults = [f for name, value in headers.items() for f in _header_faults(name, value)]
    if len({name.lower() for name in headers}) < len(headers):
        faults.append(Fault("", "bad_header", "a header is given twice", "each name once"))
    size = sum(len(name) + len(str(value)) for name, value in headers.items())
    if len(headers) > MOST_HEADERS or size > MOST_HEADER_BYTES:
        limit = f"at most {MOST_HEADERS} headers and {MOST_HEADER_BYTES} bytes in all"
        faults.append(Fault("", "bad_header", "too many or too long headers", limit))
    return faults


def _header_faults(name: str, value: object) -> list[Fault]:
    at, lower = pointer(name), name.lower()
    if lower in SECRET_HEADERS:
        detail = f"a literal {lower} would be stored in the clear"
        return [Fault(at, "literal_secret", detail, SECRET_HINT)]
    if not _HEADER_NAME.fullmatch(name):
        return [Fault(at, "bad_header", f"{name!r:.80} is no header name", "an RFC 9110 token")]
    if lower in _OURS or lower.startswith("cronce-"):
        return [Fault(at, "bad_header", f"{name} is set by cronce", "another header")]
    if not isinstance(value, str):
        return [Fault(at, "wrong_type", f"{name} is not a string", "a string")]
    if not _HEADER_VALUE.fullmatch(value):
        accepted = "visible ASCII, blanks inside"
        return [Fault(at, "bad_header", f"the value of {name} is not accepted", accepted)]
    return []


def resources(config: Config) -> list[tuple[str, str]]:
    """The URL, and the secret: whoever may write jobs must not read every secret by it."""
    found = [("/url", str(config["url"]))]
    if secret := secret_of(config):
        found.append(("/auth/bearer/secret", secret))
    return found


def secret_of(config: Config) -> str | None:
    auth: dict[str, Any] = config.get("auth") or {}
    return auth["bearer"]["secret"] if auth else None


def payload_rule(config: Config, payload: str | None, is_json: bool) -> list[Fault]:
    method = config.get("method", "POST")
    if payload is None or method not in BODYLESS:
        return []
    return [Fault("", "payload_not_sent", f"a {method} carries no payload", "POST, PUT, PATCH")]
