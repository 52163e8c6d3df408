"""Which rules there are, and what each looks at: read once for all situations of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.facts.versions import VersionCondition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.records import dataclass
from envdoctor.rules.conditions import PackageIs, ValueIs, leaves
from envdoctor.rules.outlines import Outlines
from envdoctor.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """The rules that can hold, by id; the facts that each names, its conditions on each package, and the rules that name each fact.

    ``spared`` are, of each rule that has any, the names of what must be loaded for it to hold.
    """

    rules: Mapping[str, Rule]
    facts: Mapping[str, frozenset[str]]
    conditions: Mapping[str, Mapping[str, tuple[VersionCondition, ...]]]
    naming: Mapping[str, Sequence[str]]
    spared: Mapping[str, frozenset[str]]


_INDEXED: list[tuple[Sequence[Rule], RuleIndex]] = []


def index_of(rules: Sequence[Rule]) -> RuleIndex:
    """The index of rules; the last one is kept, because the situations of a run are all judged by the same rules."""
    if _INDEXED and _INDEXED[0][0] is rules and isinstance(rules, (tuple, Outlines)):
        return _INDEXED[0][1]
    found = {rule.id: rule for rule in rules if rule.condition is not None and rule.withdrawn is None}
    facts: dict[str, frozenset[str]] = {}
    conditions: dict[str, dict[str, tuple[VersionCondition, ...]]] = {}
    naming: dict[str, list[str]] = {}
    spared: dict[str, frozenset[str]] = {}
    for rule in found.values():
        assert rule.condition is not None
        named = leaves(rule.condition)
        facts[rule.id] = frozenset(leaf.fact for leaf in named)
        if NOT_LOADED in facts[rule.id]:
            asked = (leaf.values for leaf in named if isinstance(leaf, ValueIs) and leaf.fact == NOT_LOADED)
            spared[rule.id] = frozenset(str(name) for names in asked for name in names)
        for fact in facts[rule.id]:
            naming.setdefault(fact, []).append(rule.id)
        seen = conditions.setdefault(rule.id, {})
        for leaf in named:
            if isinstance(leaf, PackageIs):
                seen[leaf.package] = (*seen.get(leaf.package, ()), leaf.version)
    index = RuleIndex(found, facts, conditions, naming, spared)
    _INDEXED[:] = [(rules, index)]
    return index


__all__ = ["RuleIndex", "index_of"]
