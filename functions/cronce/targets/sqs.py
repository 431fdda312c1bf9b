"""The `sqs` target: `{"queue": ARN}`, for FIFO with a `group`."""

from __future__ import annotations

from cronce.domain.errors import Fault
from cronce.targets import messages
from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.contract import Answer, Call, attributes, body, succeeded
from cronce.targets.fields import arn, region_of, resource_of
from cronce.targets.kinds import Config, Kind, Tools

FIELDS = {"queue": arn("sqs", messages.NAME), "group": messages.GROUP}


def rules(config: Config, profile: str) -> list[Fault]:
    return messages.group_rule(config, config.get("queue"))


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/queue", config["queue"])]


class SqsTarget:
    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        config = call.target["sqs"]
        queue = config["queue"]
        try:
            client = self._clients("sqs", region_of(queue), call.timeout + READ_SLACK)
            # Built, not asked for: asking would be a second call, and need a second permission.
            account = queue.split(":")[4]
            sent = client.send_message(
                QueueUrl=f"{client.meta.endpoint_url.rstrip('/')}/{account}/{resource_of(queue)}",
                MessageBody=body(call),
                MessageAttributes=attributes(call),
                **messages.fifo(call, config, queue),
            )
        except Exception as e:
            return classify(e)
        return succeeded("sent", sent["MessageId"])


KIND = Kind(
    name="sqs",
    about="Sends a message to a queue.",
    fields=FIELDS,
    resources=resources,
    build=SqsTarget,
    rules=rules,
    payload_limit=1_048_576 - 4096,
    payload_rule=messages.payload_rule,
)
