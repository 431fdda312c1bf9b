"""What pip-audit reports decides; silence is said, and is a failure where asked to be strict."""

from typing import Any

import pytest

from support.audit import Findings

GOOD = {"name": "a", "version": "1.0", "vulns": []}
BAD = {"name": "b", "version": "2.0", "vulns": [{"id": "GHSA-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


def told(*dependencies: dict[str, Any]) -> Findings:
    findings = Findings()
    findings.add({"dependencies": list(dependencies), "fixes": []})
    return findings


@pytest.mark.parametrize("strict", [False, True])
def test_a_known_vulnerability_fails_by_name(strict: bool) -> None:
    code, lines = told(GOOD, BAD, UNKNOWN).verdict(strict)
    assert code == 1
    assert lines[0] == "vulnerable: b 2.0: GHSA-1, CVE-2"


@pytest.mark.parametrize("strict", [False, True])
def test_all_known_and_none_vulnerable_passes(strict: bool) -> None:
    assert told(GOOD).verdict(strict) == (0, ["audit: 1 pins, 0 vulnerable"])


def test_what_nothing_was_said_of_is_named() -> None:
    findings = told(GOOD, UNKNOWN)
    findings.add_unanswered("dev.txt", "no answer within 120 s")
    code, lines = findings.verdict(strict=False)
    assert (code, lines) == (0, ["audit: nothing was said of c, dev.txt (no answer within 120 s)"])
    assert findings.verdict(strict=True)[0] == 1


def test_an_audit_of_nothing_says_so() -> None:
    findings = told(UNKNOWN)
    code, lines = findings.verdict(strict=False)
    assert code == 0
    assert "NOTHING was audited" in lines[0]
    assert findings.verdict(strict=True)[0] == 1
