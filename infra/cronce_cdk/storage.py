"""The table with its three indexes, and the two queues."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce import limits
from cronce.adapters import layout

NEXT_RUN = layout.NEXT_RUN.name
BY_GROUP = layout.BY_GROUP.name
ATTENTION = layout.ATTENTION.name

_KINDS = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}


def _attribute(name: str, kind: str = "S") -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=_KINDS[kind])


def _add_index(table: dynamodb.Table, index: layout.Index) -> None:
    included = list(index.include)
    projected = dynamodb.ProjectionType.INCLUDE if included else dynamodb.ProjectionType.KEYS_ONLY
    table.add_global_secondary_index(
        index_name=index.name,
        partition_key=_attribute(index.partition, index.kinds[0]),
        sort_key=_attribute(index.sort, index.kinds[1]),
        projection_type=projected,
        non_key_attributes=included or None,
    )


def build_table(
    scope: Construct, removal_policy: RemovalPolicy, key: kms.IKey | None = None
) -> dynamodb.Table:
    """Jobs, runs and dispatch records. key: instead of one that AWS owns."""
    table = dynamodb.Table(
        scope,
        "Table",
        partition_key=_attribute(layout.PK),
        sort_key=_attribute(layout.SK),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        time_to_live_attribute=layout.TTL,
        removal_policy=removal_policy,
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else None,
        encryption_key=key,
    )
    for index in layout.INDEXES:
        _add_index(table, index)
    return table


def attach_table(scope: Construct, arn: str, key: kms.IKey | None = None) -> dynamodb.ITable:
    """A table of this layout that an earlier deployment left behind; it is not touched."""
    return dynamodb.Table.from_table_attributes(
        scope,
        "Table",
        table_arn=arn,
        encryption_key=key,
        global_indexes=[index.name for index in layout.INDEXES],
    )


def build_queues(
    scope: Construct, enforce_ssl: bool, key: kms.IKey | None = None
) -> tuple[sqs.Queue, sqs.Queue]:
    """The run queue and the dead-letter queue that holds what no worker could read.

    enforce_ssl: off on an emulator, which speaks plain HTTP. key: instead of SQS's own.
    """
    retention = Duration.seconds(limits.QUEUE_RETENTION)
    encryption = sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED
    dead_letters = sqs.Queue(
        scope,
        "DeadLetterQueue",
        retention_period=retention,
        encryption=encryption,
        encryption_master_key=key,
        enforce_ssl=enforce_ssl,
    )
    queue = sqs.Queue(
        scope,
        "Queue",
        visibility_timeout=Duration.seconds(limits.QUEUE_VISIBILITY),
        retention_period=retention,
        encryption=encryption,
        encryption_master_key=key,
        enforce_ssl=enforce_ssl,
        dead_letter_queue=sqs.DeadLetterQueue(
            queue=dead_letters, max_receive_count=limits.QUEUE_MAX_RECEIVE_COUNT
        ),
    )
    return queue, dead_letters
