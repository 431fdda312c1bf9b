"""What goes over the wire of a client, and what may go wrong with it there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

Parsed = dict[str, Any]


@contextmanager
def lost_answer(client: Any, operation: str = "*", times: int = 1) -> Iterator[list[str]]:
    """The engine applies the call; its answer is dropped and the SDK sends the same call again.

    Yields the names of the calls whose answer was lost.
    """
    lost: list[str] = []

    def drop(response: Any, operation: Any, **_: Any) -> float | None:
        if response is None or len(lost) >= times or name not in ("*", operation.name):
            return None
        lost.append(operation.name)
        return 0.0

    name = operation
    client.meta.events.register_first("needs-retry", drop)
    try:
        yield lost
    finally:
        client.meta.events.unregister("needs-retry", drop)


@contextmanager
def logged(client: Any) -> Iterator[list[tuple[str, Parsed]]]:
    """Every call made: its operation and its parameters."""
    calls: list[tuple[str, Parsed]] = []

    def note(params: Parsed, model: Any, **_: Any) -> None:
        calls.append((model.name, params))

    client.meta.events.register("provide-client-params", note)
    try:
        yield calls
    finally:
        client.meta.events.unregister("provide-client-params", note)


@contextmanager
def answering(client: Any, operation: str, *answers: Parsed | None) -> Iterator[list[Parsed]]:
    """The first calls get these answers instead of the engine's; None lets one through. An answer
    with an `Error` is one. Yields the answers given."""
    waiting = list(answers)
    given: list[Parsed] = []

    def answer(**_: Any) -> tuple[Any, Parsed] | None:
        parsed = waiting.pop(0) if waiting else None
        if parsed is None:
            return None
        given.append(parsed)
        return SimpleNamespace(status_code=400 if "Error" in parsed else 200), parsed

    event = f"before-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"
    client.meta.events.register_first(event, answer)
    try:
        yield given
    finally:
        client.meta.events.unregister(event, answer)


@contextmanager
def changed_answer(client: Any, operation: str, change: Callable[[Parsed], None]) -> Iterator[None]:
    """The engine's own answers, changed on their way back."""

    def alter(parsed: Parsed, **_: Any) -> None:
        change(parsed)

    event = f"after-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"
    client.meta.events.register_first(event, alter)
    try:
        yield
    finally:
        client.meta.events.unregister(event, alter)


def error(code: str, **fields: Any) -> Parsed:
    return {"Error": {"Code": code, "Message": "injected"}, **fields}
