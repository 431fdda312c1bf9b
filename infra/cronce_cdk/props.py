"""What a deployment of cronce may choose."""

import ipaddress
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from aws_cdk import RemovalPolicy, Token, aws_ec2, aws_events, aws_kms, aws_logs, aws_sns

from cronce import limits

Architecture = Literal["arm64", "x86_64"]
Profile = Literal["aws", "emulator"]

_PYTHON = re.compile(r"3\.(1[1-9]|[2-9]\d)")
_TABLE_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}")
_ENDPOINT = re.compile(r"vpce-[0-9a-f]{8,17}")
_SECRET = re.compile(r"arn:[a-z-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@*-]+")
_LISTS = ("allowed_targets", "allowed_addresses", "secrets", "private_api", "security_groups")
# What a resource of its kind has, and others have not.
_RESOURCES = {
    "vpc": ("vpc_id", "a VPC"),
    "encryption_key": ("key_arn", "a KMS key"),
    "alarm_topic": ("topic_arn", "an SNS topic"),
    "outcome_topic": ("topic_arn", "an SNS topic"),
    "event_bus": ("event_bus_arn", "an event bus"),
}


class InvalidProps(ValueError):
    """A prop that cannot be deployed: names the prop and the accepted form."""


def host_architecture() -> Architecture:
    """The architecture of the machine that synthesises."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def host_python() -> str:
    """The running Python as ``major.minor``."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, kw_only=True)
