"""What rules, checks and requirements say of a set of changes; each rule is asked once for what it can see of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import SWAYED, bounds, derive
from envdoctor.engine.diagnosis import diagnose
from envdoctor.engine.outcomes import Outcomes, View
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.loaded_with import loaded_with
from envdoctor.facts.versions import Exact, Ranged, exact
from envdoctor.facts.vocabulary import UNREAD
from envdoctor.records import dataclass
from envdoctor.remedies.agreement import Clash
from envdoctor.remedies.candidates import moved
from envdoctor.remedies.rule_index import index_of
from envdoctor.remedies.universe import FAMILY, Option, Problem, State, Universe, packages_of, split
from envdoctor.rules.rule import Rule

# Facts that a release decides beside those in SWAYED: peft's default, and one that needs transformers to be a known release.
_DECIDES = {
    "transformers": SWAYED["transformers"] | {"plan.optimizer_eps"},
    "torch": SWAYED["torch"],
    "peft": frozenset(("plan.autocast_adapter_dtype",)),
}
_BOUNDS = {"peft": ("<0.12",), "torch": tuple(f"<2.{minor}" for minor in range(30))}
# Whether this one is pinned says whether anything is quantized.
_QUANTIZES = ("bitsandbytes", "plan.quant")
_UNTOLD = Origin("to be moved")
_NOBODY: frozenset[str] = frozenset()


# Rules that look at the same packages: those packages, the rules, and which of them any options of the packages bring, by number.
_Alike: TypeAlias = "tuple[tuple[str, ...], list[str], dict[tuple[int, ...], list[str]]]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule comes to; ``told`` says of an undecided one that a report would raise it.

    ``by_day`` says that this turned on more than the rule sees: on the days of releases.
    """

    held: bool | None
    told: bool = False
    by_day: bool = False


