"""The one table of kinds, read by validation and by the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cronce.domain.allowed import Entry, parse_allowed, validate_target
from cronce.domain.errors import Fault
from cronce.targets import ecs, events, http, http_rules, lambda_, sns, sqs, states
from cronce.targets.aws import BotoClients
from cronce.targets.contract import Answer, Call, Target, largest, refused
from cronce.targets.kinds import Clients, Kind, Network, Secrets, Tools
from cronce.targets.secrets import SecretsManager

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        http.KIND,
        lambda_.KIND,
        sqs.KIND,
        sns.KIND,
        events.KIND,
        states.KIND,
        ecs.KIND,
    )
}


def target_faults(
    target: object,
    *,
    profile: str,
    allowed: Sequence[Entry],
    addresses: Sequence[Network] | None = None,
) -> list[Fault]:
    """Every fault of a job's target; pointers are relative to it, e.g. `/http/url`.

    addresses: networks that may be reached though they are not public, for URLs that hold an
    address; None leaves it to the call, which knows the addresses of names too.
    """
    faults = validate_target(target, profile=profile, allowed=allowed, kinds=KINDS)
    if faults or addresses is None:
        return faults
    return http_rules.address_faults(target, addresses)


def payload_faults(target: Mapping[str, object], payload: str | None, is_json: bool) -> list[Fault]:
    """Why the kind of a valid target could never be sent this payload; pointers are ""."""
    ((name, config),) = target.items()
    assert isinstance(config, Mapping)
    kind = KINDS[name]
    faults = kind.payload_rule(config, payload, is_json)
    size = 0 if payload is None else largest(payload, is_json)
    if kind.payload_limit is not None and size > kind.payload_limit:
        limit = f"at most {kind.payload_limit} bytes, placeholders filled"
        detail = f"{name} would be sent up to {size} bytes"
        faults = [*faults, Fault("", "payload_too_large", detail, limit)]
    return faults


class AllowedTargets:
    """Dispatches by kind. What a job says is checked again when it runs: a stored job whose
    target the deployment no longer allows fails for good, and calls nobody."""

    def __init__(self, allowed: Sequence[Entry], tools: Tools) -> None:
        self._allowed, self._profile = tuple(allowed), tools.profile
        self._targets: dict[str, Target] = {name: k.build(tools) for name, k in KINDS.items()}

    def execute(self, call: Call) -> Answer:
        faults = target_faults(call.target, profile=self._profile, allowed=self._allowed)
        if faults:
            first = faults[0]
            return refused(first.code, f"{first.pointer}: {first.detail}")
        (name,) = call.target
        return self._targets[name].execute(call)


def build_targets(
    *,
    profile: str,
    allowed: Sequence[object],
    allowed_addresses: Sequence[Network] = (),
    runtime_api: str = "",
    clients: Clients | None = None,
    secrets: Secrets | None = None,
) -> Target:
    """What the worker calls. Nothing is connected to before the first call.

    allowed: the entries as written in CDK; raises Invalid for one that is not valid.
    """
    clients = clients or BotoClients()
    tools = Tools(
        clients=clients,
        secrets=secrets or SecretsManager(clients),
        profile=profile,
        allowed_addresses=tuple(allowed_addresses),
        runtime_api=runtime_api,
    )
    return AllowedTargets(parse_allowed(allowed, profile=profile), tools)
