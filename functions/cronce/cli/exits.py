"""Exit codes, and what is said on standard error before them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cronce.cli.output import plain

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4

_OF_STATUS = {
    400: USAGE,
    413: USAGE,
    415: USAGE,
    422: USAGE,
    404: NOT_FOUND,
    409: CONFLICT,
    412: CONFLICT,
}


class CommandError(Exception):
    """A command cannot do what was asked; the message says why and what would help."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        self.code = code
        super().__init__(message)


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Around what listens on a port of this machine. Raises CommandError where it cannot."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"port {port} cannot be listened on: {error.strerror}") from None


def complain(message: str) -> None:
    """One error on standard error; control characters of what others wrote are not passed on."""
    print(f"cronce: {plain(message)}", file=sys.stderr)


def of_answer(status: int, title: str, detail: str, errors: Sequence[Mapping[str, Any]]) -> int:
    """Says what the API refused, fault by fault; the exit code."""
    heading = title or f"the API answered {status}"
    repeated = not detail or detail == heading or bool(errors)  # the faults say it all
    if status == 404 and not repeated:  # what there is not is named by the detail alone
        complain(detail)
    else:
        complain(heading if repeated else f"{heading}: {detail}")
    for fault in errors:
        where = fault.get("pointer") or "/"
        accepted = f" (accepted: {fault['accepted']})" if fault.get("accepted") else ""
        print(plain(f"  {where}: {fault.get('detail', '')}{accepted}"), file=sys.stderr)
    return _OF_STATUS.get(status, FAILED)
