"""The smallest set of exact pins under which no rule matches any more.

A rule is an incompatibility: terms that must not all hold; making one false clears it. Releases of a
package between which no rule and no check tells a difference are one candidate, the nearest of them, so
that the search stays exact and small. Every candidate set is judged by *all* rules: a pin that clears one
finding and brings another is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from envdoctor.checks.hit import Hit
from envdoctor.conditions import Condition, Known, PackageIs, evaluate, leaves
from envdoctor.defaults import derive
from envdoctor.diagnosis import Finding
from envdoctor.facts import Facts
from envdoctor.remedies.candidates import distance, installable, moved, pinned
from envdoctor.rules import Rule
from envdoctor.versions import Exact, Ranged, VersionCondition, version_condition

MOST_CHANGES = 3
_MOST_SETS = 4000


@dataclass(frozen=True, slots=True)
class Remedy:
    """The pins that clear the findings named in ``clears``; what no pin clears is ``unfixable``."""

    pins: Mapping[str, str]
    clears: tuple[str, ...]
    unfixable: tuple[str, ...]
    verified: str = "none"


@dataclass(frozen=True, slots=True)
class Problem:
    """What the search needs to judge a candidate: stated facts (not derived ones), rules and checks."""

    stated: Facts
    rules: Sequence[Rule]
    checks: Sequence[Callable[[Facts], tuple[Hit, ...]]]
    known: Known


def find_remedy(problem: Problem, findings: Iterable[Finding]) -> Remedy:
    """The fewest changed packages, then the nearest releases, that clear the most findings.

    Only decided errors and warnings are to be cleared. A set under which another rule matches, or
    becomes possible that was not, is refused.
    """
    wanted = {f.rule.id: f for f in findings if f.status in ("matched", "confirmed") and f.severity != "note"}
    before = _verdicts(problem, derive(problem.stated), problem.rules)
    clearable = {name for name in wanted if name in before}
    packages = _movable(problem, [wanted[name] for name in sorted(clearable)])
    best: tuple[int, Mapping[str, Exact], frozenset[str]] = (0, {}, frozenset())
    for size in range(1, min(MOST_CHANGES, len(packages)) + 1):
        for chosen in _by_distance(problem, combinations(packages, size)):
            cleared = _cleared(problem, chosen, before, clearable)
            if cleared is not None and len(cleared) > best[0]:
                best = (len(cleared), chosen, frozenset(cleared))
                if len(cleared) == len(clearable):
                    break
        if best[0] == len(clearable):
            break
    pins = {name: pinned(name, release, problem.stated) for name, release in sorted(best[1].items())}
    return Remedy(pins, tuple(sorted(best[2])), tuple(sorted(set(wanted) - best[2])))


def _movable(problem: Problem, findings: Iterable[Finding]) -> list[str]:
    """The packages that the findings accuse, whose version is known and whose releases are bundled."""
    names = dict.fromkeys(name for finding in findings for name in (*finding.packages, *(pin for pin, _ in finding.pins)))
    return [name for name in names if isinstance(problem.stated.value(f"packages.{name}"), (Exact, Ranged)) and installable(name, problem.stated)]


def _by_distance(problem: Problem, groups: Iterable[tuple[str, ...]]) -> Iterator[Mapping[str, Exact]]:
    sets: list[tuple[int, int, Mapping[str, Exact]]] = []
    for group in groups:
        choices = [_choices(problem, name) for name in group]
        for picked in product(*choices):
            total = sum(step for step, _ in picked)
            sets.append((total, len(sets), dict(zip(group, (release for _, release in picked), strict=True))))
    sets.sort(key=lambda entry: entry[:2])
    return (chosen for _, _, chosen in sets[:_MOST_SETS])


def _choices(problem: Problem, package: str) -> list[tuple[int, Exact]]:
    """One release for each way in which the rules see this package: the nearest, ties to the later one."""
    known = installable(package, problem.stated)
    value = problem.stated.value(f"packages.{package}")
    current = value if isinstance(value, Exact) else None
    seen_by = _seen_by(problem.rules, package)
    nearest: dict[tuple[bool, ...], tuple[int, Exact]] = {}
    for release in reversed(known):
        if current is not None and release.key == current.key:
            continue
        step = distance(release, current, known) if current else len(known) - known.index(release)
        view = tuple(condition.admits(release) for condition in seen_by)
        if view not in nearest or step < nearest[view][0]:
            nearest[view] = (step, release)
    return sorted(nearest.values(), key=lambda entry: entry[0])


# The releases at which a default that decides rules changes (envdoctor.defaults): they tell candidates apart too.
_DEFAULTS_CHANGE = {
    "transformers": ("<=4.48.3", "<4.50", "<4.54", "<5"),
    "torch": ("<2.1.1", "<2.8"),
}


def _seen_by(rules: Iterable[Rule], package: str) -> list[VersionCondition]:
    texts = dict.fromkeys(
        leaf.version.text for rule in rules for leaf in _leaves(rule.condition) if isinstance(leaf, PackageIs) and leaf.package == package
    )
    if package == "torch":
        texts.update(dict.fromkeys(f"<2.{minor}" for minor in range(30)))
    return [version_condition(text) for text in (*texts, *_DEFAULTS_CHANGE.get(package, ()))]


def _leaves(condition: Condition | None) -> tuple[object, ...]:
    return () if condition is None else leaves(condition)


def _verdicts(problem: Problem, facts: Facts, rules: Iterable[Rule]) -> dict[str, bool | None]:
    """Every rule and check that holds (True) or may hold (None)."""
    found: dict[str, bool | None] = {}
    for rule in rules:
        if rule.condition is not None and rule.withdrawn is None:
            outcome = evaluate(rule.condition, facts, problem.known)
            if outcome is not False:
                found[rule.id] = outcome
    for check in problem.checks:
        found.update((hit.rule, hit.outcome) for hit in check(facts) if hit.outcome is not False)
    return found


def _cleared(problem: Problem, chosen: Mapping[str, Exact], before: Mapping[str, bool | None], clearable: set[str]) -> set[str] | None:
    """What the set clears; None when it brings something that was not there."""
    facts = derive(moved(problem.stated, chosen))
    after = _verdicts(problem, facts, problem.rules)
    if any(outcome is True and before.get(name) is not True for name, outcome in after.items()):
        return None
    if any(name not in before for name in after):
        return None
    return {name for name in clearable if name not in after}

