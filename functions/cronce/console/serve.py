"""Runs the console on this machine's loopback until Ctrl-C."""

from __future__ import annotations

import socket
import webbrowser
from typing import Any

import uvicorn

from cronce.console.app import build
from cronce.console.guard import Keys
from cronce.console.site import Site

HOST = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """Bound before the address is told. port 0: a free one. Raises OSError."""
    return socket.create_server((HOST, port))


def server_for(site: Site) -> uvicorn.Server:
    config = uvicorn.Config(
        build(site),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    return uvicorn.Server(config)


def serve(client: Any, name: str, port: int, browser: bool) -> None:
    with listening(port) as sock:
        keys = Keys(sock.getsockname()[1])
        print(f"{keys.address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(keys.address)
        server_for(Site(client, keys, name)).run(sockets=[sock])
