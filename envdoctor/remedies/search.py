"""The smallest set of exact pins under which no rule matches any more.

A rule is an incompatibility: terms that must not all hold; making one false clears it. So the search
branches only over the packages of a rule that stands in the way, first one that is to be cleared, then one
that a pin has brought. Releases of a package between which no rule, no check and no default tells a
difference are one candidate, the nearest of them. Both keep the search exact and small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from envdoctor.checks.hit import Hit
from envdoctor.conditions import Condition, Known, PackageIs, leaves
from envdoctor.defaults import SWAYED, bounds, derive
from envdoctor.diagnosis import Finding, Outcomes, View
from envdoctor.facts import Facts
from envdoctor.remedies.candidates import distances, installable, moved, pinned
from envdoctor.remedies.remedy import Remedy
from envdoctor.rules import Rule
from envdoctor.versions import Exact, Ranged, VersionCondition, version_condition

MOST_CHANGES = 3
# New sets judged for one goal, some tenths of a millisecond each: what is not found by then counts as not to be had.
_MOST_JUDGED = 300
# Above this, findings are added one by one and not every subset of them is tried.
_MOST_SUBSETS = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """What the search needs to judge a candidate: stated facts (not derived ones), rules and checks."""

    stated: Facts
    rules: Sequence[Rule]
    checks: Sequence[Callable[[Facts], tuple[Hit, ...]]]
    known: Known
    outcomes: Outcomes | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate release of a package; ``step`` is its distance in releases from the current one."""

    step: int
    release: Exact


@dataclass(frozen=True, slots=True)
class Plan:
    """A set of pins under which a goal is cleared and nothing is brought."""

    pins: Mapping[str, Exact]
    steps: int

    def cost(self) -> tuple[int, int]:
        return len(self.pins), self.steps


def find_remedy(problem: Problem, findings: Iterable[Finding]) -> Remedy:
    """The fewest changed packages, then the nearest releases, that clear the most findings.

    Only decided errors and warnings are to be cleared. A set under which another rule matches is refused,
    and, where there is another way, one under which a rule becomes possible that was not.
    """
    wanted = {f.rule.id: f for f in findings if f.status in ("matched", "confirmed") and f.severity != "note"}
    search = Search(problem, wanted.values())
    plan = search.best(sorted(name for name in wanted if name in search.before))
    if plan is None:
        # Better a cure with a possible other fault, which the next check tells of, than none.
        search = Search(problem, wanted.values(), strict=False)
        plan = search.best(sorted(name for name in wanted if name in search.before))
    if plan is None:
        return Remedy({}, (), tuple(sorted(wanted)))
    after = {**search.judge(plan.pins), **search.hits(plan.pins)}
    cleared = {name for name in wanted if name in search.before and name not in after}
    pins = {name: pinned(name, release, problem.stated) for name, release in sorted(plan.pins.items())}
    return Remedy(pins, tuple(sorted(cleared)), tuple(sorted(set(wanted) - cleared)))


Key: TypeAlias = "frozenset[tuple[str, str]]"


def _key(pins: Mapping[str, Exact]) -> Key:
    return frozenset((name, release.text) for name, release in pins.items())


def _same(release: Exact, current: Exact) -> bool:
    return release.text == current.text.partition("+")[0] or (release.key is not None and release.key == current.key)


@lru_cache(maxsize=256)
def _views(known: tuple[Exact, ...], seen_by: tuple[str, ...]) -> tuple[tuple[bool, ...], ...]:
    """Of every release, which of the conditions admit it."""
    conditions = [version_condition(text) for text in seen_by]
    return tuple(tuple(condition.admits(release) for condition in conditions) for release in known)


@dataclass(frozen=True, slots=True)
class _Index:
    """The rules that can hold, by id; the facts that each names, the rules that name a fact, and each one's ranges of a package."""

    rules: Mapping[str, Rule]
    facts_of: Mapping[str, frozenset[str]]
    rules_of: Mapping[str, Sequence[Rule]]
    conditions: Mapping[str, Mapping[str, Sequence[VersionCondition]]]


_INDEXED: list[tuple[Sequence[Rule], _Index]] = []


def _index(rules: Sequence[Rule]) -> _Index:
    """The index of rules; the last one is kept, because the situations of a run are all judged by the same rules."""
    if _INDEXED and _INDEXED[0][0] is rules and isinstance(rules, tuple):
        return _INDEXED[0][1]
    found = {rule.id: rule for rule in rules if rule.condition is not None and rule.withdrawn is None}
    facts_of: dict[str, frozenset[str]] = {}
    rules_of: dict[str, list[Rule]] = {}
    conditions: dict[str, dict[str, list[VersionCondition]]] = {}
    for rule in found.values():
        assert rule.condition is not None
        named = leaves(rule.condition)
        facts_of[rule.id] = frozenset(leaf.fact for leaf in named)
        for fact in facts_of[rule.id]:
            rules_of.setdefault(fact, []).append(rule)
        for leaf in named:
            if isinstance(leaf, PackageIs):
                conditions.setdefault(leaf.package, {}).setdefault(rule.id, []).append(leaf.version)
    index = _Index(found, facts_of, rules_of, conditions)
    _INDEXED[:] = [(rules, index)]
    return index


