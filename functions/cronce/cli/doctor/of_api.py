"""What the API itself tells: reachable, allowed, ticking, in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce import __version__, limits
from cronce.cli.doctor.findings import Finding, note, ok, trouble, unknown
from cronce.cli.doctor.place import Place
from cronce.client import ApiError, Client, Unreachable
from cronce.operate.story import shown_span

TICK_AGE = timedelta(seconds=3 * limits.TICK_PERIOD)
OVERDUE_AGE = timedelta(seconds=limits.TICK_PERIOD)
RECORD_AGE = timedelta(seconds=2 * limits.RECONCILE_MAX_INTERVAL)
CLOCK = timedelta(seconds=limits.CLOCK_DIFFERENCE)
SOME = 5
# Some of what the policy Reader gives; what changes anything is not tried.
READS: tuple[tuple[str, Callable[[Client], Any]], ...] = (
    ("GET /jobs", lambda client: client.jobs_page(limit=1)),
    ("GET /runs", lambda client: client.attention_page(limit=1)),
    ("GET /overview", lambda client: client.overview()),
    ("GET /upcoming", lambda client: client.coming(within=60)),
)


def examine(where: Place) -> Iterator[Finding]:
    client = where.client
    try:
        client.health()
    except ApiError as error:
        yield _refused(error)
        return
    except Unreachable as error:
        advice = "look for a proxy or a firewall on the way, then at the API's stage"
        yield trouble("api", str(error), advice)
        return
    yield ok("api", "answers, and the call was authorised")
    answers = {call: _tried(client, ask) for call, ask in READS}
    yield _permissions(answers)
    before = datetime.now(UTC)
    deep = _tried(client, lambda client: client.deep_health())
    after = datetime.now(UTC)
    if isinstance(deep, Exception):
        yield unknown("dispatching", f"GET /health/deep: {deep}")
    else:
        yield clock(deep, before, after)
        never = any(tick["last_tick"] is None for tick in deep["ticks"])
        yield from ticks(deep, where.outputs, where.changed_at() if never else None)
        yield overdue(deep)
        yield records(deep)
        yield from versions(deep)
    yield from _late(answers["GET /overview"])
    yield in_error(_tried(client, lambda c: c.jobs_page(status="error", limit=SOME)))


def _refused(error: ApiError) -> Finding:
    if error.status == 403:
        advice = (
            "the credentials need execute-api:Invoke on this API: its managed policy Reader, or"
            " Operator; a clock that is more than five minutes off is refused like that too"
        )
        return trouble("api", f"403: {error.detail or error.title}", advice)
    return trouble("api", str(error), "look at the API function's log group")


def _tried(client: Client, ask: Callable[[Client], Any]) -> Any:
    """The answer, or the error."""
    try:
        return ask(client)
    except (ApiError, Unreachable) as error:
        return error


def _permissions(answers: dict[str, Any]) -> Finding:
    denied = [c for c, a in answers.items() if isinstance(a, ApiError) and a.status == 403]
    broken = {c: a for c, a in answers.items() if isinstance(a, Exception) and c not in denied}
    if broken:
        call, error = next(iter(broken.items()))
        return trouble("permissions", f"{call}: {error}", "look at the API function's log group")
    if denied:
        advice = "allow execute-api:Invoke on these paths, if this caller should see them"
        return note("permissions", f"not allowed: {', '.join(denied)}", advice)
    return ok("permissions", "everything that reads is allowed; what changes was not tried")


def clock(deep: dict[str, Any], before: datetime, after: datetime) -> Finding:
    """before, after: this machine's clock around the call."""
    server = datetime.fromisoformat(deep["now"])
    middle = before + (after - before) / 2
    apart, unsure = abs(server - middle), (after - before) / 2
    text = f"{shown_span(apart.total_seconds())} apart, give or take {_span(unsure)}"
    if apart - unsure > CLOCK:
        advice = "synchronise this machine's clock; at five minutes no signed call is accepted"
        return trouble("clock", text, advice)
    return ok("clock", text)


