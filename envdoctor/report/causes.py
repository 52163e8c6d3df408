"""Findings as a person meets them: what repeats is told once, and what says the same of the same packages is told with it."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.records import dataclass
from envdoctor.report.model import Diagnosed

# What releases require of each other: no second cause where a rule accuses the same pair.
OF_METADATA = frozenset(("requirements-contradict", "declared-requirement-unmet"))
# Notes that explain a failure, of which the environment is innocent.
EXPLAIN = frozenset(("error-of-what-was-given",))


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding, others of the same rule, and the ids of other rules that accuse the same packages for the same reason."""

    findings: tuple[Diagnosed, ...]
    also: tuple[str, ...] = ()

    @property
    def first(self) -> Diagnosed:
        return self.findings[0]

    @property
    def rules(self) -> tuple[str, ...]:
        return (name(self.first), *self.also)


def name(diagnosed: Diagnosed) -> str:
    """By what a finding is ignored or explained: its rule, and of a family which one it is."""
    finding = diagnosed.finding
    return f"{finding.rule.id}@{finding.edge}" if finding.edge else finding.rule.id


def find_causes(decided: Sequence[Diagnosed]) -> tuple[Cause, ...]:
    """The causes behind decided findings, in their order."""
    by_rules = [one for one in decided if one.finding.rule.check is None]
    told: dict[tuple[object, ...], list[Diagnosed]] = {}
    also: dict[str, dict[str, None]] = {}
    for one in decided:
        required = one.finding.rule.id in OF_METADATA
        same = next((two for two in by_rules if _says_as_much(two, one)), None) if required else None
        if same is None:
            told.setdefault(_kind(one), []).append(one)
        else:
            also.setdefault(same.finding.rule.id, {})[one.finding.rule.id] = None
    return tuple(Cause(tuple(some), tuple(also.get(some[0].finding.rule.id, ()))) for some in told.values())


def _kind(one: Diagnosed) -> tuple[object, ...]:
    """What is told under one headline."""
    return one.finding.rule.id, one.finding.severity, one.finding.status, one.within, one.finding.headline


def _says_as_much(rule: Diagnosed, check: Diagnosed) -> bool:
    """Whether a rule's finding is about the two packages that a check found at odds, at the same place."""
    pair = {reason.fact for reason in check.finding.because}
    seen = {reason.fact: (reason.file, reason.line) for reason in rule.finding.because}
    same = all(seen.get(reason.fact) == (reason.file, reason.line) for reason in check.finding.because)
    return len(pair) > 1 and same and rule.finding.severity == check.finding.severity and rule.within == check.within


__all__ = ["OF_METADATA", "Cause", "find_causes", "name"]
