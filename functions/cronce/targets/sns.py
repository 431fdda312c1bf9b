"""The `sns` target: `{"topic": ARN}` with an optional `subject`, for FIFO with a `group`."""

from __future__ import annotations

from cronce.domain.errors import Fault
from cronce.targets import messages
from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.contract import Answer, Call, attributes, body, succeeded
from cronce.targets.fields import check_arn, check_fields, check_text, region_of
from cronce.targets.kinds import Config, Kind, Tools


def validate(config: Config, profile: str) -> list[Fault]:
    fields = {"topic": str, "subject": str, "group": str}
    faults = check_fields(config, fields, required=("topic",))
    faults += check_arn(config, "topic", "sns", r"[A-Za-z0-9_-]{1,251}(\.fifo)?")
    printable = r"[!-~][ -~]{0,98}"
    faults += check_text(config, "subject", printable, "1 to 99 printable ASCII characters")
    return faults + messages.check_group(config, config.get("topic"))


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/topic", config["topic"])]


class SnsTarget:
    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        config = call.target["sns"]
        arn = config["topic"]
        subject = {"Subject": config["subject"]} if "subject" in config else {}
        try:
            client = self._clients("sns", region_of(arn), call.timeout + READ_SLACK)
            sent = client.publish(
                TopicArn=arn,
                Message=body(call),
                MessageAttributes=attributes(call),
                **subject,
                **messages.fifo(call, config, arn),
            )
        except Exception as e:
            return classify(e)
        return succeeded("published", sent["MessageId"])


KIND = Kind(
    name="sns",
    validate=validate,
    resources=resources,
    build=SnsTarget,
    payload_limit=262_144 - 4096,
    payload_rule=messages.payload_rule,
)