def ticks(
    deep: dict[str, Any], outputs: Any, changed_at: datetime | None = None
) -> Iterator[Finding]:
    """changed_at: of the stack, where there was no tick: a new one has none yet."""
    now = datetime.fromisoformat(deep["now"])
    logs = outputs.get("DispatcherLogs", "the dispatcher's log group")
    advice = f"see whether the rule is enabled and the dispatcher runs: its log group is {logs}"
    for tick in deep["ticks"]:
        which = f" of slice {tick['slice']}" if len(deep["ticks"]) > 1 else ""
        if tick["last_tick"] is None:
            if changed_at is not None and now - changed_at <= TICK_AGE:
                text = f"none yet{which}: the stack was deployed {_span(now - changed_at)} ago"
                yield note("tick", text, "the first one comes within two minutes of a deployment")
            else:
                yield trouble("tick", f"none was seen{which}", advice)
            continue
        age = now - datetime.fromisoformat(tick["last_tick"])
        text = f"the last one{which} was {_span(age)} ago"
        yield trouble("tick", text, advice) if age > TICK_AGE else ok("tick", text)


def overdue(deep: dict[str, Any]) -> Finding:
    now = datetime.fromisoformat(deep["now"])
    jobs = deep["overdue"]
    late = [j for j in jobs if now - datetime.fromisoformat(j["next_run"]) > OVERDUE_AGE]
    if not late:
        return ok("overdue", "no job is overdue")
    oldest = now - datetime.fromisoformat(late[0]["next_run"])
    more = " or more" if deep["more"] else ""
    names = ", ".join(job["job_id"] for job in late[:SOME])
    text = f"{len(late)}{more} jobs, the oldest for {_span(oldest)}: {names}"
    advice = "without ticks nothing is dispatched; with them, more is due than one tick can send:"
    return trouble("overdue", text, f"{advice} raise `dispatchers`, or look at its errors")


def records(deep: dict[str, Any]) -> Finding:
    if deep["oldest_record"] is None:
        return ok("reconciling", "no dispatch record waits to be looked at")
    now = datetime.fromisoformat(deep["now"])
    age = now - datetime.fromisoformat(deep["oldest_record"])
    text = f"{deep['overdue_records']} records wait, the oldest for {_span(age)}"
    if age > RECORD_AGE:
        advice = "until then lost messages are not sent again; ticks end before they come to it"
        return trouble("reconciling", text, advice)
    return ok("reconciling", text)


def versions(deep: dict[str, Any]) -> Iterator[Finding]:
    from cronce.domain.zones import tzdata_version

    own = tzdata_version()
    if deep["version"] == __version__:
        yield ok("release", f"{__version__}, here and there")
    else:
        text = f"the deployment is {deep['version']}, this command {__version__}"
        yield note("release", text, "deploy again, or install the same release here")
    if deep["tzdata"] == own:
        yield ok("tzdata", f"{own}, here and there")
    elif deep["tzdata"] < own:
        text = f"the deployment plans with {deep['tzdata']}, there is {own}"
        yield note("tzdata", text, "deploy again, then `cronce replan`: see docs/calendars.md")
    else:
        text = f"the deployment has {deep['tzdata']}, this command the older {own}"
        yield note("tzdata", text, "`cronce preview` may differ from what the deployment does")


def _late(view: Any) -> Iterator[Finding]:
    if isinstance(view, Exception):
        return
    late = [run for run in view["open"] if run["late"]]
    if not late:
        yield ok("late runs", "none")
        return
    names = ", ".join(f"{run['job_id']} {run['run_id']}" for run in late[:SOME])
    advice = "`cronce runs explain` tells why; workers may be throttled, stopped or too few"
    yield trouble("late runs", f"{len(late)}: {names}", advice)


def in_error(page: Any) -> Finding:
    if isinstance(page, Exception):
        return unknown("job errors", f"GET /jobs: {page}")
    jobs = page["jobs"]
    if not jobs:
        return ok("job errors", "no job is in error")
    shown = "; ".join(f"{job['id']}: {job['status']['reason']}" for job in jobs)
    more = " and more" if page["cursor"] else ""
    advice = "put right what the reason names and put the job again; until then it does not run"
    return trouble("job errors", f"{shown}{more}", advice)


def _span(length: timedelta) -> str:
    return shown_span(length.total_seconds())
