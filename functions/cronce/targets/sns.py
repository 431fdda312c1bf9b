"""The `sns` target: `{"topic": ARN}` with an optional `subject`, for FIFO with a `group`."""

from __future__ import annotations

from cronce.domain.errors import Fault
from cronce.targets import messages
from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.contract import Answer, Call, attributes, body, succeeded
from cronce.targets.fields import Field, arn, region_of
from cronce.targets.kinds import Config, Kind, Tools

FIELDS = {
    "topic": arn("sns", r"[A-Za-z0-9_-]{1,251}(\.fifo)?"),
    "subject": Field(
        str,
        form=r"[!-~][ -~]{0,98}",
        accepted="1 to 99 printable ASCII characters",
        about="Of subscriptions by e-mail.",
    ),
    "group": messages.GROUP,
}


def rules(config: Config, profile: str) -> list[Fault]:
    return messages.group_rule(config, config.get("topic"))


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/topic", config["topic"])]


class SnsTarget:
    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        config = call.target["sns"]
        topic = config["topic"]
        subject = {"Subject": config["subject"]} if "subject" in config else {}
        try:
            client = self._clients("sns", region_of(topic), call.timeout + READ_SLACK)
            sent = client.publish(
                TopicArn=topic,
                Message=body(call),
                MessageAttributes=attributes(call),
                **subject,
                **messages.fifo(call, config, topic),
            )
        except Exception as e:
            return classify(e)
        return succeeded("published", sent["MessageId"])


KIND = Kind(
    name="sns",
    about="Publishes a message to a topic.",
    fields=FIELDS,
    resources=resources,
    build=SnsTarget,
    rules=rules,
    payload_limit=262_144 - 4096,
    payload_rule=messages.payload_rule,
)
