"""The composition root: the only place that knows both ports and adapters, and reads the
environment. Built at the first invocation and kept for the life of the process.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_network

import boto3

from cronce.adapters.aws_errors import CLIENT_CONFIG
from cronce.adapters.dynamodb import DynamoStore
from cronce.adapters.events import BUS_CONFIG, BusAnnouncer
from cronce.adapters.observer import PowertoolsObserver
from cronce.adapters.overdue import OldestDue
from cronce.adapters.sqs import SqsQueue
from cronce.adapters.system import SystemClock, SystemRandom, SystemThreads
from cronce.announce import Announcer, Silent
from cronce.ports import Ports
from cronce.settings import Settings
from cronce.targets.contract import Target


@dataclass(frozen=True)
class App:
    ports: Ports
    settings: Settings
    observer: PowertoolsObserver


@cache
def settings() -> Settings:
    env = os.environ
    return Settings(
        deployment=env["CRONCE_DEPLOYMENT"],
        shards=int(env["CRONCE_SHARDS"]),
        slice=int(env["CRONCE_SLICE"]),
        slices=int(env["CRONCE_SLICES"]),
        profile=env["CRONCE_PROFILE"],
        allowed_targets=tuple(json.loads(env["CRONCE_ALLOWED_TARGETS"])),
        allowed_addresses=tuple(map(ip_network, json.loads(env["CRONCE_ALLOWED_ADDRESSES"]))),
        announce="CRONCE_EVENT_BUS" in env,
        announce_success="CRONCE_ANNOUNCE_SUCCESS" in env,
    )


@cache
def app() -> App:
    s = settings()
    observer = PowertoolsObserver(s.deployment, os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))
    store = DynamoStore(
        boto3.client("dynamodb", config=CLIENT_CONFIG), os.environ["CRONCE_TABLE"], s.shards
    )
    queue = SqsQueue(
        boto3.client("sqs", config=CLIENT_CONFIG),
        os.environ["CRONCE_QUEUE_URL"],
        os.environ["CRONCE_DLQ_URL"],
        observer,
    )
    ports = Ports(store, queue, SystemClock(), SystemThreads(), SystemRandom(), observer)
    return App(replace(ports, announcer=_announcer(s, observer)), s, observer)


def _announcer(s: Settings, observer: PowertoolsObserver) -> Announcer:
    if not s.announce:
        return Silent()
    bus = os.environ["CRONCE_EVENT_BUS"]
    return BusAnnouncer(boto3.client("events", config=BUS_CONFIG), bus, s.deployment, observer)


@dataclass(frozen=True)
class Lookout:
    """What the watch is made of: little, so that little of it can fail together with the rest."""

    oldest: OldestDue
    clock: SystemClock
    observer: PowertoolsObserver
    profile: str


@cache
def lookout() -> Lookout:
    env = os.environ
    return Lookout(
        OldestDue(
            boto3.client("dynamodb", config=CLIENT_CONFIG),
            env["CRONCE_TABLE"],
            int(env["CRONCE_SHARDS"]),
        ),
        SystemClock(),
        PowertoolsObserver(env["CRONCE_DEPLOYMENT"], env.get("POWERTOOLS_LOG_LEVEL", "INFO")),
        env["CRONCE_PROFILE"],
    )


@cache
def target() -> Target:
    """What the worker calls: every kind, checked again against what the deployment allows."""
    # Here and not above: the dispatcher never pays for loading them.
    from cronce.targets.registry import build_targets

    s = settings()
    return build_targets(
        profile=s.profile,
        allowed=s.allowed_targets,
        allowed_addresses=s.allowed_addresses,
        runtime_api=os.environ.get("AWS_LAMBDA_RUNTIME_API", ""),
    )