class Verdicts:
    """The verdicts of one problem under any set of changes.

    ``added`` are packages that are not there and may come. Without ``strict`` what is merely possible is not counted against a set.
    """

    def __init__(self, problem: Problem, universe: Universe, added: Iterable[str] = (), *, strict: bool = True) -> None:
        self._problem, self.universe, self.strict = problem, universe, strict
        self._outcomes = problem.outcomes or Outcomes(problem.known)
        self.base = derive(problem.stated)
        self.agreement, self._listing = universe.memory.agreement, universe.listing
        self.movable = universe.movable | frozenset(added)
        self._bounds = {**_BOUNDS, **{name: (*_BOUNDS.get(name, ()), *texts) for name, texts in bounds(self.base).items()}}
        self._loads = [row for row in loaded_with(problem.stated) if row.package in self.movable]
        for row in self._loads:
            self._bounds[row.package] = (*self._bounds.get(row.package, ()), row.releases)
        self._index = index_of(problem.rules)
        self._views: dict[frozenset[int], View] = {}
        self._kept: dict[str, dict[tuple[int, ...], Outcome]] = {}
        self._values: dict[tuple[int, int], Exact] = {}
        self._stated = {name: value for name in universe.present if (value := universe.value(name)) is not None}
        self._looks: dict[str, dict[int, int]] = {}
        self._codes: dict[tuple[str, str], tuple[int, ...] | None] = {}
        self._swayed: dict[str, frozenset[str]] = {}
        self._by_default: dict[str, frozenset[str]] = {}
        self._hits: dict[frozenset[int], tuple[Hit, ...]] = {}
        self.live: dict[str, tuple[str, ...]] = {}
        self.rules_of: dict[str, list[str]] = {}
        self.joint_of: dict[str, list[str]] = {}
        self.alone_of: dict[str, list[str]] = {}
        self._groups: dict[str, list[_Alike]] = {}
        self._labelled = frozenset(name for name, value in self._stated.items() if "+" in value.text)
        self._find_live()
        self.before = {name: self.outcome(name, {}) for name in self.live}
        self._asking = self._who_asks()
        self.clashes_before = frozenset(self.agreement.clashes(self.values({})))
        self.hits_before = self.hits({})

    def _find_live(self) -> None:
        """The rules whose outcome a change can decide, each with the packages that it looks at, in any way."""
        open_facts = self._with_unknown_packages()
        view = self._outcomes.of(open_facts)
        for name, rule in self._index.rules.items():
            assert rule.condition is not None
            seen = self._looks_at(name)
            # Learning a fact never overturns a decided outcome: what is decided without these packages stays so.
            loading = self._loading(name)
            if not seen or not (loading or view.judged(rule.condition)[0] is None):
                continue
            self.live[name], self._kept[name], self._looks[name] = seen, {}, {}
            swayed = loading | {package for package in seen if not self._index.facts[name].isdisjoint(self._sways(package))}
            if swayed:
                self._by_default[name] = swayed
            for package in seen:
                self.rules_of.setdefault(package, []).append(name)
                (self.joint_of if len(seen) > 1 else self.alone_of).setdefault(package, []).append(name)

    def _with_unknown_packages(self) -> Facts:
        names = {f"packages.{package}" for package in self.movable}
        names |= {fact for package in self.movable for fact in self._sways(package)}
        return self.base.with_facts(Fact(name, NotUnderstood("?"), _UNTOLD) for name in names)

    def _sways(self, package: str) -> frozenset[str]:
        """The facts that a release of the package decides in this situation."""
        found = self._swayed.get(package)
        if found is None:
            stated, told = self._problem.stated, _DECIDES.get(package, frozenset())
            found = frozenset(fact for fact in told if fact == "cuda" or fact not in stated or stated.value(fact) == "auto")
            self._swayed[package] = found
        return found

    def _loading(self, name: str) -> frozenset[str]:
        """The packages of which a release loads what the rule waits for, and another does not."""
        waits = self._index.spared.get(name, _NOBODY)
        return frozenset(row.package for row in self._loads if row.name in waits)

    def _looks_at(self, name: str) -> tuple[str, ...]:
        facts = self._index.facts[name]
        seen = {package for package in packages_of(facts) if package in self.movable}
        seen |= self._loading(name)
        seen |= {package for package in _DECIDES if package in self.movable and not facts.isdisjoint(self._sways(package))}
        package, fact = _QUANTIZES
        if fact in facts and package in self.movable and not isinstance(self.universe.value(package), Exact):
            seen.add(package)
        return tuple(sorted(seen))

    def view(self, state: State) -> View:
        key = frozenset(option.number for option in state.values())
        found = self._views.get(key)
        if found is None:
            pins, removes = split(state)
            facts = derive(moved(self._problem.stated, pins, removes)) if state else self.base
            found = self._views[key] = self._outcomes.of(facts)
        return found

    def outcome(self, name: str, state: State) -> Outcome:
        """What a rule comes to under the changes."""
        kept, packages = self._kept[name], self.live[name]
        key = tuple([self._class(name, state[package]) if package in state else 0 for package in packages])
        found = kept.get(key)
        if found is None:
            found = kept[key] = self._judge(name, state)
        if found.by_day and name in self._by_default:  # then each release is asked about by itself
            key = (1, *[self.look(name, state[package]) if package in state else 0 for package in packages])
            found = kept.get(key)
            if found is None:
                found = kept[key] = self._judge(name, state)
        return found

    def look_now(self, name: str, package: str) -> int | None:
        """A number for how a rule sees a package as it is; None where it looks at more than one version of it."""
        value = self.universe.value(package)
        return self._seen(name, package, value) if isinstance(value, Exact) and not self._sways_rule(name, package) else None

    def look(self, name: str, option: Option) -> int:
        """A number for how a rule sees an option: the same for those that it cannot tell apart; another one where it looks at defaults."""
        return option.number if self._sways_rule(name, option.package) else self._class(name, option)

    def _sways_rule(self, name: str, package: str) -> bool:
        swayed = self._by_default.get(name)
        return swayed is not None and package in swayed

    def _class(self, name: str, option: Option) -> int:
        """A number for what a rule and the defaults that it looks at see of an option."""
        classes = self._looks[name]
        found = classes.get(option.number)
        if found is None:
            seen = None if option.release is None else self._seen(name, option.package, self.value(option, {}))
            # Numbers of options are above 0, those of views below.
            found = classes[option.number] = option.number if seen is None else seen
        return found

    def _seen(self, name: str, package: str, value: Exact) -> int | None:
        """How the conditions of a rule see a version, and those of defaults where it looks at them; None where they do not tell all."""
        codes = self._codes_of(name, package)
        if codes is None:
            return None
        place = self._listing.places(package).get(value.text)
        if place is not None:
            return -1 - codes[place]
        if self._sways_rule(name, package):
            return None
        code = 0
        for condition in self._index.conditions[name][package]:
            code = 2 * code + condition.admits(value)
        return -1 - code

    def _codes_of(self, name: str, package: str) -> tuple[int, ...] | None:
        """How a rule sees every release; None where it looks at the package in another way."""
        key = (name, package)
        if key not in self._codes:
            texts = [condition.text for condition in self._index.conditions[name].get(package, ())]
            if self._sways_rule(name, package):
                texts += self._bounds.get(package, ())
            self._codes[key] = self._listing.codes(package, tuple(texts)) if texts else None
        return self._codes[key]

    def fitting(self, package: str, options: Sequence[Option]) -> list[Option]:
        """The options that bring no rule which looks at no other package; each rule is asked once for all that it cannot tell apart."""
        found = list(options)
        places = None if package in self._labelled else self._places_of(package, options)
        for name in self.alone_of.get(package, ()):
            before = self.before[name]
            if before.held or not found:
                continue
            codes = None if places is None else self._codes_of(name, package)
            if places is None or codes is None:
                classes = [self._class(name, option) for option in found]
            else:
                classes = [-1 - codes[places[option.number]] for option in found]
            first = dict(zip(reversed(classes), reversed(found), strict=True))
            harm = {one for one, option in first.items() if self.is_brought(name, {package: option})}
            if name in self._by_default and not before.told and any(self.outcome(name, {package: one}).by_day for one in first.values()):
                found = [option for option in found if not self.is_brought(name, {package: option})]
            elif harm:
                found = [option for option, one in zip(found, classes, strict=True) if one not in harm]
        return found

    def _places_of(self, package: str, options: Sequence[Option]) -> Mapping[int, int] | None:
        """By the number of an option the place of its release; None where some are not among those that can be installed."""
        places = self._listing.places(package)
        found = {one.number: places[one.release.text] for one in options if one.release is not None and one.release.text in places}
        return found if len(found) == len(options) else None

    def _judge(self, name: str, state: State) -> Outcome:
        seen = {package: state[package] for package in self.live[name] if package in state}
        rule, view = self._index.rules[name], self.view(seen)
        assert rule.condition is not None
        held, lacking = view.held(rule.condition)
        by_day = held is None and self.strict and not any(fact.startswith("packages.") for fact in lacking)
        return Outcome(held, by_day and self._is_told(rule, lacking, view), by_day)

    def _is_told(self, rule: Rule, lacking: tuple[str, ...], view: View) -> bool:
        """Whether a report would raise an undecided rule for the pins: a likely one that waits for no other package."""
        if any(fact.startswith("packages.") for fact in lacking):
            return False
        assert rule.condition is not None
        if not UNREAD.keys().isdisjoint(lacking):
            told = diagnose(view.facts, (rule,), self._problem.known, outcomes=self._outcomes).findings
            return any(finding.weight.likely for finding in told)
        if not view.speaks(rule.condition, lacking):
            return False
        weight = view.weigh(rule.condition, lacking)
        return weight.likely and not weight.blind

    def would_be_told(self, name: str, state: State) -> bool:
        """Whether an undecided rule would be told under the changes, also where that is not counted against them."""
        rule, view = self._index.rules[name], self.view(state)
        assert rule.condition is not None
        held, lacking = view.held(rule.condition)
        return held is None and self._is_told(rule, lacking, view)

    def is_brought(self, name: str, state: State) -> bool:
        """Whether a rule holds, or may hold and would be told, that did not."""
        before = self.before[name]
        if before.held:
            return False
        after = self.outcome(name, state)
        return after.held is True or (after.told and not before.told)

    def joins(self, package: str, state: State, before: Iterable[str]) -> list[str]:
        """The rules about several packages that a set of changes brings; ``before`` are those that it brought without this package."""
        kept = [name for name in before if package not in self.live[name]]
        found: list[str] = []
        for packages, names, known in self._alike(package):
            key = tuple([state[one].number if one in state else 0 for one in packages])
            some = known.get(key)
            if some is None:
                some = known[key] = [name for name in names if self.is_brought(name, state)]
            found += some
        return kept + ([name for name in self.joint_of[package] if name in found] if found else [])

    def _alike(self, package: str) -> list[_Alike]:
        """The rules about a package and others that may come, by the packages that they look at, with what is known of each group."""
        groups = self._groups.get(package)
        if groups is None:
            by_live: dict[tuple[str, ...], list[str]] = {}
            for name in self.joint_of.get(package, ()):
                if not self.before[name].held:
                    by_live.setdefault(self.live[name], []).append(name)
            groups = self._groups[package] = [(packages, names, {}) for packages, names in by_live.items()]
        return groups

    def brought(self, state: State) -> list[str]:
        """The rules about several packages that a set of changes brings."""
        touched = dict.fromkeys(name for package in state for name in self.joint_of.get(package, ()))
        return [name for name in touched if self.is_brought(name, state)]

    def values(self, state: State) -> dict[str, Exact | Ranged]:
        """The versions that are there under the changes."""
        found = dict(self._stated)
        for name, option in state.items():
            if option.release is None:
                found.pop(name, None)
            else:
                found[name] = self.value(option, state)
        return found

    def value(self, option: Option, state: State) -> Exact:
        """The version that an option comes to, with the label of its build."""
        key = (option.number, state[FAMILY[0]].number if option.package in FAMILY[1:] and FAMILY[0] in state else 0)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = exact(self.universe.pin(option, state).removeprefix("=="))
        return found

    def clashes(self, state: State) -> list[Clash]:
        """The packages that no longer admit each other; of those that did not before, and are of one family, the ones that move."""
        return [clash for clash in self.all_clashes(state) if self.is_new(clash, state)]

    def is_new(self, clash: Clash, state: State) -> bool:
        """Whether a clash counts against the changes, and not as one that was there before."""
        if clash not in self.clashes_before or (self.strict and clash[0] in state and not clash[2]):
            return True  # a release that is moved to is to find what it requires, even where the one before it did not
        return clash[0] in FAMILY and clash[1] in FAMILY and (clash[0] in state or clash[1] in state)

    def all_clashes(self, state: State, package: str = "", before: Sequence[Clash] = ()) -> list[Clash]:
        """All packages that do not admit each other; with ``package``, ``before`` are those without the change of this one."""
        values = self.values(state)
        gone = [name for name, option in state.items() if option.release is None]
        if package and not gone:
            kept = [clash for clash in before if package not in clash]
            return kept + list(dict.fromkeys(self.agreement.about(package, values, self._near(package, state, values))))
        found = list(self.agreement.clashes(values))
        for name, value in values.items():
            if gone and isinstance(value, Exact):
                found += [(name, other, "") for other in gone if other in self.agreement.demands(name, value)]
        return found

    def _near(self, package: str, state: State, values: Mapping[str, Exact | Ranged]) -> list[str]:
        """The packages that may clash with one: all but those of which it requires nothing, and which require nothing of it."""
        value = values.get(package)
        if not isinstance(value, Exact):
            return list(values)
        mine = self.agreement.demands(package, value)
        near = {*state, *mine, *self._asking.get(package, ()), *self._asking[""]}
        for third in mine:
            if not isinstance(values.get(third), Exact):
                near |= self._asking.get(third, _NOBODY)
        return [name for name in values if name in near]

    def _who_asks(self) -> dict[str, set[str]]:
        """By package, who requires something of it as things are; under the empty name those of which no one release is stated."""
        found: dict[str, set[str]] = {"": set()}
        for name, value in self._stated.items():
            for other in self.agreement.demands(name, value) if isinstance(value, Exact) else ("",):
                found.setdefault(other, set()).add(name)
        return found

    def hits(self, state: State) -> tuple[Hit, ...]:
        """Every check that holds or may hold under the changes."""
        key = frozenset(option.number for option in state.values())
        found = self._hits.get(key)
        if found is None:
            facts = self.view(state).facts
            found = self._hits[key] = tuple(hit for check in self._problem.checks for hit in check(facts) if hit.outcome is not False)
        return found

    def brought_hits(self, state: State) -> list[Hit]:
        """What checks find under the changes and did not before."""
        return [
            hit
            for hit in self.hits(state)
            if not any(alike(hit, other) and (other.outcome or not hit.outcome) for other in self.hits_before)
        ]

    def conditions_on(self, package: str, rules: Iterable[str]) -> list[str]:
        """The texts of the conditions under which rules look at a package, without repeats."""
        texts = dict.fromkeys(one.text for name in rules for one in self._index.conditions[name].get(package, ()))
        return [*texts, *self._bounds.get(package, ())]


def alike(hit: Hit, other: Hit) -> bool:
    """Whether two hits are one: the same rule about the same packages, or some of them."""
    mine, theirs = set(hit.packages), set(other.packages)
    return hit.rule == other.rule and (mine <= theirs or theirs <= mine)


__all__ = ["Outcome", "Verdicts", "alike"]
