"""What a remedy is to clear: findings, each with the way in which it is known to be gone and the packages whose move may clear it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from envdoctor.checks.atlas import IMPORT_BREAKS, PART_BREAKS, is_unread
from envdoctor.checks.hit import Hit
from envdoctor.checks.refused_at_import import BY_ANOTHER, BY_TRANSFORMERS
from envdoctor.checks.requirements import UNMET
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.records import dataclass
from envdoctor.remedies.ceilings import rests_on_silence
from envdoctor.remedies.universe import Problem, State, Universe, packages_of
from envdoctor.remedies.verdicts import Verdicts, alike
from envdoctor.rules.conditions import PackageIs
from envdoctor.rules.conditions import accused as must_hold

# A release requires another one within a range, and the finding quotes it.
_OF_ONE_DEMAND = frozenset((UNMET, BY_TRANSFORMERS, BY_ANOTHER))


@dataclass(frozen=True, slots=True)
class Goal:
    """One finding. A rule is asked again, a check is run again, and of what a source found only its own pins say when it is gone."""

    finding: Finding
    by: Literal["rule", "check", "pins"]

    @property
    def name(self) -> str:
        return self.finding.rule.id

    @property
    def level(self) -> int:
        """0 for an error, 1 for a warning."""
        return int(self.finding.severity != "error")

    def hit(self) -> Hit:
        """The finding as its check would tell it."""
        return Hit(self.name, True, packages=self.finding.packages)


def goals_of(findings: Iterable[Finding], verdicts: Verdicts) -> list[Goal]:
    """The findings that a move of packages can clear at all."""
    found = []
    for finding in findings:
        by = _judged_by(finding, verdicts)
        if by is not None:
            found.append(Goal(finding, by))
    return found


def _judged_by(finding: Finding, verdicts: Verdicts) -> Literal["rule", "check", "pins"] | None:
    if finding.rule.condition is not None:
        live = finding.rule.id in verdicts.live and verdicts.before[finding.rule.id].held is not False
        return "rule" if live else None
    if finding.plan and not finding.pins:
        return None  # its check has looked for releases, and names a change of the plan alone
    if any(alike(hit, Hit(finding.rule.id, True, packages=finding.packages)) for hit in verdicts.hits_before):
        return "check"
    return "pins" if finding.pins else None


def stands(goal: Goal, state: State, verdicts: Verdicts) -> bool:
    """Whether a finding is still there under the changes, or may be."""
    if goal.by == "rule":
        return verdicts.outcome(goal.name, state).held is not False
    if goal.by == "check":
        gone = not any(alike(hit, goal.hit()) for hit in verdicts.hits(state))
        return not gone or _is_out_of_bounds(goal.finding, state) or _is_unjudged(goal, state, verdicts)
    return not _satisfied(goal.finding, state, verdicts)


def _is_out_of_bounds(finding: Finding, state: State) -> bool:
    """Whether only what is required moves, to a release outside the range that was quoted.

    Such a release admits an older Python, for which the package asks for another range; nobody said that this Python is there.
    """
    if finding.rule.id not in _OF_ONE_DEMAND or len(finding.packages) != 2 or {name for name, _ in finding.pins} != {finding.packages[1]}:
        return False
    by, other = finding.packages
    release = state[other].release if other in state else None
    return release is not None and by not in state and not any(version_condition(spec).admits(release) for _, spec in finding.pins)


def _is_unjudged(goal: Goal, state: State, verdicts: Verdicts) -> bool:
    """Whether a finding is gone only because one of its two packages moves to a release that nobody has read, or that says nothing."""
    if goal.name == UNMET:
        return rests_on_silence(goal.finding.packages, state, verdicts.universe, verdicts.agreement)
    pair = goal.finding.packages if goal.name in (IMPORT_BREAKS, PART_BREAKS) else ()
    moved = ((package, state[package].release) for package in pair if package in state)
    return any(release is not None and is_unread(package, release.text) for package, release in moved)


def _satisfied(finding: Finding, state: State, verdicts: Verdicts) -> bool:
    values = verdicts.values(state)
    for package, specifier in finding.pins:
        value = values.get(package)
        if isinstance(value, Exact) and version_condition(specifier).admits(value):
            return True
    # The package that requires it may have moved, to a release that requires something else; or have gone.
    for name in _asking(finding, verdicts):
        if name not in state:
            continue
        value = values.get(name)
        if value is None:
            return True
        if isinstance(value, Exact) and verdicts.agreement.is_known(name, value):
            demands = verdicts.agreement.demands(name, value)
            there = {package: values.get(package) for package, _ in finding.pins if package in demands}
            if all(pin is not None and verdicts.agreement.admits(name, value, package, pin) for package, pin in there.items()):
                return True
    return False


def _asking(finding: Finding, verdicts: Verdicts) -> list[str]:
    """The packages that require another one that is there; for one that is missing, no release without the need is looked for."""
    asked = {package for package, _ in finding.pins}
    return [name for name in finding.packages if name not in asked] if asked <= verdicts.values({}).keys() else []


def fix_specs(finding: Finding) -> Iterator[tuple[str, str, str]]:
    """The ranges that would cure a finding, as its check and its rule name them: package, range, note."""
    for package, specifier in finding.pins:
        yield package, specifier, ""
    for fix in finding.rule.fixes:
        if fix.kind == "pin":
            for package, specifier in fix.pins.items():
                yield package, specifier, fix.note


def floors(findings: Iterable[Finding], universe: Universe) -> dict[str, dict[str, Exact]]:
    """By rule and package: the lowest release that the fixes of a finding name."""
    found: dict[str, dict[str, Exact]] = {}
    for finding in findings:
        for package, specifier, _ in fix_specs(finding):
            wanted = version_condition(specifier)
            lowest = next((exact(text) for text in universe.listing.versions(package) if wanted.admits(exact(text))), None)
            before = found.setdefault(finding.rule.id, {}).get(package)
            if lowest is not None and (before is None or version_condition(f"<{before.text}").admits(lowest)):
                found[finding.rule.id][package] = lowest
    return found


def to_add(findings: Iterable[Finding], problem: Problem, universe: Universe) -> dict[str, list[str]]:
    """The packages that fixes pin and that are not there, or of which nothing is known, with the ranges."""
    found: dict[str, list[str]] = {}
    for finding in findings:
        for package, specifier, _ in fix_specs(finding):
            if universe.value(package) is None:
                found.setdefault(package, []).append(specifier)
    return found


def to_remove(findings: Iterable[Finding], universe: Universe) -> set[str]:
    """The packages of which a rule needs only that they are there, where it says to uninstall them or pins others in their place."""
    found = set()
    for finding in findings:
        rule = finding.rule
        leaves = () if rule.condition is None else must_hold(rule.condition)
        for package in {leaf.package for leaf in leaves if isinstance(leaf, PackageIs) and not leaf.version.text}:
            said = re.compile(rf"\buninstall(?: -y)? {re.escape(package)}(?:$|[,;])")
            pinned = [fix.pins for fix in rule.fixes if fix.kind == "pin"]
            alone = all(isinstance(leaf, PackageIs) and leaf.package == package for leaf in leaves)
            replaced = alone and pinned and all(package not in pins for pins in pinned)
            if universe.value(package) is not None and (replaced or any(said.search(fix.text) for fix in rule.fixes)):
                found.add(package)
    return found


def accused(goal: Goal, verdicts: Verdicts) -> tuple[str, ...]:
    """The packages whose move may clear a goal."""
    if goal.by == "rule":
        return verdicts.live[goal.name]
    pinned = [name for name, _ in goal.finding.pins]
    if goal.by == "pins":
        return tuple(dict.fromkeys((*pinned, *_asking(goal.finding, verdicts))))
    hits = [hit for hit in verdicts.hits_before if alike(hit, goal.hit())]
    found = [*pinned, *goal.finding.packages]
    return tuple(dict.fromkeys((*found, *(name for hit in hits for name in suspects(hit)))))


def suspects(hit: Hit) -> tuple[str, ...]:
    """The packages that a check accuses, or would move."""
    return tuple(dict.fromkeys((*(name for name, _ in hit.pins), *hit.packages, *packages_of(name for name, _ in hit.because))))


__all__ = ["Goal", "accused", "fix_specs", "floors", "goals_of", "stands", "suspects", "to_add", "to_remove"]
