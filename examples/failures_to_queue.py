"""A stack of your own: a scheduler that announces, and a queue that hears of billing's failures.

`cdk deploy --app "python examples/failures_to_queue.py"`
"""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce_cdk import Cronce, CronceProps


class Jobs(cdk.Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cronce = Cronce(self, "Cronce", CronceProps(announce=True))
        failures = sqs.Queue(self, "Failures", enforce_ssl=True)
        events.Rule(
            self,
            "BillingFailed",
            event_bus=cronce.event_bus,
            event_pattern=events.EventPattern(
                source=["cronce"],
                detail_type=["Cronce Run Failed", "Cronce Run Recovered", "Cronce Job In Error"],
                detail={"group": ["billing"]},
            ),
            targets=[events_targets.SqsQueue(failures)],
        )


if __name__ == "__main__":
    app = cdk.App()
    Jobs(app, "jobs")
    app.synth()
