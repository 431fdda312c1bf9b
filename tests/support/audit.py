"""Known vulnerabilities of what is pinned, as an advisory service tells them (pip-audit).

``python -m support.audit [--strict]`` ends with 1 if one is known. Where the service cannot be
reached, or does not know a package, nothing can be said: that is printed, and a failure only with
``--strict``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cronce.cli import toolchain

PINS = ("core", "api", "dev", "emulator", "faults")
SECONDS = 120


@dataclass
class Findings:
    """known: `package version: advisories` a line. unknown: what nothing was said of."""

    asked: int = 0
    known: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        """One report of pip-audit, as its JSON format has it."""
        for each in report["dependencies"]:
            self.asked += 1
            if "skip_reason" in each:
                self.unknown.append(each["name"])
            elif each["vulns"]:
                ids = ", ".join(found["id"] for found in each["vulns"])
                self.known.append(f"{each['name']} {each['version']}: {ids}")

    def add_unanswered(self, name: str, reason: str) -> None:
        """A whole file of pins that nothing was said of."""
        self.asked += 1
        self.unknown.append(f"{name} ({reason})")

    def verdict(self, strict: bool) -> tuple[int, list[str]]:
        """Exit code and what to print."""
        lines = [f"vulnerable: {line}" for line in self.known]
        if self.unknown and len(self.unknown) == self.asked:
            lines.append("audit: no advisories can be reached from here: NOTHING was audited")
        elif self.unknown:
            lines.append(f"audit: nothing was said of {', '.join(self.unknown)}")
        else:
            lines.append(f"audit: {self.asked} pins, {len(self.known)} vulnerable")
        return int(bool(self.known or (strict and self.unknown))), lines


def report_of(python: Path, pins: Path) -> dict[str, Any]:
    """Raises RuntimeError where pip-audit did not answer with a report."""
    options = ("--disable-pip", "--require-hashes", "--format", "json", "--timeout", "10")
    command = [str(python), "-m", "pip_audit", *options, "-r", str(pins)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        report: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no answer within {SECONDS} s") from None
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no report"]
        raise RuntimeError(lines[-1]) from None
    return report


def main(arguments: list[str]) -> int:
    strict = arguments == ["--strict"]
    python = toolchain.environment_of("audit")
    findings = Findings()
    for name in PINS:
        pins = toolchain.checkout() / "requirements" / f"{name}.txt"
        try:
            findings.add(report_of(python, pins))
        except RuntimeError as error:
            findings.add_unanswered(pins.name, str(error))
    code, lines = findings.verdict(strict)
    print("\n".join(lines), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