class Search:
    """The verdicts of one problem under any set of pins, and the cheapest set that reaches a goal.

    Without ``strict`` a set may bring what is merely possible.

    ``before`` has every rule and check that holds (True), or may hold and would be told (None), as things are.
    """

    def __init__(self, problem: Problem, findings: Iterable[Finding] = (), *, strict: bool = True) -> None:
        self._problem = problem
        self._strict = strict
        self._base = derive(problem.stated)
        index = _index(problem.rules)
        self._rules, self._facts_of, self._rules_of, self._conditions = index.rules, index.facts_of, index.rules_of, index.conditions
        self._outcomes = problem.outcomes or Outcomes(problem.known)
        self._accused = {finding.rule.id: (*finding.packages, *(name for name, _ in finding.pins)) for finding in findings}
        self._bounds = bounds(self._base)
        self._choices: dict[str, list[Choice]] = {}
        self._verdicts: dict[Key, dict[str, bool | None]] = {}
        self._found: dict[Key, dict[str, bool | None]] = {}
        self._budget = 0
        self._held: dict[str, bool | None] = {}
        self._held = self._evaluate(self._rules.values(), self._base)
        self.before: Mapping[str, bool | None] = {**self._held, **self.hits({})}

    def _evaluate(self, rules: Iterable[Rule], facts: Facts) -> dict[str, bool | None]:
        found: dict[str, bool | None] = {}
        view = self._outcomes.of(facts)
        for rule in rules:
            if rule.condition is None:
                continue
            outcome, lacking = view.judged(rule.condition)
            # What may hold counts where a report would say so, and where it is a finding to be cleared.
            if outcome or (outcome is None and (self._held.get(rule.id) or self._would_be_told(rule.condition, view, lacking))):
                found[rule.id] = outcome
        return found

    def _would_be_told(self, condition: Condition, view: View, lacking: tuple[str, ...]) -> bool:
        """Whether an undecided rule would be told of the pins: a likely one that waits for no other package."""
        if not self._strict or any(name.startswith("packages.") for name in lacking):
            return False
        return view.speaks(condition, lacking) and view.weigh(condition, lacking).likely

    def hits(self, pins: Mapping[str, Exact]) -> dict[str, bool | None]:
        """Every check that holds or may hold under the pins."""
        key = _key(pins)
        if key not in self._found:
            facts = derive(moved(self._problem.stated, pins))
            hits = [hit for check in self._problem.checks for hit in check(facts) if hit.outcome is not False]
            for hit in hits:
                self._accused.setdefault(hit.rule, (*hit.packages, *(name for name, _ in hit.pins)))
            self._found[key] = {hit.rule: hit.outcome for hit in hits}
        return self._found[key]

    def judge(self, pins: Mapping[str, Exact]) -> dict[str, bool | None]:
        """Every rule that holds or may hold under the pins."""
        key = _key(pins)
        if key not in self._verdicts:
            self._verdicts[key] = self._judged(pins)
        return self._verdicts[key]

    def _judged(self, pins: Mapping[str, Exact]) -> dict[str, bool | None]:
        facts = derive(moved(self._problem.stated, pins))
        changed = [name for name in {*facts, *self._base} if facts.value(name) != self._base.value(name)]
        touched = {rule.id: rule for name in changed for rule in self._rules_of.get(name, ())}
        kept = {name: outcome for name, outcome in self._held.items() if name not in touched}
        return {**kept, **self._evaluate(touched.values(), facts)}

    def best(self, goals: Sequence[str]) -> Plan | None:
        """The cheapest plan that clears all goals, else the most of them; None when none can be cleared."""
        alone = [goal for goal in goals if self.least([goal]) is not None]
        if len(alone) > _MOST_SUBSETS:
            return self._one_by_one(alone)
        for size in range(len(alone), 0, -1):
            plans = [plan for subset in combinations(alone, size) if (plan := self.least(subset)) is not None]
            if plans:
                return min(plans, key=Plan.cost)
        return None

    def _one_by_one(self, goals: Sequence[str]) -> Plan | None:
        kept: list[str] = []
        best: Plan | None = None
        for goal in goals:
            plan = self.least([*kept, goal])
            if plan is not None:
                kept, best = [*kept, goal], plan
        return best

    def least(self, goals: Sequence[str]) -> Plan | None:
        """The fewest changes, then the nearest releases, under which no goal is left and nothing is brought."""
        self._budget = len(self._verdicts) + _MOST_JUDGED
        for size in range(1, MOST_CHANGES + 1):
            plan = self._descend(goals, {}, 0, size, None, set())
            if plan is not None:
                return plan
        return None

    def _descend(
        self, goals: Sequence[str], pins: dict[str, Exact], steps: int, size: int, best: Plan | None, seen: set[Key]
    ) -> Plan | None:
        if _key(pins) in seen or len(self._verdicts) >= self._budget:
            return best
        seen.add(_key(pins))
        obstacle = self._obstacle(goals, pins)
        if obstacle is None:
            return Plan(dict(pins), steps)
        if len(pins) == size:
            return best
        for package in self._ways_out(obstacle, pins):
            for choice in self._useful(package, obstacle):
                if best is not None and steps + choice.step >= best.steps:
                    break
                best = self._descend(goals, {**pins, package: choice.release}, steps + choice.step, size, best, seen)
        return best

    def _obstacle(self, goals: Sequence[str], pins: Mapping[str, Exact]) -> str | None:
        """What is still to be cleared, else what was not there before; checks, which cost most, are asked last."""
        held = self.judge(pins)
        rules = [goal for goal in goals if goal in held]
        checks = [goal for goal in goals if goal not in self._rules]
        if rules or not checks:
            return next(iter(rules), None) or self._brought(held) or self._brought(self.hits(pins))
        hits = self.hits(pins)
        return next((goal for goal in checks if goal in hits), None) or self._brought(held) or self._brought(hits)

    def _brought(self, after: Mapping[str, bool | None]) -> str | None:
        before = self.before
        return min((name for name, outcome in after.items() if name not in before or (outcome is True and not before[name])), default=None)

    def _ways_out(self, name: str, pins: Mapping[str, Exact]) -> Iterator[str]:
        """The packages whose move may clear a rule: those it names, and those that decide a default that it looks at."""
        names = [*self._accused.get(name, ())]
        if name in self._facts_of:
            names += sorted(fact.removeprefix("packages.") for fact in self._facts_of[name] if fact.startswith("packages."))
            names += [package for package in SWAYED if self._sways(package, name)]
        elif any(package in pins for package in names):
            return  # a check accuses one package at a time: a second move clears what the first did not by chance alone
        for package in dict.fromkeys(names):
            if package not in pins and self._current(package) is not None and installable(package, self._problem.stated):
                yield package

    def _sways(self, package: str, name: str) -> bool:
        """Whether the rule looks at a default that the package decides."""
        swayed = SWAYED.get(package, frozenset()) & self._facts_of[name]
        return any(fact == "cuda" or fact not in self._problem.stated for fact in swayed)

    def _current(self, package: str) -> Exact | Ranged | None:
        value = self._problem.stated.value(f"packages.{package}")
        return value if isinstance(value, (Exact, Ranged)) else None

    def _useful(self, package: str, name: str) -> list[Choice]:
        """The candidates that the rule sees otherwise than the current release, nearest first."""
        choices = self._choices_of(package)
        current = self._current(package)
        if not isinstance(current, Exact) or name not in self._facts_of or self._sways(package, name):
            return choices
        seen_by = self._conditions.get(package, {}).get(name, [])
        view = [condition.admits(current) for condition in seen_by]
        return [choice for choice in choices if [condition.admits(choice.release) for condition in seen_by] != view]

    def _choices_of(self, package: str) -> list[Choice]:
        """One release for each way in which rules, checks and defaults see the package: the nearest, of two as near the later."""
        if package not in self._choices:
            known = installable(package, self._problem.stated)
            current = self._current(package)
            seen = dict(zip(known, _views(known, self._seen_by(package)), strict=True))
            nearest: dict[tuple[bool, ...], Choice] = {}
            ordered = sorted(zip(distances(current, known), reversed(range(len(known))), known, strict=True), key=lambda entry: entry[:2])
            for step, _, release in ordered:
                if isinstance(current, Exact) and _same(release, current):
                    continue
                nearest.setdefault(seen[release], Choice(step, release))
            self._choices[package] = list(nearest.values())
        return self._choices[package]

    def _seen_by(self, package: str) -> tuple[str, ...]:
        texts = dict.fromkeys(condition.text for conditions in self._conditions.get(package, {}).values() for condition in conditions)
        if package == "torch":  # checks and labels tell its minor releases apart
            texts.update(dict.fromkeys(f"<2.{minor}" for minor in range(30)))
        return (*texts, *self._bounds.get(package, ()))
