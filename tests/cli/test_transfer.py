"""Export and apply: against the API itself, over a store in memory, through HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import boto3
import pytest

from cronce.cli import connect
from cronce.cli.main import run
from cronce.control import Control
from cronce.handlers.api import build_app
from cronce.handlers.operations import Parts
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.testing.clock import SettableClock
from cronce.testing.invoke import Context
from cronce.testing.memory import MemoryQueue, MemoryStore
from cronce.testing.observer import RecordingObserver
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads

EVENT = Path(__file__).parents[2] / "events" / "api" / "get_job.json"
JOB = (
    '{"schedule": {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},'
    ' "target": {"http": {"url": "https://hooks.example.com/in"}},'
    ' "payload": {"price": 1.50, "name": "Żubr", "big": 12345678901234567890}%s}'
)


def deployment() -> Any:
    """The API's handler."""
    clock = SettableClock(datetime(2026, 11, 30, 10, tzinfo=UTC))
    ports = Ports(
        MemoryStore(clock),
        MemoryQueue(clock),
        clock,
        InlineThreads(),
        SeededRandom(1),
        RecordingObserver(),
    )
    settings = Settings(allowed_targets=("https://hooks.example.com",))
    return build_app(Parts.of(Control(ports, settings)))


@pytest.fixture
def served() -> Iterator[Callable[[], str]]:
    """Starts a new deployment; its URL."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def serve() -> str:
        handle = deployment()

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                raw = handle(_event(self.command, self.path, body, dict(self.headers)), Context())
                content = (raw["body"] or "").encode()
                self.send_response(raw["statusCode"])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}/prod/"

    yield serve
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def _event(method: str, url: str, body: str, headers: dict[str, str]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(EVENT.read_text())
    parts = urlsplit(url.removeprefix("/prod"))
    query = dict(parse_qsl(parts.query))
    return event | {
        "path": parts.path,
        "httpMethod": method,
        "body": body or None,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": query or None,
        "multiValueQueryStringParameters": {n: [v] for n, v in query.items()} or None,
        "pathParameters": {"proxy": parts.path[1:]},
    }


Use = Callable[[str], None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Use:
    """(URL) → the command speaks to that deployment."""
    session = boto3.Session("AKID", "SECRET", region_name="eu-central-1")
    monkeypatch.setattr("cronce.client.TRIES", 1)
    monkeypatch.chdir(tmp_path)

    def use(url: str) -> None:
        emulator = SimpleNamespace(api_url=url, session=lambda: session)
        monkeypatch.setattr(connect, "local_emulator", lambda choice: emulator)

    return use


def put(job_id: str, document: str) -> None:
    Path("job.json").write_text(document)
    assert run(["jobs", "put", job_id, "job.json"]) == 0


def exported(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert run(["jobs", "export", *options]) == 0
    return capsys.readouterr().out


def applied(
    capsys: pytest.CaptureFixture[str], text: str, *options: str
) -> tuple[int, list[str], str]:
    """(exit code, lines, what was said on standard error)"""
    Path("jobs.jsonl").write_text(text)
    capsys.readouterr()
    code = run(["jobs", "apply", "jobs.jsonl", *options])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def test_what_is_exported_makes_the_same_jobs_elsewhere(
    served: Callable[[], str], use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(served())
    put("a", JOB % "")
    put("b", JOB % ', "group": "billing", "misfire": "skip"')
    assert run(["jobs", "pause", "b", "--note", "audit"]) == 0
    text = exported(capsys)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["id"] for line in lines] == ["a", "b"]
    assert [line.get("paused") for line in lines] == [None, "audit"]
    assert '{"price":1.50,"name":"\\u017bubr","big":12345678901234567890}' in text

    use(served())
    code, out, _ = applied(capsys, text)
    assert code == 0
    assert out == [
        "created    a",
        "created    b",
        "2 created, 0 changed, 0 unchanged, 0 failed",
    ]
    assert exported(capsys) == text
    _, out, _ = applied(capsys, text)
    assert out[-1] == "0 created, 0 changed, 2 unchanged, 0 failed"


def test_only_a_group(
    served: Callable[[], str], use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(served())
    put("a", JOB % "")
    put("b", JOB % ', "group": "billing"')
    text = exported(capsys, "--group", "billing")
    assert [json.loads(line)["id"] for line in text.splitlines()] == ["b"]


def test_all_pages(
    served: Callable[[], str],
    use: Use,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(served())
    monkeypatch.setattr("cronce.client.PAGE", 2)
    for n in range(5):
        put(f"job-{n}", JOB % "")
    assert len(exported(capsys).splitlines()) == 5


def test_a_bad_line_keeps_no_other_waiting(
    served: Callable[[], str], use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(served())
    put("a", JOB % "")
    good = exported(capsys)
    edited = good.replace("0 9 * * *", "0 10 * * *")
    lines = [
        "{",
        '{"id": "b", "job": {"schedule": "never", "target": {}}}',
        '{"id": "c"}',
        '{"id": "d", "job": {}, "prune": true}',
        "",
        edited.strip(),
        good.strip().replace('"id":"a"', '"id":"e"'),
        "[" * 100_000,
        '{"id": "f", "job": {"timeout": 1, "timeout": 2}}',
    ]
    code, out, err = applied(capsys, "\n".join(lines))
    assert code == 1
    assert out == [
        "changed    a",
        "created    e",
        "1 created, 1 changed, 0 unchanged, 6 failed",
    ]
    assert "line 1: not JSON" in err
    assert "/schedule" in err
    assert "line 3: must be an object such as" in err
    assert "line 4: 'prune' is not a field" in err
    assert "line 8: not JSON: nested too deep" in err
    assert "line 9: not JSON: a name is given twice" in err
    assert "Traceback" not in err


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    served: Callable[[], str], use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(served())
    put("a", JOB % "")
    put("b", JOB % "")
    before = exported(capsys)
    a, b = before.splitlines()
    wanted = "\n".join([a, b.replace("0 9 * * *", "0 10 * * *"), a.replace('"id":"a"', '"id":"c"')])
    code, out, _ = applied(capsys, wanted, "--dry-run")
    assert code == 0
    assert out == [
        "unchanged  a",
        "changed    b",
        "created    c",
        "would be: 1 created, 1 changed, 1 unchanged, 0 failed",
    ]
    assert exported(capsys) == before


def test_a_paused_line_pauses_an_active_job(
    served: Callable[[], str], use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(served())
    put("a", JOB % "")
    line = exported(capsys).strip()[:-1] + ',"paused":"stop"}'
    code, out, _ = applied(capsys, line)
    assert (code, out[0]) == (0, "changed    a")
    assert json.loads(exported(capsys))["paused"] == "stop"


def test_a_file_that_is_not_there(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jobs", "apply", "nothing.jsonl"]) == 2
    assert "nothing.jsonl: No such file" in capsys.readouterr().err
