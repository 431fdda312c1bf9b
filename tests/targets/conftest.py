"""Real servers on loopback, each with a script of one function, and an authority for TLS."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[Seen], tuple[int, dict[str, str], bytes]]


@dataclass
class Server:
    port: int
    scheme: str = "http"
    calls: list[Seen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def named(self, host: str) -> str:
        return f"{self.scheme}://{host}:{self.port}"


def _handler(server: Server, script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {k.lower(): v for k, v in self.headers.items()}
            seen = Seen(self.command, self.path, headers, self.rfile.read(length))
            server.calls.append(seen)
            status, extra, body = script(seen)
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | extra).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    with contextlib.ExitStack() as stack:

        def start(script: Script, tls: ssl.SSLContext | None = None) -> Server:
            listener = stack.enter_context(_Quiet(("127.0.0.1", 0), BaseHTTPRequestHandler))
            server = Server(listener.server_port, "https" if tls else "http")
            listener.RequestHandlerClass = _handler(server, script)
            if tls:
                listener.socket = tls.wrap_socket(
                    listener.socket, server_side=True, do_handshake_on_connect=False
                )
            thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(listener.shutdown)
            return server

        yield start


@pytest.fixture
def serve_raw() -> Iterator[Callable[[Callable[[socket.socket], None]], Server]]:
    """For what no HTTP server would do: the script gets each accepted connection."""
    with contextlib.ExitStack() as stack:

        def start(script: Callable[[socket.socket], None]) -> Server:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            server = Server(listener.getsockname()[1])

            def accept() -> None:
                while True:
                    try:
                        connection, _ = listener.accept()
                    except OSError:
                        return
                    server.calls.append(Seen("", "", {}, b""))
                    with connection, contextlib.suppress(OSError):
                        script(connection)

            thread = threading.Thread(target=accept, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            return server

        yield start


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the tests' own."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def trusting(self) -> ssl.SSLContext:
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def server(self, *names: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(self, key, names)
        path = self.folder / f"{names[0]}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def _builder(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )


def _certificate(
    authority: Authority, key: ec.EllipticCurvePrivateKey, names: tuple[str, ...]
) -> x509.Certificate:
    shown: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(n)) if n[0].isdigit() else x509.DNSName(n)
        for n in names
    ]
    builder = _builder(names[0], key).add_extension(
        x509.SubjectAlternativeName(shown), critical=False
    )
    return builder.sign(authority.key, hashes.SHA256())


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder("test authority", key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    return Authority(tmp_path_factory.mktemp("tls"), key, builder.sign(key, hashes.SHA256()))
