"""The metrics of a deployment: the code's own by name, and AWS's of its queues and functions."""

from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

NAMESPACE = "cronce"
DIMENSION = "deployment"
MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)


@dataclass(frozen=True)
class Measured:
    """What a deployment is measured by."""

    deployment: str
    table: dynamodb.ITable
    queue: sqs.IQueue
    dead_letters: sqs.IQueue
    dispatchers: list[lambda_.Function]
    functions: dict[str, lambda_.Function]

    def own(
        self, name: str, statistic: str = "Sum", period: Duration = FIVE_MINUTES, **more: Any
    ) -> cloudwatch.Metric:
        """One that the functions write; its only dimension is the deployment."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={DIMENSION: self.deployment},
            statistic=statistic,
            period=period,
            **more,
        )
