"""What somebody is woken by; each alarm has its section in docs/runbook.md."""

from dataclasses import dataclass

from aws_cdk import CfnCustomResource
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from cronce import limits
from cronce_cdk.metrics import FIVE_MINUTES, MINUTE, Measured

_AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_QUIET = cloudwatch.TreatMissingData.NOT_BREACHING
_ALARMING = cloudwatch.TreatMissingData.BREACHING


@dataclass(frozen=True)
class Watched:
    """name: also the section of the runbook."""

    name: str
    metric: cloudwatch.IMetric
    threshold: float
    says: str
    when: cloudwatch.ComparisonOperator = _AT_LEAST
    periods: int = 1
    missing: cloudwatch.TreatMissingData = _QUIET


def build_alarms(
    scope: Construct, measured: Measured, topic: sns.ITopic | None
) -> list[cloudwatch.Alarm]:
    """All alarms; with a topic they tell it when they go off, and when it is over."""
    made = []
    for each in (*_of_runs(measured), *_of_silence(measured)):
        alarm = cloudwatch.Alarm(
            scope,
            each.name,
            metric=each.metric,
            threshold=each.threshold,
            comparison_operator=each.when,
            evaluation_periods=each.periods,
            datapoints_to_alarm=each.periods,
            treat_missing_data=each.missing,
            alarm_description=f"cronce {measured.deployment}: {each.says}. See docs/runbook.md.",
        )
        if topic is not None:
            alarm.add_alarm_action(actions.SnsAction(topic))
            alarm.add_ok_action(actions.SnsAction(topic))
        made.append(alarm)
    return made


def _of_runs(measured: Measured) -> list[Watched]:
    return [
        Watched(
            "DeadLettersAlarm",
            measured.dead_letters.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=FIVE_MINUTES
            ),
            1,
            "messages that no worker could read",
        ),
        Watched("FailedRunsAlarm", measured.own("Failed"), 1, "runs failed for good"),
        Watched(
            "OldestMessageAlarm",
            measured.queue.metric_approximate_age_of_oldest_message(
                statistic="Maximum", period=FIVE_MINUTES
            ),
            limits.OLDEST_MESSAGE_ALARM,
            "a message has been in the run queue for too long",
            periods=3,
        ),
    ]


def _of_silence(measured: Measured) -> list[Watched]:
    """Where no number is the worst number."""
    ticks = [
        Watched(
            "TickAlarm" if n == 0 else f"Tick{n}Alarm",
            dispatcher.metric_invocations(statistic="Sum", period=MINUTE),
            1,
            "no tick has been seen",
            when=_BELOW,
            periods=limits.ALARM_PERIODS,
            missing=_ALARMING,
        )
        for n, dispatcher in enumerate(measured.dispatchers)
    ]
    overdue = Watched(
        "OverdueAlarm",
        measured.own("OverdueSeconds", "Maximum", MINUTE),
        limits.OVERDUE_ALARM,
        "due work has not been dispatched, or nobody looks whether it has",
        periods=limits.ALARM_PERIODS,
        missing=_ALARMING,
    )
    return [*ticks, overdue]


def after_a_first_look(
    scope: Construct,
    watch: lambda_.Function,
    rules: list[events.Rule],
    alarms: list[cloudwatch.Alarm],
) -> None:
    """An alarm for which silence is alarming goes off the moment it is made before there is any
    number. So they are made last: after the rules run, and the watch has looked and has waited."""
    look = CfnCustomResource(
        scope,
        "FirstLook",
        service_token=watch.function_arn,
        service_timeout=2 * limits.WATCH_TIMEOUT,
    )
    look.node.add_dependency(*rules)
    for alarm in alarms:
        alarm.node.add_dependency(look)
