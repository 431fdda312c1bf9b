"""What the README says to type is accepted."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network

import pytest

from cronce.domain.allowed import parse_allowed
from cronce.domain.definition import parse_job
from cronce.jsontext import parse
from cronce.targets.registry import payload_faults, target_faults
from support.pages import ROOT, code, section

README = (ROOT / "README.md").read_text()
TRIED = section(README, "Try it")
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def check(text: str, targets: list[str], addresses: list[str], profile: str) -> None:
    allowed = parse_allowed(targets, profile=profile)
    networks = [ip_network(each) for each in addresses]
    reach = partial(target_faults, profile=profile, allowed=allowed, addresses=networks)
    parse_job(
        parse(text.encode()), now=NOW, anchor=NOW, check_target=reach, check_payload=payload_faults
    )


def test_the_job_to_play_with_may_be_put_after_the_command_before_it() -> None:
    (options,) = re.findall(r"make up ARGS='(.*?)'", TRIED)
    given = shlex.split(options)
    named = dict(zip(given[::2], given[1::2], strict=True))
    (job,) = re.findall(r"echo '(.*?)' \|", TRIED, re.DOTALL)
    check(job, [named["--allow-target"]], [named["--allow-address"]], "emulator")
    (server,) = re.findall(r"http.server (\d+) --bind (\S+)", TRIED)
    assert named["--allow-target"] == f"http://{server[1]}:{server[0]}"


@pytest.mark.parametrize("text", code(section(README, "A job"), "json"))
def test_the_job_that_is_shown_is_one(text: str) -> None:
    check(text, ["https://billing.example.com"], [], "aws")
