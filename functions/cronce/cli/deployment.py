"""Finding a deployment by the outputs of its stack."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError

DEFAULT_STACK = "cronce"
# As `infra/app.py` describes its stack.
DESCRIPTION = "cronce: a job scheduler"


class DeploymentError(Exception):
    """No deployment could be found; the message says which was looked for, where, and why not."""


@dataclass(frozen=True)
class Deployment:
    """A deployed stack. ``outputs`` have their names without the construct's, such as ``ApiUrl``.

    api_url ends with a slash. session is the one that found it: sign with its credentials.
    """

    stack: str
    region: str
    api_url: str
    outputs: Mapping[str, str]
    endpoint_url: str | None = None
    session: boto3.Session = field(default_factory=boto3.Session, repr=False, compare=False)


def chosen_stack(stack: str | None = None) -> str:
    """The stack that was asked for, or CRONCE_STACK, or ``cronce``."""
    return stack or os.environ.get("CRONCE_STACK") or DEFAULT_STACK


def find(
    stack: str | None = None,
    *,
    endpoint_url: str | None = None,
    profile: str | None = None,
    region: str | None = None,
    session: boto3.Session | None = None,
) -> Deployment:
    """The deployment of a stack; what is None comes from CRONCE_STACK and AWS's own variables.

    Raises DeploymentError if there are no credentials or no Region, if nothing answers, or if the
    stack does not exist, is not complete or is not one of cronce.
    """
    name = chosen_stack(stack)
    endpoint = endpoint_url or os.environ.get("AWS_ENDPOINT_URL") or None
    try:
        session = session or boto3.Session(profile_name=profile, region_name=region)
        client = session.client("cloudformation", endpoint_url=endpoint)
        described = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            where = endpoint or f"Region {session.region_name if session else region}"
            raise DeploymentError(f"there is no stack {name!r} at {where}") from None
        raise DeploymentError(f"stack {name!r}: {error}") from None
    except (BotoCoreError, ValueError) as error:  # ValueError: an endpoint that is no URL
        raise DeploymentError(f"stack {name!r}: {str(error).rstrip('.')}") from None
    outputs = own_outputs(
        {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}
    )
    if "ApiUrl" not in outputs:
        status = described["StackStatus"]
        raise DeploymentError(f"stack {name!r} ({status}) has no outputs of a cronce deployment")
    return Deployment(
        stack=name,
        region=outputs.get("Region") or session.region_name or "",
        api_url=reachable(outputs, endpoint),
        outputs=outputs,
        endpoint_url=endpoint,
        session=session,
    )


def choices_of(cloudformation: Any, stack: str) -> dict[str, str]:
    """What a stack of ``infra/app.py`` was deployed with, by name; {} where there is none yet.

    cloudformation: boto3's client. Raises DeploymentError, also for a stack that another app made:
    deployed over, it would lose all that is in it.
    """
    try:
        template = cloudformation.get_template(StackName=stack, TemplateStage="Original")
    except ClientError as error:
        if "does not exist" in str(error):
            return {}
        raise DeploymentError(f"stack {stack!r}: {error}") from None
    except BotoCoreError as error:
        raise DeploymentError(f"stack {stack!r}: {str(error).rstrip('.')}") from None
    body = template.get("TemplateBody")
    if not body:
        return {}
    if not isinstance(body, Mapping) or body.get("Description") != DESCRIPTION:
        raise DeploymentError(
            f"stack {stack!r} is of another app: deploy it with that one, or choose another name"
        )
    return dict(body.get("Metadata", {}).get("cronce", {}))


def own_outputs(outputs: Mapping[str, str]) -> dict[str, str]:
    """A stack's outputs without the construct's name before them; {} if there is no construct.

    >>> own_outputs({"CronceApiUrl": "u", "CronceTableName": "t", "Other": "o"})
    {'ApiUrl': 'u', 'TableName': 't'}
    """
    heads = [key.removesuffix("ApiUrl") for key in outputs if key.endswith("ApiUrl")]
    ours = [head for head in heads if f"{head}TableName" in outputs]
    if len(ours) > 1:
        raise DeploymentError(f"the stack holds more than one scheduler: {', '.join(sorted(ours))}")
    return {
        key.removeprefix(head): value
        for head in ours
        for key, value in outputs.items()
        if key.startswith(head)
    }


def reachable(outputs: Mapping[str, str], endpoint_url: str | None) -> str:
    """The API's address: behind an endpoint, the path that emulators give it."""
    if endpoint_url is None:
        return outputs["ApiUrl"]
    stage = urlsplit(outputs["ApiUrl"]).path.strip("/") or "prod"
    return f"{endpoint_url.rstrip('/')}/restapis/{outputs['ApiId']}/{stage}/_user_request_/"
