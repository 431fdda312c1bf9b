"""Who is told how runs ended: the bus, what may put events on it, and a topic behind a rule."""

from collections.abc import Sequence

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from constructs import Construct

from cronce.domain.outcome import OF_STATUS, SOURCE
from cronce_cdk import grants
from cronce_cdk.functions import Part
from cronce_cdk.props import CronceProps


def build(scope: Construct, props: CronceProps, tellers: Sequence[Part]) -> events.IEventBus:
    """tellers: the functions that find out how runs end."""
    bus = props.event_bus or events.EventBus(scope, "Outcomes")
    for part in tellers:
        grants.to_announce(part.role, bus)
        part.function.add_environment("CRONCE_EVENT_BUS", bus.event_bus_arn)
        if props.announce_success:
            part.function.add_environment("CRONCE_ANNOUNCE_SUCCESS", "1")
    if props.outcome_topic is not None:
        events.Rule(
            scope,
            "OutcomesToTopic",
            event_bus=bus,
            event_pattern=events.EventPattern(
                source=[SOURCE], detail_type=events.Match.anything_but(OF_STATUS["succeeded"])
            ),
            targets=[events_targets.SnsTopic(props.outcome_topic)],
        )
    return bus
