"""The `events` target: one event on an EventBridge bus, `{"bus": ARN, "source", "detail_type"}`."""

from __future__ import annotations

from cronce.domain.errors import Fault
from cronce.targets.aws import READ_SLACK, by_code, classify
from cronce.targets.contract import Answer, Call, body, succeeded
from cronce.targets.fields import Field, arn, region_of
from cronce.targets.kinds import Config, Kind, Tools

SOURCE = "cronce"
DETAIL_TYPE = "Job Run"


FIELDS = {
    "bus": arn("events", r"event-bus/[A-Za-z0-9/_.-]{1,256}"),
    "source": Field(
        str,
        form=r"(?!aws\.)[A-Za-z0-9_./-]{1,256}",
        accepted="letters, digits, _ . / -, not beginning with aws.",
        default=SOURCE,
    ),
    "detail_type": Field(
        str,
        form=r"[!-~][ -~]{0,127}",
        accepted="printable ASCII, <= 128",
        default=DETAIL_TYPE,
    ),
}


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/bus", config["bus"])]


def payload_rule(config: Config, payload: str | None, is_json: bool) -> list[Fault]:
    if payload is None or (is_json and payload.lstrip().startswith("{")):
        return []
    return [Fault("", "payload_not_object", "the detail of an event is an object", "a JSON object")]


class EventsTarget:
    """The event's only resource is the run's idempotency key: `<job>/<run id>`."""

    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        config = call.target["events"]
        entry = {
            "EventBusName": config["bus"],
            "Source": config.get("source", SOURCE),
            "DetailType": config.get("detail_type", DETAIL_TYPE),
            "Detail": body(call),
            "Resources": [f"{call.job_id}/{call.run_id}"],
        }
        try:
            region = region_of(config["bus"])
            client = self._clients("events", region, call.timeout + READ_SLACK)
            (result,) = client.put_events(Entries=[entry])["Entries"]
        except Exception as e:
            return classify(e)
        if "ErrorCode" in result:
            return by_code(result["ErrorCode"], result.get("ErrorMessage", ""))
        return succeeded("put", result.get("EventId"))


KIND = Kind(
    name="events",
    about="Puts an event on a bus; the payload, an object, is its detail.",
    fields=FIELDS,
    resources=resources,
    build=EventsTarget,
    payload_limit=262_144 - 4096,
    payload_rule=payload_rule,
)
