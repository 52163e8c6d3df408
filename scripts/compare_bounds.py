"""Where a rule's range of releases and the atlas differ: the names that its symptoms say are missing, release by release.

``python scripts/compare_bounds.py`` prints one line for every rule and name that differ: releases that the rule accuses and that have the
name, releases without it that it passes by, and releases without it that a cure offers. The arguments that its condition asks for
(``calls``) are compared likewise, for those releases of which the atlas knows the signature: where a rule accuses releases that take an
argument beside others that do not. A claim of ``[[boundary]]`` at which no range of the condition begins or ends is told as well.
The text of a rule may give the reason (another rule tells those, nothing reaches it).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.atlas.answers import Answer, answer
from envdoctor.atlas.shelf import open_package
from envdoctor.facts.versions import VersionCondition, exact, version_condition
from envdoctor.files.toml import read_toml
from envdoctor.rules.boundaries import boundaries_of
from envdoctor.rules.conditions import PackageIs, ValueIs, accused
from envdoctor.rules.rule import Rule, parse_rule
from envdoctor.world.releases import yanked

RULES = Path(__file__).parent.parent / "rules"

_SAID = (
    (re.compile(r"cannot import name '(\w+)' from '([\w.]+)'"), "{1}:{0}"),
    (re.compile(r"module '([\w.]+)' has no attribute '(\w+)'"), "{0}:{1}"),
    (re.compile(r"No module named '(\w+(?:\.\w+)+)'"), "{0}"),
)
_ARGUMENT = re.compile(r"(\w+(?:\.\w+)+)\((\w+)(?:=[^,()]*)?\)")


def names_missing(rule: Rule) -> Iterator[str]:
    """What the symptoms of a rule say is not there, as the atlas names it."""
    for symptom in rule.symptoms:
        for pattern, form in _SAID:
            yield from (form.format(*found.groups()) for found in pattern.finditer(symptom))


def arguments_named(rule: Rule) -> Iterator[str]:
    """The arguments by which the condition accuses a call, one at a time."""
    for leaf in accused(rule.affected) if rule.affected is not None else ():
        if isinstance(leaf, ValueIs) and leaf.fact == "plan.code_uses":
            yield from (f"{found[1]}({found[2]})" for use in leaf.values if (found := _ARGUMENT.fullmatch(str(use))))


def differences(rule: Rule) -> Iterator[str]:
    """One line for every name of which the rule and the atlas say something else."""
    if rule.condition is None or rule.withdrawn is not None:
        return
    for name in dict.fromkeys(names_missing(rule)):
        told = answer(name)
        ranges = _ranges(rule, "" if told is None else told.package)
        if told is None or not ranges:
            continue
        if there := [one for one in _releases(told, told.there) if _within(one, ranges)]:
            yield f"{rule.id}: {name} is there in {_shown(there)}, which the rule accuses"
        if passed := [one for one in _releases(told, told.gone) if not _within(one, ranges)]:
            yield f"{rule.id}: {name} is not there in {_shown(passed)}, which the rule passes by"
        if offered := _offered(rule, told):
            yield f"{rule.id}: {name} is not there in {_shown(offered)}, which a cure offers"
    for name in dict.fromkeys(arguments_named(rule)):
        told = answer(name)
        ranges = _ranges(rule, "" if told is None else told.package)
        if told is None or not ranges or not told.there or not told.gone:
            continue
        there, gone = ([one for one in _releases(told, mask) if _within(one, ranges)] for mask in (told.there, told.gone))
        if there and gone:
            yield f"{rule.id}: {name} is taken in {_shown(there)} and not in {_shown(gone)}, all of which the rule accuses"


def loose_claims(rule: Rule, path: Path) -> Iterator[str]:
    """The claims about a package that the condition accuses at which none of its ranges begins or ends."""
    for claim in boundaries_of(read_toml(path)):
        ranges, bound = _ranges(rule, claim.package), open_package(claim.package)
        if not ranges or bound is None or claim.release() not in bound.volume.releases:
            continue
        other = claim.neighbour(bound.volume.releases)
        if other is not None and not any(one.admits(exact(claim.release())) != one.admits(exact(other)) for one in ranges):
            yield f"{rule.id}: no range begins or ends at {claim}"


def _ranges(rule: Rule, package: str) -> list[VersionCondition]:
    leaves = () if rule.affected is None else accused(rule.affected)
    return [leaf.version for leaf in leaves if isinstance(leaf, PackageIs) and leaf.package == package and leaf.version is not None]


def _within(release: str, ranges: Sequence[VersionCondition]) -> bool:
    return any(one.admits(exact(release)) for one in ranges)


def _releases(told: Answer, mask: int) -> list[str]:
    bound = open_package(told.package)
    return [] if bound is None else [release for place, release in enumerate(bound.volume.releases) if mask >> place & 1]


def _offered(rule: Rule, told: Answer) -> list[str]:
    """Releases of the package without the name that lie in a cure's range, but for yanked ones."""
    wanted = [version_condition(fix.pins[told.package]) for fix in rule.fixes if told.package in fix.pins]
    return [one for one in _releases(told, told.gone) if _within(one, wanted) and not yanked(told.package, one)]


def _shown(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]} ({len(releases)})"


def main() -> int:
    """Print the differences; the status is 0, since a reader decides what they mean."""
    for path in sorted(RULES.rglob("*.toml")):
        rule = parse_rule(read_toml(path), str(path))
        for line in (*differences(rule), *loose_claims(rule, path)):
            sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
