"""What an upgrade may never replace: the table with its data, the queues, the API's address."""

from __future__ import annotations

from typing import Any

import pytest

from support.templates import Template

KEPT = {
    "CronceTable4FBA0098": "AWS::DynamoDB::Table",
    "CronceQueueF1534BC7": "AWS::SQS::Queue",
    "CronceDeadLetterQueue14C1A2B2": "AWS::SQS::Queue",
    "CronceApiC82E541F": "AWS::ApiGateway::RestApi",
}
# Properties that CloudFormation cannot change in place.
FIXED: dict[str, dict[str, Any]] = {
    "AWS::DynamoDB::Table": {
        "TableName": None,
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "ImportSourceSpecification": None,
    },
    "AWS::SQS::Queue": {"QueueName": None, "FifoQueue": None},
    "AWS::ApiGateway::RestApi": {},
}


@pytest.mark.parametrize("logical_id", KEPT)
@pytest.mark.parametrize("name", ["default", "chosen"])
def test_nothing_that_holds_data_or_an_address_is_replaced(
    name: str, logical_id: str, request: pytest.FixtureRequest
) -> None:
    template: Template = request.getfixturevalue(name)
    kind = KEPT[logical_id]
    found = template["Resources"].get(logical_id)
    assert found is not None, f"{logical_id} ({kind}) is gone: this would replace it"
    assert found["Type"] == kind, f"{logical_id} is a {found['Type']} now: this would replace it"
    for fixed, value in FIXED[kind].items():
        now = found.get("Properties", {}).get(fixed)
        assert now == value, f"{logical_id}: {fixed} changed to {now}: this would replace it"
