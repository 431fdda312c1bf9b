"""The table with its three indexes, and the two queues."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce import limits

NEXT_RUN = "next_run"
BY_GROUP = "by_group"
ATTENTION = "attention"


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _number(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.NUMBER)


def build_table(scope: Construct, removal_policy: RemovalPolicy) -> dynamodb.Table:
    """Jobs, runs and dispatch records."""
    table = dynamodb.Table(
        scope,
        "Table",
        partition_key=_text("pk"),
        sort_key=_text("sk"),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        time_to_live_attribute="expires_at",
        removal_policy=removal_policy,
    )
    table.add_global_secondary_index(
        index_name=NEXT_RUN,
        partition_key=_number("shard"),
        sort_key=_text("next_run"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=["plan", "uid", "generation", "next_occurrence", "v"],
    )
    table.add_global_secondary_index(
        index_name=BY_GROUP,
        partition_key=_text("group"),
        sort_key=_text("job_id"),
        projection_type=dynamodb.ProjectionType.KEYS_ONLY,
    )
    table.add_global_secondary_index(
        index_name=ATTENTION,
        partition_key=_text("day"),
        sort_key=_text("finished_at"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=["status", "v"],
    )
    return table


def build_queues(scope: Construct, enforce_ssl: bool) -> tuple[sqs.Queue, sqs.Queue]:
    """The run queue and the dead-letter queue that holds what no worker could read.

    enforce_ssl: off on an emulator, which speaks plain HTTP.
    """
    retention = Duration.seconds(limits.QUEUE_RETENTION)
    dead_letters = sqs.Queue(
        scope,
        "DeadLetterQueue",
        retention_period=retention,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=enforce_ssl,
    )
    queue = sqs.Queue(
        scope,
        "Queue",
        visibility_timeout=Duration.seconds(limits.QUEUE_VISIBILITY),
        retention_period=retention,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=enforce_ssl,
        dead_letter_queue=sqs.DeadLetterQueue(
            queue=dead_letters, max_receive_count=limits.QUEUE_MAX_RECEIVE_COUNT
        ),
    )
    return queue, dead_letters
