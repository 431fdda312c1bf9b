"""The API's documentation as one plain page: nothing is loaded from elsewhere."""

from __future__ import annotations

import html
import json
import webbrowser
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_METHODS = ("get", "put", "post", "patch", "delete")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { font: 1.1rem monospace; border-top: 1px solid #8884; padding-top: 1rem; margin-top: 2rem }
pre { overflow-x: auto; background: #8881; padding: .7rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .2rem 1rem .2rem 0 }
td { vertical-align: top }
"""


def serve(document: Mapping[str, Any], port: int, browser: bool) -> None:
    """On loopback, until Ctrl-C. port 0: a free one."""
    pages = {
        "/": ("text/html; charset=utf-8", page(document)),
        "/openapi.json": ("application/json", json.dumps(document, indent=2)),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in pages:
                self.send_error(404)
                return
            kind, text = pages[self.path]
            content = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: the one reader is here."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        print(f"{address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(address)
        server.serve_forever()


def of_checkout() -> dict[str, Any] | None:
    """The committed copy, if this is run in a checkout that has one."""
    from cronce.cli import toolchain

    try:
        text = (toolchain.checkout() / "docs" / "openapi.json").read_text(encoding="utf-8")
    except (toolchain.ToolError, OSError):
        return None
    document: dict[str, Any] = json.loads(text)
    return document


def page(document: Mapping[str, Any]) -> str:
    """The whole OpenAPI document as HTML; everything in it is escaped."""
    info = document.get("info") or {}
    title = html.escape(f"{info.get('title', 'API')} {info.get('version', '')}")
    schemas = (document.get("components") or {}).get("schemas") or {}
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>",
        f"<style>{_STYLE}</style><h1>{title}</h1>",
        f"<p>{html.escape(str(info.get('description') or ''))}</p>",
        "<p><a href=openapi.json>openapi.json</a></p>",
        *_operations(document.get("paths") or {}),
        "<h1>Schemas</h1>" if schemas else "",
        *(part for name, schema in schemas.items() for part in _schema(name, schema)),
    ]
    return "\n".join(parts)


def _operations(paths: Mapping[str, Any]) -> Iterator[str]:
    for path, item in paths.items():
        for method in _METHODS:
            if method in item:
                yield from _operation(method, path, item[method])


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{method.upper()} {html.escape(path)}</h2>"
    for name in ("summary", "description"):
        if operation.get(name):
            yield f"<p>{html.escape(str(operation[name]))}</p>"
    parameters = [each for each in operation.get("parameters") or [] if "name" in each]
    yield from _table(
        ("parameter", "in", "what"),
        [(each["name"], each.get("in"), each.get("description")) for each in parameters],
    )
    for kind, content in ((operation.get("requestBody") or {}).get("content") or {}).items():
        yield f"<p>Body, {html.escape(kind)}: {_kind_of(content.get('schema'))}</p>"
    answers = operation.get("responses") or {}
    yield from _table(
        ("status", "what"),
        [(status, each.get("description")) for status, each in answers.items()],
    )


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h2 id="{html.escape(name, quote=True)}">{html.escape(name)}</h2>'
    yield f"<pre>{html.escape(json.dumps(schema, indent=2))}</pre>"


def _kind_of(schema: Any) -> str:
    reference = str((schema or {}).get("$ref") or "").rpartition("/")[2]
    name = html.escape(reference, quote=True)
    return f'<a href="#{name}">{name}</a>' if name else html.escape(json.dumps(schema or {}))


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for row in rows:
        cells = (f"<td>{html.escape(str(c if c is not None else ''))}</td>" for c in row)
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"
