"""Which deployment is examined, and with whose credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cronce.cli.connect import Choice, deployed, local_emulator
from cronce.cli.doctor.findings import Finding, ok, trouble
from cronce.cli.exits import CommandError
from cronce.client import Client, NotSigned

NAME = "deployment"


@dataclass(frozen=True)
class Place:
    """outputs: of the stack, without the construct's name. endpoint: of an emulator, or None."""

    stack: str
    client: Client
    session: Any
    outputs: Mapping[str, str]
    endpoint: str | None

    def finding(self) -> Finding:
        where = self.endpoint or f"Region {self.client.region}"
        return ok(NAME, f"stack {self.stack} at {where}, API {self.client.api_url}")

    def changed_at(self) -> datetime | None:
        """When the stack was made or changed last; None where that cannot be seen."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            found = self.aws("cloudformation").describe_stacks(StackName=self.stack)["Stacks"][0]
            at: datetime = found.get("LastUpdatedTime") or found["CreationTime"]
        except (BotoCoreError, ClientError, KeyError, IndexError, TypeError):
            return None
        return at

    def aws(self, service: str) -> Any:
        """A client that gives up soon: what it asks is optional."""
        from botocore.config import Config

        config = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})
        return self.session.client(service, endpoint_url=self.endpoint, config=config)


def find(choice: Choice) -> Place | Finding:
    """The deployment, or why there is none to examine."""
    from botocore.exceptions import BotoCoreError

    from cronce.cli.deployment import DeploymentError
    from cronce.cli.toolchain import ToolError

    try:
        return _found(choice)
    except (DeploymentError, CommandError, ToolError) as error:
        advice = "say --stack, --region, --profile or --endpoint; 'cronce up' starts an emulator"
        return trouble(NAME, str(error), advice)
    except (NotSigned, BotoCoreError) as error:
        return trouble(NAME, str(error), "log in, or name a profile with --profile")


def _found(choice: Choice) -> Place:
    running = local_emulator(choice)
    if running is not None:
        session = running.session()
        client = Client.of_session(running.api_url, session)
        return Place(running.stack, client, session, running.outputs, running.endpoint)
    found = deployed(choice)
    client = Client.of_session(found.api_url, found.session, found.region or None)
    return Place(found.stack, client, found.session, found.outputs, found.endpoint_url)
