"""AwsSolutions of cdk-nag: clean, but for what the construct itself gives a written reason for."""

import json
from pathlib import Path
from typing import Any

import pytest

TARGETS = [
    "arn:aws:lambda:eu-central-1:123456789012:function:billing",
    "arn:aws:lambda:eu-central-1:123456789012:function:billing-*",
    "arn:aws:states:eu-central-1:123456789012:stateMachine:invoice",
    "arn:aws:ecs:eu-central-1:123456789012:task-definition/report:*",
]


def findings(folder: Path, **props: Any) -> set[tuple[str, str]]:
    """(rule, construct) of what is found and not accepted."""
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    from cronce_cdk import Cronce, CronceProps

    app = cdk.App(outdir=str(folder))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    Cronce(cdk.Stack(app, "jobs"), "Cronce", CronceProps(**props))
    app.synth()
    report = json.loads((folder / "validation-report.json").read_text())
    (nag,) = (r for r in report["pluginReports"] if r["pluginName"] == "AwsSolutions")
    return {
        (violation["ruleName"], construct["constructPath"])
        for violation in nag["violations"]
        for construct in violation["violatingConstructs"]
    }


@pytest.mark.parametrize(
    "props", [{}, {"allowed_targets": TARGETS, "dispatchers": 2, "announce": True}]
)
def test_every_finding_has_a_written_reason(
    node: None, tmp_path: Path, props: dict[str, Any]
) -> None:
    assert findings(tmp_path, **props) == set()


def test_the_rules_are_really_applied(
    node: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cronce_cdk import http

    monkeypatch.setattr(http, "_REASONS", {})
    with pytest.raises(RuntimeError, match="AwsSolutions-APIG1"):
        findings(tmp_path)
