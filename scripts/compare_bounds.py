"""Where a rule's range of releases and the atlas differ: the names that its symptoms say are missing, release by release.

``python scripts/compare_bounds.py`` prints one line for every rule and name that differ: releases that the rule accuses and that have the
name, and releases without it that it passes by. The text of a rule may give the reason (another rule tells those, nothing reaches it).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from envdoctor.atlas.answers import answer
from envdoctor.atlas.shelf import open_package
from envdoctor.facts.versions import exact
from envdoctor.rules.conditions import PackageIs, accused
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook

_SAID = (
    (re.compile(r"cannot import name '(\w+)' from '([\w.]+)'"), "{1}:{0}"),
    (re.compile(r"module '([\w.]+)' has no attribute '(\w+)'"), "{0}:{1}"),
    (re.compile(r"No module named '(\w+(?:\.\w+)+)'"), "{0}"),
)


def names_missing(rule: Rule) -> Iterator[str]:
    """What the symptoms of a rule say is not there, as the atlas names it."""
    for symptom in rule.symptoms:
        for pattern, form in _SAID:
            yield from (form.format(*found.groups()) for found in pattern.finditer(symptom))


def differences(rule: Rule) -> Iterator[str]:
    """One line for every name of which the rule and the atlas say something else."""
    if rule.condition is None or rule.withdrawn is not None:
        return
    for name in dict.fromkeys(names_missing(rule)):
        told = answer(name)
        bound = None if told is None else open_package(told.package)
        ranges = [leaf.version for leaf in accused(rule.condition) if isinstance(leaf, PackageIs) and told and leaf.package == told.package]
        if told is None or bound is None or not ranges:
            continue
        rows = [(release, any(one.admits(exact(release)) for one in ranges)) for release in bound.volume.releases]
        there = [one for place, (one, admitted) in enumerate(rows) if admitted and told.there >> place & 1]
        passed = [one for place, (one, admitted) in enumerate(rows) if not admitted and told.gone >> place & 1]
        if there:
            yield f"{rule.id}: {name} is there in {_shown(there)}, which the rule accuses"
        if passed:
            yield f"{rule.id}: {name} is not there in {_shown(passed)}, which the rule passes by"


def _shown(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]} ({len(releases)})"


def main() -> int:
    """Print the differences; the status is 0, since a reader decides what they mean."""
    for rule in load_rulebook().rules:
        for line in differences(rule):
            sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