class CronceProps:
    """Choices of one deployment; every one has a default that is safe in production.

    allowed_targets: what jobs may reach: ARN patterns, and URL origins such as
        ``https://hooks.example.com``. Nothing by default.
    allowed_addresses: CIDR blocks that `http` targets may reach although they are loopback,
        link-local or private, such as ``10.20.0.0/16``. None by default.
    secrets: ARNs of the secrets that jobs may name.
    profile: ``emulator`` builds for this machine and lets `http` targets use plain HTTP.
    python, architecture: of the functions; by default 3.13 on arm64, on an emulator this machine's.
    shards: partitions of the to-do index; the number only grows.
    dispatchers: functions that share the shards.
    max_concurrency: workers at once, 2 to 1000; each runs up to ten runs.
    vpc, subnets, security_groups: where the worker runs, for targets that only a network of yours
        reaches; it needs a way from there to DynamoDB, SQS and every target. No network by default.
    private_api: ids of the VPC endpoints (of ``execute-api``) through which alone the API can be
        called. Empty: a Regional API. Either way each call is signed.
    encryption_key: for table, queues and logs; keys that AWS owns by default.
    log_retention: of the functions' logs.
    alarm_topic: told when an alarm goes off, and when it is over. Nobody by default.
    announce: failures, missed runs and the like become events of a bus made for them.
    event_bus: of an existing bus instead; given, it is announced to.
    announce_success: every success too, an event each.
    outcome_topic: told what is announced, but for successes.
    removal_policy: of the table; retained by default.
    table_arn: a table that an earlier deployment left behind, of this account and Region, taken as
        it is instead of a new one.
    """

    allowed_targets: Sequence[str] = ()
    allowed_addresses: Sequence[str] = ()
    secrets: Sequence[str] = ()
    profile: Profile = "aws"
    python: str = ""
    architecture: Architecture | None = None
    shards: int = limits.SHARDS
    dispatchers: int = limits.SLICES
    max_concurrency: int = limits.MAX_CONCURRENCY
    log_retention: aws_logs.RetentionDays = field(
        default_factory=lambda: aws_logs.RetentionDays.ONE_MONTH
    )
    removal_policy: RemovalPolicy = field(default_factory=lambda: RemovalPolicy.RETAIN)
    vpc: aws_ec2.IVpc | None = None
    subnets: aws_ec2.SubnetSelection | None = None
    security_groups: Sequence[aws_ec2.ISecurityGroup] = ()
    private_api: Sequence[str] = ()
    encryption_key: aws_kms.IKey | None = None
    alarm_topic: aws_sns.ITopic | None = None
    announce: bool = False
    event_bus: aws_events.IEventBus | None = None
    announce_success: bool = False
    outcome_topic: aws_sns.ITopic | None = None
    table_arn: str = ""

    def __post_init__(self) -> None:
        if self.profile not in ("aws", "emulator"):
            raise InvalidProps(f"profile {self.profile!r}: must be 'aws' or 'emulator'")
        local = self.profile == "emulator"
        if not self.python:
            object.__setattr__(self, "python", host_python() if local else "3.13")
        if self.architecture is None:
            object.__setattr__(self, "architecture", host_architecture() if local else "arm64")
        self._check()

    def _check(self) -> None:
        self._check_kinds()
        if not _PYTHON.fullmatch(self.python):
            raise InvalidProps(f"python {self.python!r}: must be 3.11 or newer, such as '3.13'")
        if self.architecture not in ("arm64", "x86_64"):
            raise InvalidProps(f"architecture {self.architecture!r}: must be 'arm64' or 'x86_64'")
        if self.shards < 1:
            raise InvalidProps(f"shards {self.shards}: must be at least 1")
        if not 1 <= self.dispatchers <= self.shards:
            raise InvalidProps(
                f"dispatchers {self.dispatchers}: must be 1 to the number of shards ({self.shards})"
            )
        low, high = limits.MIN_MAX_CONCURRENCY, limits.MAX_MAX_CONCURRENCY
        if not low <= self.max_concurrency <= high:
            raise InvalidProps(f"max_concurrency {self.max_concurrency}: must be {low} to {high}")
        self._check_network()
        for name in ("announce_success", "outcome_topic"):
            if getattr(self, name) and not self.announces:
                raise InvalidProps(f"{name}: needs announce or event_bus")
        if self.table_arn and not _is_one(self.table_arn, _TABLE_ARN):
            raise InvalidProps(
                f"table_arn {self.table_arn!r}: must be the ARN of a table, such as "
                "'arn:aws:dynamodb:eu-central-1:123456789012:table/jobs'"
            )
        for secret in self.secrets:
            if not _is_one(secret, _SECRET):
                raise InvalidProps(
                    f"secrets {secret!r}: must be the ARN of a secret, such as "
                    "'arn:aws:secretsmanager:eu-central-1:123456789012:secret:billing-AbCdEf'"
                )
        for block in self.allowed_addresses:
            try:
                ipaddress.ip_network(block)
            except ValueError as error:
                raise InvalidProps(
                    f"allowed_addresses {block!r}: must be a CIDR block such as '10.20.0.0/16' "
                    f"({error})"
                ) from None

    def _check_kinds(self) -> None:
        for name in _LISTS:
            if isinstance(getattr(self, name), str):
                raise InvalidProps(f"{name} {getattr(self, name)!r}: must be a list")
        for name, (attribute, kind) in _RESOURCES.items():
            value = getattr(self, name)
            if value is not None and not hasattr(value, attribute):
                raise InvalidProps(f"{name} {value!r}: must be {kind}, a resource of CDK")
        if not isinstance(self.log_retention, aws_logs.RetentionDays):
            raise InvalidProps(
                f"log_retention {self.log_retention!r}: must be one of RetentionDays, such as "
                "aws_logs.RetentionDays.ONE_MONTH"
            )

    @property
    def announces(self) -> bool:
        return self.announce or self.event_bus is not None

    def _check_network(self) -> None:
        if self.vpc is None:
            for name, chosen in (
                ("subnets", self.subnets),
                ("security_groups", self.security_groups),
            ):
                if chosen:
                    raise InvalidProps(f"{name}: needs vpc, the network that they are of")
        for endpoint in self.private_api:
            if not _is_one(endpoint, _ENDPOINT):
                raise InvalidProps(
                    f"private_api {endpoint!r}: must be the id of a VPC endpoint, such as "
                    "'vpce-0a1b2c3d4e5f6a7b8'"
                )


def _is_one(text: str, form: re.Pattern[str]) -> bool:
    """What is known only at deployment is taken on trust."""
    return Token.is_unresolved(text) or form.fullmatch(text) is not None
