"""Why a rule of cdk-nag's AwsSolutions does not hold somewhere, written where it does not.

The reasons are kept on the constructs, so that an app that checks itself finds them there too.
"""

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from constructs import Construct, IConstruct

_WILDCARDS = "AwsSolutions-IAM5"


def accept(at: IConstruct, rule: str, reason: str) -> None:
    """Of a construct and all below it. rule: such as ``AwsSolutions-L1``."""
    if hasattr(cdk, "Validations"):  # newer than the oldest library that the construct works with
        known = cdk.Acknowledgment(id=f"AwsSolutions::{rule}", reason=reason)
        cdk.Validations.of(at).acknowledge(known)


def accept_wildcards(at: Construct, resources: Sequence[str], reason: str) -> None:
    """Resources of policies that hold a star, one by one: no other star is accepted with them."""
    for resource in resources:
        shown = _flat(cdk.Stack.of(at).resolve(resource))
        if "*" in shown:
            accept(at, f"{_WILDCARDS}[Resource::{shown}]", reason)


def _flat(value: Any) -> str:
    """A resource as cdk-nag names it: references in angle brackets.

    >>> _flat({"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":x/", {"Ref": "Api"}]]})
    'arn:<AWS::Partition>:x/<Api>'
    """
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return f"<{value['Ref']}>"
    if "Fn::GetAtt" in value:
        return f"<{'.'.join(value['Fn::GetAtt'])}>"
    return "".join(_flat(part) for part in value["Fn::Join"][1])
