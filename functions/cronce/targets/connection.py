"""One connection under one deadline, to an address that was checked after the name was resolved."""

from __future__ import annotations

import errno
import io
import ipaddress
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cronce.domain.urls import Url
from cronce.targets.addresses import why_refused
from cronce.targets.kinds import Network, Resolver

MOST_ADDRESSES = 8
SEND_BYTES = 65536
# More than any headers that are accepted, with as much of a body as is read.
MOST_RECEIVED = 8 * 1024 * 1024

T = TypeVar("T")


class AddressRefused(Exception):
    """The name stands for an address that this deployment does not call."""


class Deadline:
    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    def left(self) -> float:
        """Seconds, more than 0. Raises TimeoutError when there are none."""
        left = self._end - self._monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def within(deadline: Deadline, work: Callable[[], T]) -> T:
    """The result of `work`, for what takes no timeout of its own (name resolution does not).

    Raises what `work` raised, or TimeoutError; then the thread is left to end by itself.
    """
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as e:
            done.put((None, e))

    seconds = deadline.left()
    threading.Thread(target=run, daemon=True, name="cronce-within").start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Checked:
    """Resolves a URL's host once and refuses it if any of its addresses is refused.

    runtime_api: `host:port` refused whatever else is allowed.
    """

    def __init__(
        self, resolve: Resolver | None, allowed: Sequence[Network], runtime_api: str = ""
    ) -> None:
        self._resolve = resolve or system_resolver
        self._allowed = tuple(allowed)
        host, _, port = runtime_api.rpartition(":")
        self._runtime = ("127.0.0.1" if host == "localhost" else host, port)

    def addresses(self, url: Url, deadline: Deadline) -> list[str]:
        """At least one address. Raises AddressRefused, OSError (no such name), TimeoutError."""
        try:
            found: Sequence[str] = [str(ipaddress.ip_address(url.host))]
        except ValueError:
            found = within(deadline, lambda: self._resolve(url.host, url.port))
        if not found:
            raise socket.gaierror(f"{url.host} has no address")
        for address in found:
            if why := self._why(address, url.port):
                raise AddressRefused(
                    f"{url.host} has the address {address}, which is {why}, "
                    "and allowed_addresses of the deployment does not name it"
                )
        return list(found[:MOST_ADDRESSES])

    def _why(self, address: str, port: int) -> str | None:
        if (address, str(port)) == self._runtime:
            return "the function's own runtime"
        return why_refused(address, self._allowed)


def connect(
    url: Url, addresses: Sequence[str], deadline: Deadline, tls: ssl.SSLContext
) -> socket.socket:
    """Connected to the first address that answers; with TLS, verified against the URL's host.

    Every address but the last gets only its share of the time. Raises OSError, TimeoutError.
    """
    raw = _connect_any(url.port, addresses, deadline)
    if url.scheme != "https":
        return raw
    try:
        raw.settimeout(deadline.left())
        return tls.wrap_socket(raw, server_hostname=url.host)
    except BaseException:
        raw.close()
        raise


def _connect_any(port: int, addresses: Sequence[str], deadline: Deadline) -> socket.socket:
    failure: OSError = ConnectionError("no address")
    for n, address in enumerate(addresses):
        try:
            sock = socket.create_connection((address, port), deadline.left() / (len(addresses) - n))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as e:
            failure = e
    raise failure


class DeadlineSocket:
    """What http.client needs of a socket, every call bounded by what is left.

    `close` is not the socket's: http.client closes when it has read the headers, while the body
    is still to come. Who made the connection closes it.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.left())
            rest = rest[self._sock.send(rest[:SEND_BYTES]) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        pass


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises OSError for an answer that does not end: some of its forms http.client would
        read to the end, whatever the memory."""
        if self._received > MOST_RECEIVED:
            raise OSError(errno.EMSGSIZE, "the answer is too long")
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._received += count
        return count
