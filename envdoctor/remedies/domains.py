"""What each package may become, as few things as can be told apart: of releases that all look alike, the nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from envdoctor.facts.versions import Exact, version_condition
from envdoctor.remedies.goals import Goal, fix_specs
from envdoctor.remedies.installable import FAMILY
from envdoctor.remedies.universe import Option, Universe, named
from envdoctor.remedies.verdicts import Verdicts

_PARTS = "nvidia-"
Look: TypeAlias = "tuple[object, ...]"


class Domains:
    """The options of every package, found where the search first asks for them.

    Releases between which no rule, default, goal or requirement tells a difference are one; those are left out under which a rule that
    looks at no other package would hold. Nothing is lost: a set with the nearest of them is judged alike, and is nearer.
    """

    def __init__(
        self,
        universe: Universe,
        verdicts: Verdicts,
        goals: Sequence[Goal],
        adds: Mapping[str, Sequence[str]],
        removes: Iterable[str],
        floors: Mapping[str, Mapping[str, Exact]],
    ) -> None:
        self._universe, self._verdicts, self._goals = universe, verdicts, goals
        self._adds, self._removes = adds, frozenset(removes)
        self._floors = floors
        self._known: dict[str, tuple[Option, ...]] = {}
        self._asked: dict[str, dict[str, None]] | None = None
        self._shared: frozenset[str] = frozenset()

    def of(self, package: str) -> tuple[Option, ...]:
        """The options of a package, nearest first; none for one that cannot move."""
        found = self._known.get(package)
        if found is None:
            found = self._known[package] = self._find(package) if package in self._verdicts.movable else ()
        return found

    def _find(self, package: str) -> tuple[Option, ...]:
        raw = self._candidates(package)
        rules = self._verdicts.rules_of.get(package, [])
        alone = {*self._verdicts.alone_of.get(package, ())}
        wanted = [goal.name for goal in self._goals if goal.by == "rule"]
        specs = [spec for goal in self._goals for name, spec, _ in fix_specs(goal.finding) if name == package]
        needs = self._requirements(package, raw)
        nearest = self._merge(package, raw, needs, self._verdicts.conditions_on(package, rules) + specs)
        fitting = self._verdicts.fitting(package, nearest)
        shared = [name for name in rules if name not in alone or name in wanted]
        found = self._merge(package, fitting, needs, self._verdicts.conditions_on(package, shared) + specs)
        gone = [self._universe.option(package, None)] if package in self._removes else []
        return (*self._verdicts.fitting(package, self._builds(package)), *found, *self._verdicts.fitting(package, gone))

    def _candidates(self, package: str) -> list[Option]:
        # Findings that no change clears stay, whatever is chosen.
        staying = self._floors.keys() - {goal.name for goal in self._goals}
        lowest = [version_condition(f">={self._floors[name][package].text}") for name in staying if package in self._floors[name]]
        options = [one for one in self._universe.options(package) if one.release and all(floor.admits(one.release) for floor in lowest)]
        if package not in self._adds:
            return [one for one in options if self._is_meant(package, one.release)]
        wanted = [version_condition(spec) for spec in self._adds[package]]
        if self._universe.installable(package):
            return [one for one in options if one.release and any(spec.admits(one.release) for spec in wanted)]
        # The one release that a rule names of a package whose releases are not listed: its author has seen it.
        releases = [release for spec in self._adds[package] if (release := named(spec)) is not None]
        return [self._universe.option(package, release, 1, upward=True) for release in dict.fromkeys(releases)]

    def _is_meant(self, package: str, release: Exact | None) -> bool:
        """Whether a release is one of those that the rules name, where they name single ones of a part of CUDA: no other fits a torch, nor
        is a torch exchanged for a part of it."""
        told = [[*fix_specs(goal.finding)] for goal in self._goals]
        named_parts = [[spec for name, spec, _ in specs if name.startswith(_PARTS) and named(spec) is not None] for specs in told]
        if not told or not all(named_parts):
            return True
        if package in FAMILY:
            return False
        return not package.startswith(_PARTS) or any(named(spec) == release for specs in named_parts for spec in specs)

    def _builds(self, package: str) -> list[Option]:
        """Builds of releases for another CUDA that a check names: no list of releases tells them apart."""
        releases = [
            release
            for goal in self._goals
            for name, spec in goal.finding.pins
            if name == package and (release := named(spec)) is not None and "+" in release.text
        ]
        found = [self._universe.option(package, release) for release in dict.fromkeys(releases)]
        return [*found, *self._build_of_torch(package)]

    def _build_of_torch(self, package: str) -> list[Option]:
        """The release that is there of what is built for a torch, as it is built for this one: a goal may be about the build alone."""
        value, torch = (self._universe.value(name) for name in (package, FAMILY[0]))
        label = torch.text.partition("+")[2] if isinstance(torch, Exact) else ""
        if package not in FAMILY[1:] or not isinstance(value, Exact) or not label or "+" in value.text:
            return []
        if not any(goal.by == "rule" and package in goal.finding.rule.packages for goal in self._goals):
            return []
        built = self._universe.built(package, value.text, label)
        return [] if built is None else [built]

    def _merge(self, package: str, options: Sequence[Option], needs: Mapping[int, Look], texts: Sequence[str]) -> list[Option]:
        """The nearest options of every look, in every direction: those that no other one is nearer than in steps and days."""
        seen = self._views(package, dict.fromkeys(texts), options)
        nearest: dict[Look, tuple[int, int]] = {}
        kept = []
        for option, view in zip(options, seen, strict=True):
            look = (option.upward, view, needs[option.number])
            far = (option.step, option.days)
            before = nearest.get(look)
            if before is None or far == before or option.days < before[1]:
                nearest[look] = far
                kept.append(option)
        return kept

    def _views(self, package: str, texts: Iterable[str], options: Sequence[Option]) -> Sequence[object]:
        """Of every option, which of the conditions admit it."""
        listing = self._universe.listing
        places = listing.places(package)
        known = [places[one.release.text] for one in options if one.release is not None and one.release.text in places]
        if len(known) < len(options):
            conditions = [version_condition(text) for text in texts]
            return [tuple(condition.admits(one.release) for condition in conditions) for one in options if one.release is not None]
        classes = listing.classes(package, frozenset(listing.admitted(package, text) for text in texts))
        return [classes[place] for place in known]

    def _requirements(self, package: str, options: Sequence[Option]) -> dict[int, Look]:
        """What releases require of the packages at hand, and which of their requirements they satisfy; by the number of the option."""
        agreement = self._verdicts.agreement
        asked = self._asked_of()
        there = {*self._universe.present, *self._adds, *self._shared}
        met = self._views(package, asked.get(package, {}), options)
        sourced = self._sourced(package)
        mine: dict[int, object] = {}
        found: dict[int, Look] = {}
        for option, view in zip(options, met, strict=True):
            assert option.release is not None
            demands = agreement.demands(package, option.release)
            if id(demands) not in mine:
                mine[id(demands)] = tuple((name, specs) for name, specs in sorted(demands.items()) if name in there)
            found[option.number] = (mine[id(demands)], view, agreement.is_known(package, option.release) if sourced else None)
        return found

    def _sourced(self, package: str) -> bool:
        """Whether a goal asks if the requirements of the package are known."""
        return any(goal.by == "pins" and package in goal.finding.packages for goal in self._goals)

    def _asked_of(self) -> Mapping[str, Mapping[str, None]]:
        """Everything that some release of the packages at hand requires of another one."""
        if self._asked is None:
            asked: dict[str, dict[str, None]] = {}
            asking: dict[str, set[str]] = {}
            for name in {*self._universe.present, *self._adds}:
                value = self._universe.value(name)
                # What cannot move asks what it asks now.
                some = [self._verdicts.agreement.asked(name)] if name in self._verdicts.movable else []
                if isinstance(value, Exact):
                    some.append(self._verdicts.agreement.demands(name, value))
                for demanded in some:
                    for other, specs in demanded.items():
                        asked.setdefault(other, {}).update(dict.fromkeys(specs))
                        asking.setdefault(other, set()).add(name)
            self._shared = frozenset(name for name, some in asking.items() if len(some) > 1)
            self._asked = asked
        return self._asked


__all__ = ["Domains"]
