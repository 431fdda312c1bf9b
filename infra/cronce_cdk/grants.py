"""Who may do what: for each function the actions on each resource, and nothing else.

Every statement carries a Sid, so that one of them can be found, and taken away by a test.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

from cronce_cdk import storage
from cronce_cdk.reasons import accept_wildcards


def _allow(
    role: iam.Role,
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
) -> None:
    role.add_to_policy(
        iam.PolicyStatement(
            sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
        )
    )


def _index(table: dynamodb.ITable, name: str) -> str:
    return f"{table.table_arn}/index/{name}"


def to_log(role: iam.Role, group: logs.LogGroup) -> None:
    """Write to its own log group only."""
    _allow(role, "Log", ["logs:CreateLogStream", "logs:PutLogEvents"], [group.log_group_arn])


def to_dispatch(role: iam.Role, table: dynamodb.ITable, queue: sqs.Queue) -> None:
    """Find what is due, write records and advances, send messages, see how full the queue is; let
    go of the calendar of a job that has ended without a run."""
    _allow(role, "FindDue", ["dynamodb:Query"], [_index(table, storage.NEXT_RUN)])
    _allow(
        role,
        "Advance",
        [
            "dynamodb:BatchGetItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ],
        [table.table_arn],
    )
    _allow(role, "Send", ["sqs:GetQueueAttributes", "sqs:SendMessage"], [queue.queue_arn])


def to_work(
    role: iam.Role, table: dynamodb.ITable, queue: sqs.Queue, dead_letters: sqs.Queue
) -> None:
    """Receive and hide messages, claim and complete runs, retry, put aside the unreadable; pause a
    job that keeps failing, let go of the calendar of one that has ended."""
    _allow(
        role,
        "Run",
        [
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ],
        [table.table_arn],
    )
    _allow(
        role,
        "Receive",
        [
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
        ],
        [queue.queue_arn],
    )
    _allow(role, "Retry", ["sqs:SendMessage"], [queue.queue_arn])
    _allow(role, "PutAside", ["sqs:SendMessage"], [dead_letters.queue_arn])


def to_watch(role: iam.Role, table: dynamodb.ITable) -> None:
    """See when the oldest rows of the to-do index were due and how many shards it has, and nothing
    else."""
    _allow(role, "LookAtDue", ["dynamodb:Query"], [_index(table, storage.NEXT_RUN)])
    leases = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DISPATCHER#*"]}}
    _allow(role, "CountShards", ["dynamodb:GetItem"], [table.table_arn], leases)


def to_announce(role: iam.Role, bus: events.IEventBus) -> None:
    """Put events on this bus."""
    _allow(role, "Announce", ["events:PutEvents"], [bus.event_bus_arn])


def to_use_key(role: iam.Role, key: kms.IKey) -> None:
    """Read and write what the deployment's key encrypts: the rows and the messages."""
    actions = ["Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom"]
    _allow(role, "Key", [f"kms:{name}" for name in [*actions, "ReEncryptTo"]], [key.key_arn])


def to_join_network(role: iam.Role) -> None:
    """What Lambda itself asks of a role to give its function an address in a network.

    On everything: the interfaces have no names before they are there.
    """
    actions = [
        "ec2:AssignPrivateIpAddresses",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:UnassignPrivateIpAddresses",
    ]
    _allow(role, "Network", actions, ["*"])
    accept_wildcards(role, ["*"], "Lambda asks for it; interfaces have no names before they are.")


def to_read_secrets(role: iam.Role, secrets: Sequence[str]) -> None:
    """Read the listed secrets; nothing when none is listed."""
    if secrets:
        _allow(role, "ReadSecrets", ["secretsmanager:GetSecretValue"], secrets)


def to_manage(role: iam.Role, table: dynamodb.ITable, queue: sqs.Queue) -> None:
    """Create, change, list and delete jobs; dispatch at once what is due soon."""
    _allow(
        role,
        "Manage",
        [
            "dynamodb:BatchGetItem",
            "dynamodb:ConditionCheckItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ],
        [table.table_arn],
    )
    indexes = (storage.NEXT_RUN, storage.BY_GROUP, storage.ATTENTION)
    _allow(role, "List", ["dynamodb:Query"], [_index(table, name) for name in indexes])
    _allow(role, "ListAll", ["dynamodb:Scan"], [_index(table, storage.BY_GROUP)])
    _allow(role, "Send", ["sqs:GetQueueAttributes", "sqs:SendMessage"], [queue.queue_arn])
