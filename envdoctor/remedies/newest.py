"""The other end of an open fix: where a rule's fix says ``>=0.14.4``, the newest release that nothing speaks against.

The nearest release is the smallest step. Whoever moves a pin by hand most often takes the newest: it is offered beside, once it was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding
from envdoctor.engine.outcomes import Outcomes, View
from envdoctor.facts.fact import Fact, Facts
from envdoctor.facts.versions import Exact, VersionCondition, version_condition
from envdoctor.remedies.candidates import installable, moved, pinned
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.rule_index import index_of
from envdoctor.rules.conditions import Condition
from envdoctor.rules.rule import Rule

_Held: TypeAlias = "tuple[str, tuple[str, ...]]"
"""The rule of a check that holds, with the packages which it is told of."""

NOTE = "the newest release that nothing speaks against"
_MOST_TRIED = 3


class Newest:
    """Judges the newest releases for the findings of one situation."""

    def __init__(
        self, stated: Facts, rules: Sequence[Rule], checks: Sequence[Callable[[Facts], tuple[Hit, ...]]], outcomes: Outcomes
    ) -> None:
        self._stated, self._checks, self._outcomes = stated, checks, outcomes
        self._rules = index_of(rules)
        self._base: View | None = None
        self._hits: frozenset[_Held] = frozenset()

    def cures(self, finding: Finding, told: Sequence[Cure]) -> Iterator[Cure]:
        """Pins to the newest releases, of every package that a pin of the fixes moves alone and of which a fix is open above.

        None where that is told already, or where every one of the newest releases has a rule or a check against it.
        """
        ranges = (*finding.pins, *(pin for fix in finding.rule.fixes if len(fix.pins) == 1 for pin in fix.pins.items()))
        for package in dict.fromkeys(name for cure in told if len(cure.pins) == 1 for name in cure.pins):
            found = self._newest(package, [version_condition(spec) for name, spec in ranges if name == package], finding)
            if found is not None and all(dict(cure.pins) != {package: found} for cure in told):
                yield Cure("pin", NOTE, {package: found}, {})

    def _newest(self, package: str, wanted: Sequence[VersionCondition], finding: Finding) -> str | None:
        known = installable(package, self._stated)
        if not known or not any(one.admits(known[-1]) for one in wanted):
            return None
        fitting = (release for release in reversed(known[-_MOST_TRIED:]) if any(one.admits(release) for one in wanted))
        release = next((one for one in fitting if self._is_clean(package, one, finding)), None)
        return None if release is None else pinned(package, release, self._stated)

    def _is_clean(self, package: str, release: Exact, finding: Finding) -> bool:
        if self._base is None:
            self._base = self._outcomes.of(derive(self._stated))
            self._hits = self._held(self._base.facts)
        view = self._outcomes.of(derive(moved(self._stated, {package: release})))
        condition = finding.rule.condition
        # A finding that is only possible was not held before either: it has to be ruled out.
        if condition is not None and view.held(condition)[0] is not False:
            return False
        if any(view.held(one)[0] and not self._base.held(one)[0] for one in self._touched(self._base.facts, view.facts)):
            return False
        after = self._held(view.facts)
        about = {package, *finding.packages}
        stands = any(rule == finding.rule.id and (not packages or about & {*packages}) for rule, packages in after)
        return not stands and after <= self._hits

    def _touched(self, before: Facts, after: Facts) -> Iterator[Condition]:
        """The conditions of the rules that name a fact which is another one now: what the others come to, they came to before."""
        changed = [name for name in {*before, *after} if name not in before or name not in after or not _alike(before[name], after[name])]
        for name in {rule: None for fact in changed for rule in self._rules.naming.get(fact, ())}:
            rule = self._rules.rules[name]
            if rule.condition is not None and rule.severity != "note":
                yield rule.condition

    def _held(self, facts: Facts) -> frozenset[_Held]:
        return frozenset((hit.rule, hit.packages) for check in self._checks for hit in check(facts) if hit.outcome)


def _alike(fact: Fact, other: Fact) -> bool:
    # True is 1 and 1.0, and not the same value.
    return type(fact.value) is type(other.value) and fact.value == other.value


__all__ = ["NOTE", "Newest"]
