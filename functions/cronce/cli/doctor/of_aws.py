"""What only AWS's own APIs tell, with the caller's credentials: each look is optional, and says
which permission it would have needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cronce import limits
from cronce.cli.doctor.findings import Finding, note, ok, trouble, unknown
from cronce.cli.doctor.place import Place
from cronce.operate.story import shown_span

DENIED = ("AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation")
OLDEST = 120
COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
# Beside the workers, the dispatcher and the API need room too.
OTHERS = 3


def examine(where: Place) -> Iterator[Finding]:
    for name, permission, look in LOOKS:
        yield _looked(name, permission, lambda look=look: look(where))  # type: ignore[misc]


def _looked(name: str, permission: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in DENIED:
            return unknown(name, "not looked at", f"needs {permission}")
        return unknown(name, f"not available: {code or error}")
    except (BotoCoreError, KeyError, IndexError, TypeError, ValueError) as error:
        return unknown(name, f"not available: {type(error).__name__}: {error}"[:200])


def queue(where: Place) -> Finding:
    counts = _counts(where, where.outputs["QueueUrl"])
    visible, hidden, delayed = (counts[name] for name in COUNTS)
    return ok("queue", f"{visible} waiting, {hidden} with workers or hidden, {delayed} delayed")


def oldest(where: Place) -> Finding:
    age = _oldest_message(where)
    if age is None:
        return unknown("oldest", "no measurement of the oldest message within 15 minutes")
    text = f"the oldest message waited at most {shown_span(age)}"
    if age <= OLDEST:
        return ok("oldest", text)
    return trouble("oldest", text, "workers do not keep up: raise max_concurrency, or see below")


def _oldest_message(where: Place) -> float | None:
    """Seconds, the most within the last 15 minutes. Delayed messages do not count."""
    now = datetime.now(UTC)
    answer = where.aws("cloudwatch").get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": where.outputs["QueueUrl"].rsplit("/", 1)[-1]}],
        StartTime=now - timedelta(minutes=15),
        EndTime=now,
        Period=300,
        Statistics=["Maximum"],
    )
    return max((float(point["Maximum"]) for point in answer["Datapoints"]), default=None)


def dead_letters(where: Place) -> Finding:
    url = where.outputs["DeadLetterQueueUrl"]
    waiting = sum(_counts(where, url).values())
    if not waiting:
        return ok("dead letters", "none")
    advice = f"read them as docs/doctor.md tells; the queue is {url}"
    return trouble("dead letters", f"{waiting} messages that no worker could read", advice)


def _counts(where: Place, url: str) -> dict[str, int]:
    answer = where.aws("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))
    return {name: int(answer["Attributes"][name]) for name in COUNTS}


def workers(where: Place) -> Finding:
    mapping = _mapping(where)
    state = mapping["State"]
    if state in ("Enabled", "Enabling", "Creating", "Updating"):
        most = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        limit = f", at most {most} at once" if most else ""
        return ok("workers", f"the queue is polled{limit}")
    advice = "enable the event source mapping of the worker function: nothing runs without it"
    return trouble("workers", f"the queue is not polled: {state}", advice)


def _mapping(where: Place) -> Any:
    name = where.outputs["WorkerFunction"]
    found = where.aws("lambda").list_event_source_mappings(FunctionName=name)
    return found["EventSourceMappings"][0]


def rule(where: Place) -> Finding:
    name = where.outputs["DispatcherFunction"]
    function = where.aws("lambda").get_function_configuration(FunctionName=name)
    events = where.aws("events")
    rules = events.list_rule_names_by_target(TargetArn=function["FunctionArn"])["RuleNames"]
    if not rules:
        return trouble("rule", "no rule ticks the dispatcher", "deploy again")
    state = events.describe_rule(Name=rules[0])["State"]
    if state.startswith("ENABLED"):
        return ok("rule", f"{rules[0]} is enabled")
    return trouble("rule", f"{rules[0]} is {state.lower()}", "enable it: without it nothing runs")


def concurrency(where: Place) -> Finding:
    client = where.aws("lambda")
    for part in ("WorkerFunction", "DispatcherFunction", "ApiFunction"):
        name = where.outputs[part]
        reserved = client.get_function_concurrency(FunctionName=name)
        if reserved.get("ReservedConcurrentExecutions") == 0:
            return trouble("concurrency", f"{name} is throttled to 0", "remove its reservation")
    account = client.get_account_settings()["AccountLimit"]
    free = int(account["UnreservedConcurrentExecutions"])
    most = _mapping(where).get("ScalingConfig", {}).get("MaximumConcurrency")
    wanted = int(most or limits.MAX_CONCURRENCY) + OTHERS
    text = f"the account has {free} unreserved, this deployment uses up to {wanted}"
    if free < wanted:
        advice = "ask for a higher account limit, or lower max_concurrency"
        return trouble("concurrency", text, advice)
    if free < 2 * wanted:
        return note("concurrency", text, "other functions of the account share them")
    return ok("concurrency", text)


LOOKS: tuple[tuple[str, str, Callable[[Place], Finding]], ...] = (
    ("rule", "lambda:GetFunctionConfiguration, events:ListRuleNamesByTarget, DescribeRule", rule),
    ("workers", "lambda:ListEventSourceMappings", workers),
    ("queue", "sqs:GetQueueAttributes on the run queue", queue),
    ("oldest", "cloudwatch:GetMetricStatistics", oldest),
    ("dead letters", "sqs:GetQueueAttributes on the dead-letter queue", dead_letters),
    (
        "concurrency",
        "lambda:GetAccountSettings, GetFunctionConcurrency, ListEventSourceMappings",
        concurrency,
    ),
)
