"""The fields of a request's document, read one after the other: all faults are told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cronce.domain.errors import Fault, Invalid
from cronce.jsontext import pointer

T = TypeVar("T")
MOST_UNKNOWN = 20


class Fields:
    """known: the names that there are; others are faults. Raises Invalid for what is no object."""

    def __init__(self, doc: object, known: Sequence[str]) -> None:
        accepted = f"an object with {', '.join(known)}" if known else "an object without fields"
        if not isinstance(doc, Mapping):
            raise Invalid.one("", "wrong_type", "not an object", accepted)
        self._doc: Mapping[str, Any] = doc
        self._faults = [
            Fault(pointer(name[:80]), "unknown_field", "no such field", accepted)
            for name in [name for name in doc if name not in known][:MOST_UNKNOWN]
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._doc

    def read(self, name: str, parse: Callable[[object, str], T], absent: T) -> T:
        """parse: takes the value and its pointer, and raises Invalid."""
        if name not in self._doc:
            return absent
        try:
            return parse(self._doc[name], pointer(name))
        except Invalid as e:
            self._faults += e.faults
            return absent

    def need(self, name: str, parse: Callable[[object, str], T], accepted: str) -> T | None:
        """None once there is a fault."""
        if name not in self._doc:
            self.refuse(Fault(pointer(name), "missing_field", f"{name} is required", accepted))
        return self.read(name, parse, None)

    def refuse(self, fault: Fault) -> None:
        self._faults.append(fault)

    def check(self) -> None:
        """Raises Invalid with every fault that was found."""
        if self._faults:
            raise Invalid(self._faults)


def anything(value: object, at: str) -> Any:
    return value


def flag(value: object, at: str) -> bool:
    if isinstance(value, bool):
        return value
    raise Invalid.one(at, "wrong_type", "not a boolean", "true or false")


def whole(low: int, high: int, what: str = "a whole number") -> Callable[[object, str], int]:
    def parse(value: object, at: str) -> int:
        if type(value) is int and low <= value <= high:
            return value
        accepted = f"{what} from {low} to {high}"
        raise Invalid.one(at, "out_of_range", f"{value!r:.40} is not accepted", accepted)

    return parse


def one_of(words: Sequence[T]) -> Callable[[object, str], T]:
    def parse(value: object, at: str) -> T:
        for word in words:
            if value == word:
                return word
        accepted = ", ".join(map(str, words))
        raise Invalid.one(at, "unknown_value", f"{value!r:.40} is not accepted", accepted)

    return parse


def cursor(value: object, at: str) -> str | None:
    """Null is what the last page has."""
    if value is None or isinstance(value, str):
        return value
    raise Invalid.one(at, "wrong_type", "not a string", "from the answer before")
