"""One screen: is it in time, does it end well, what waits, what does it cost."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from cronce_cdk.metrics import FIVE_MINUTES, MINUTE, Measured

_OUTCOMES = ("Succeeded", "Retried", "Failed", "Skipped", "Cancelled", "Missed")


def build_dashboard(
    scope: Construct, measured: Measured, alarms: list[cloudwatch.Alarm]
) -> cloudwatch.Dashboard:
    """Without a fixed name, so that two deployments do not share one."""
    dashboard = cloudwatch.Dashboard(scope, "Dashboard")
    dashboard.add_widgets(cloudwatch.AlarmStatusWidget(alarms=alarms, title="Alarms", width=24))
    dashboard.add_widgets(*_in_time(measured))
    dashboard.add_widgets(*_outcomes(measured))
    dashboard.add_widgets(*_cost(measured))
    return dashboard


def _graph(title: str, metrics: list[cloudwatch.IMetric], unit: str) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=metrics,
        left_y_axis=cloudwatch.YAxisProps(label=unit, min=0, show_units=False),
        width=8,
        height=6,
    )


def _in_time(measured: Measured) -> list[cloudwatch.IWidget]:
    lateness = [measured.own("Lateness", stat, label=stat) for stat in ("p50", "p99")]
    overdue = measured.own("OverdueSeconds", "Maximum", MINUTE, label="oldest due row")
    queue, dead = measured.queue, measured.dead_letters
    return [
        _graph("Lateness of first attempts", [*lateness], "ms"),
        _graph("Overdue", [overdue], "s"),
        _graph(
            "Backlog",
            [
                queue.metric_approximate_number_of_messages_visible(label="visible"),
                queue.metric_approximate_number_of_messages_delayed(label="not yet due"),
                queue.metric_approximate_number_of_messages_not_visible(label="with workers"),
                dead.metric_approximate_number_of_messages_visible(label="dead letters"),
            ],
            "messages",
        ),
    ]


def _outcomes(measured: Measured) -> list[cloudwatch.IWidget]:
    def counts(*names: str) -> list[cloudwatch.IMetric]:
        return [measured.own(name, label=name) for name in names]

    return [
        _graph("Runs by outcome", counts(*_OUTCOMES), "runs"),
        _graph("Dispatched and claimed", counts("Dispatched", "Claimed", "Resent"), "runs"),
        _graph(
            "Reclaimed and refused",
            counts("Reclaimed", "DuplicatesRefused", "CompletionsRefused", "Unreadable"),
            "times",
        ),
    ]


def _cost(measured: Measured) -> list[cloudwatch.IWidget]:
    functions = measured.functions
    written = measured.table.metric_consumed_write_capacity_units(
        statistic="Sum", period=FIVE_MINUTES, label="consumed"
    )
    return [
        _graph("Write units of the table", [written], "units"),
        _graph(
            "Time of the functions",
            [
                function.metric_duration(statistic="Sum", period=FIVE_MINUTES, label=name)
                for name, function in functions.items()
            ],
            "ms",
        ),
        _graph(
            "Errors and throttles of the functions",
            [
                metric
                for name, function in functions.items()
                for metric in (
                    function.metric_errors(label=f"{name} errors"),
                    function.metric_throttles(label=f"{name} throttled"),
                )
            ],
            "times",
        ),
    ]
