"""Every alarm goes off when its metric says so, and none does because a deployment is young."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from cronce.cli.emulator import Emulator
from support.emulator import eventually

Alarm = dict[str, Any]
# Breaching values. The emulator adds up the invocations of all functions, whatever the dimension,
# so that a missing tick has to be told by a number that undoes them.
BREACHING = {
    "DeadLetters": 3,
    "FailedRuns": 2,
    "OldestMessage": 7200,
    "Tick": -1_000_000,
    "Overdue": 900,
}


@pytest.fixture
def alarms(deployment: Emulator, aws: Callable[[str], Any]) -> Callable[[], dict[str, Alarm]]:
    def read() -> dict[str, Alarm]:
        found = aws("cloudwatch").describe_alarms()["MetricAlarms"]
        ours = [a for a in found if a["AlarmDescription"].startswith(f"cronce {deployment.stack}:")]
        named = {re.search(r"Cronce(\w+)Alarm", a["AlarmName"]): a for a in ours}
        return {match[1]: alarm for match, alarm in named.items() if match}

    return read


def test_a_fresh_deployment_is_quiet(alarms: Callable[[], dict[str, Alarm]]) -> None:
    states = {name: alarm["StateValue"] for name, alarm in alarms().items()}
    assert set(states) == set(BREACHING)
    assert "ALARM" not in states.values()


@pytest.mark.parametrize("name", BREACHING)
def test_an_alarm_goes_off(
    aws: Callable[[str], Any], alarms: Callable[[], dict[str, Alarm]], name: str
) -> None:
    alarm = alarms()[name]
    aws("cloudwatch").put_metric_data(
        Namespace=alarm["Namespace"],
        MetricData=[
            {
                "MetricName": alarm["MetricName"],
                "Dimensions": alarm["Dimensions"],
                "Timestamp": datetime.now(UTC),
                "Value": BREACHING[name],
            }
        ],
    )
    eventually(lambda: alarms()[name]["StateValue"] == "ALARM", 30)


def test_the_watch_measures_an_index_with_nothing_overdue(
    deployment: Emulator, aws: Callable[[str], Any]
) -> None:
    answer = aws("lambda").invoke(FunctionName=deployment.outputs["WatchFunction"])
    assert "FunctionError" not in answer
    assert b'"overdue"' in answer["Payload"].read()


def test_the_dashboard_is_there(deployment: Emulator, aws: Callable[[str], Any]) -> None:
    cloudwatch = aws("cloudwatch")
    (entry,) = cloudwatch.list_dashboards()["DashboardEntries"]
    body = cloudwatch.get_dashboard(DashboardName=entry["DashboardName"])["DashboardBody"]
    assert '"Lateness"' in body
    assert f'"{deployment.stack}"' in body
