"""What a run has to say, as one value: every format renders this, so that none can disagree with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envdoctor.diagnosis import Finding
from envdoctor.facts import Facts, Skip
from envdoctor.rules import Severity

if TYPE_CHECKING:
    from envdoctor.probes.verdict import Verdict
    from envdoctor.remedies.cures import Cure
    from envdoctor.remedies.remedy import Remedy

FAIL_ON: Mapping[str, tuple[Severity, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "note": ("error", "warning", "note"),
    "never": (),
}


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A finding with its cures and, where one ran, the verdict of its probe."""

    finding: Finding
    cures: tuple[Cure, ...]
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the stack the rules can speak of."""

    packages_known: int
    packages_newer_than_rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    version: str
    rules: int
    rules_digest: str
    releases_as_of: str
    patient: str
    facts: Facts
    findings: tuple[Diagnosed, ...]
    remedy: Remedy
    unknown: tuple[tuple[str, int], ...]
    skipped: tuple[Skip, ...]
    coverage: Coverage
    probes: tuple[Verdict, ...]
    hints: tuple[str, ...]
    fail_on: str
    strict: bool
    recognised: tuple[str, ...] = ()

    def count(self, severity: Severity) -> int:
        """Decided findings of a severity; refuted and possible ones do not count."""
        return sum(d.finding.severity == severity and d.finding.status in ("matched", "confirmed") for d in self.findings)

    def possible(self) -> int:
        return sum(d.finding.status == "possible" for d in self.findings)

    def exit_code(self) -> int:
        """1 when a decided finding (with ``strict`` a possible one too) is at or above ``fail_on``, else 0."""
        counted = ("matched", "confirmed", "possible") if self.strict else ("matched", "confirmed")
        failing = FAIL_ON[self.fail_on]
        return int(any(d.finding.status in counted and d.finding.severity in failing for d in self.findings))


def worst_first(findings: Sequence[Diagnosed]) -> tuple[Diagnosed, ...]:
    """Findings in the order of their diagnosis, but what a probe confirmed first and what it refuted last."""
    order = ("confirmed", "matched", "possible", "refuted")
    return tuple(sorted(findings, key=lambda d: order.index(d.finding.status)))
