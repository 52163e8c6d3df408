"""The search against trying everything, over small invented universes with requirements, days, severities and fixes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.engine.likelihood import speaks, weigh
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.search import MOST_REMEDIES, Problem, find_remedies, find_remedy
from envdoctor.rules.conditions import evaluate, missing
from envdoctor.rules.rule import Fix, Rule, Severity, named_packages
from envdoctor.world.dependencies import Dependency
from envdoctor.world.releases import Release
from tests.remedies.universe import rule, stated

NAMES = ("torch", "torchvision", "alpha", "beta")
VERSIONS = ("1.0", "1.1", "1.2", "1.3")
DAYS = ("2021-12-20", "2024-01-01", "2024-01-02", "2024-01-09", "2024-02-01", "2024-03-01")
FAMILY = ("torch", "torchvision")
OUTSIDE = "omega"  # required by others, and never stated

Choice = Mapping[str, str]


@dataclass(frozen=True)
class World:
    """Releases with their days, what they require, the situation, and the rules."""

    days: Mapping[str, Sequence[str]]
    requires: Mapping[tuple[str, str], Sequence[Dependency]]
    facts: Facts
    rules: Sequence[Rule]

    def releases(self, package: str) -> tuple[Release, ...]:
        days = self.days.get(package, ())
        return tuple(Release(version, day, False, None, True) for version, day in zip(VERSIONS, days, strict=False))

    def known(self, package: str) -> tuple[str, ...]:
        return VERSIONS if package == OUTSIDE else tuple(one.version for one in self.releases(package))

    def problem(self) -> Problem:
        requires = self.requires
        return Problem(self.facts, self.rules, (), self.known, releases=self.releases, requires=lambda p, v: requires.get((p, v)))

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(derive(self.facts), self.rules, self.known).findings

    def after(self, choice: Choice) -> Facts:
        return derive(self.facts.with_facts(Fact(f"packages.{name}", exact(text), Origin("pin")) for name, text in choice.items()))


SPECIFIERS = ("<1.1", "<1.2", ">=1.1", ">=1.2", "==1.1", "==1.2", ">=1.3", "!=1.2", ">=1.1,<1.3", "==1.0")


def atom(dice: random.Random) -> Mapping[str, object]:
    about = {"packages": [f"{dice.choice(NAMES)} {dice.choice(SPECIFIERS)}"]}
    return dice.choices((about, {"not": about}, {"plan": {"fp16": True}}, {"plan": {"method": "lora"}}), (12, 2, 1, 1))[0]


def table(dice: random.Random) -> Mapping[str, object]:
    if dice.random() < 0.8:
        return {"all": [atom(dice) for _ in range(dice.choice((1, 1, 2, 2, 3)))]}
    return {"any": [atom(dice), atom(dice)]}


def world(number: int) -> World:
    """A world of its own for every number: mostly four packages with a finding or more, which releases require of each other."""
    dice = random.Random(number)
    days = {name: sorted(dice.choices(DAYS, k=dice.choice((2, 3, 4, 4)))) for name in NAMES}
    asking = dice.choice((0.0, 0.3, 0.7))
    requires = {}
    for name, version in product(NAMES, VERSIONS):
        others = [one for one in (*NAMES, OUTSIDE) if one != name]
        asked = [Dependency(dice.choice(others), dice.choice(SPECIFIERS)) for _ in range(2) if dice.random() < asking]
        if asked or dice.random() < 0.5:
            requires[name, version] = tuple(asked)
    facts: dict[str, object] = {}
    for name in NAMES:
        stated_as = dice.choices(("exact", "range", "nothing"), (6, 1, 1))[0]
        if stated_as != "nothing":
            facts[f"packages.{name}"] = dice.choice(VERSIONS[: len(days[name])] if stated_as == "exact" else (">=1.1", "<1.2", ""))
    for name, value in (("plan.fp16", dice.random() < 0.5), ("plan.method", "lora")):
        if dice.random() < 0.6:
            facts[name] = value
    rules = []
    for place in range(dice.randint(2, 7)):
        there = [name for name in NAMES if f"packages.{name}" in facts]
        fixes = [Fix("pin", "", pins={name: dice.choice(SPECIFIERS)}) for name in there if dice.random() < 0.2]
        made = rule(f"r{place}", table(dice), *fixes)
        assert made.condition is not None
        severity: Severity = dice.choice(("error", "error", "warning", "note"))
        rules.append(replace(made, packages=tuple(dict.fromkeys(named_packages(made.condition))), severity=severity))
    return World(days, requires, stated(facts), rules)


worlds = st.integers(0, 2**32).map(world)


# --- trying everything, in other words than the search's own ---


def values(facts: Facts) -> dict[str, Exact | Ranged]:
    return {name: value for name in NAMES if isinstance(value := facts.value(f"packages.{name}"), (Exact, Ranged))}


def asks(world: World, package: str, version: str, other: str) -> list[SpecifierSet]:
    return [SpecifierSet(one.specifier) for one in world.requires.get((package, version), ()) if one.name == other] + [
        SpecifierSet(spec) for spec in family_bound(world, package, version) if other == "torch"
    ]


def family_bound(world: World, package: str, version: str) -> Iterator[str]:
    """A torchvision that names no single torch is of one before that which a later one names."""
    own = [one.specifier for one in world.requires.get((package, version), ()) if one.name == "torch"]
    if package != "torchvision" or any(spec.startswith("==") for spec in own):
        return
    later = VERSIONS[VERSIONS.index(version) + 1 : len(world.days[package])]
    named = (d.specifier for text in later for d in world.requires.get((package, text), ()) if d.name == "torch")
    first = next((spec for spec in named if spec.startswith("==")), None)
    if first is not None:
        yield f"<{first[2:]}"


def some_release(world: World, package: str, *wanted: str) -> bool:
    """Whether a release, or one that may come after the last one, satisfies all."""
    whole = SpecifierSet(",".join(filter(None, wanted)))
    known = world.known(package)
    later = (text for text in ("1.2", "1.2.1", "1.3", "1.3.1", "1.4", "99") if Version(text) > Version(known[-1]))
    return any(whole.contains(text) for text in (*known, *later))


def clashes(world: World, facts: Facts) -> set[tuple[str, ...]]:
    there = values(facts)
    found: set[tuple[str, ...]] = set()
    for one, mine in there.items():
        for other, theirs in there.items():
            if one == other:
                continue
            if isinstance(mine, Exact):
                wanted = asks(world, one, mine.text, other)
                if isinstance(theirs, Exact):
                    bad = not all(spec.contains(theirs.text) for spec in wanted)
                else:
                    bad = bool(wanted) and not some_release(world, other, theirs.text, *map(str, wanted))
            elif isinstance(theirs, Exact):
                releases = [text for text in world.known(one) if SpecifierSet(mine.text).contains(text)]
                bad = bool(releases) and not any(all(s.contains(theirs.text) for s in asks(world, one, text, other)) for text in releases)
            else:
                bad = False
            if bad:
                found.add((one, other))
            if one < other and isinstance(mine, Exact) and isinstance(theirs, Exact):
                for third in (*NAMES, OUTSIDE):
                    both = asks(world, one, mine.text, third), asks(world, other, theirs.text, third)
                    free = third not in (one, other) and not isinstance(there.get(third), Exact)
                    if free and all(both) and not some_release(world, third, *map(str, both[0]), *map(str, both[1])):
                        found.add((one, other, third))
    return found


def status(world: World, facts: Facts, one: Rule) -> str:
    assert one.condition is not None
    outcome = evaluate(one.condition, facts, world.known)
    if outcome is not None:
        return "matched" if outcome else "silent"
    lacking = missing(one.condition, facts, world.known)
    if any(name.startswith("packages.") for name in lacking) or not speaks(one.condition, facts, world.known, lacking):
        return "undecided"
    return "possible" if weigh(one.condition, facts, world.known, lacking).likely else "undecided"


Cost = tuple[int, ...]


def choices(world: World) -> Iterator[dict[str, str]]:
    there = values(world.facts)
    options = [[None, *(text for text in world.known(name) if not _is(there[name], text))] for name in there]
    for picked in product(*options):
        yield {name: text for name, text in zip(there, picked, strict=True) if text is not None}


def _is(value: Exact | Ranged, text: str) -> bool:
    return isinstance(value, Exact) and Version(value.text) == Version(text)


def everything(world: World, wanted: Sequence[Finding], *, strict: bool) -> dict[frozenset[tuple[str, str]], Cost]:
    before = {one.id: status(world, world.after({}), one) for one in world.rules}
    clashed = clashes(world, world.after({}))
    found = {}
    for choice in choices(world):
        facts = world.after(choice)
        after = {one.id: status(world, facts, one) for one in world.rules}
        if any(now == "matched" and before[name] != "matched" for name, now in after.items()):
            continue
        if strict and any(now == "possible" and before[name] not in ("matched", "possible") for name, now in after.items()):
            continue
        new = {
            clash
            for clash in clashes(world, facts)
            if clash not in clashed or (len(clash) == 2 and set(clash) <= set(FAMILY) and set(clash) & set(choice))
            or (len(clash) == 3 and set(clash[:2]) <= set(FAMILY) and set(clash[:2]) & set(choice))
            or (strict and len(clash) == 2 and clash[0] in choice)
        }  # fmt: skip
        if new:
            continue
        left = [one for one in wanted if after[one.rule.id] != "silent"]
        if any(_below(world, one, choice) for one in left):
            continue
        found[frozenset(choice.items())] = cost(world, left, choice)
    return found


def _below(world: World, finding: Finding, choice: Choice) -> bool:
    for fix in finding.rule.fixes:
        for package, spec in fix.pins.items():
            fitting = [Version(text) for text in world.known(package) if SpecifierSet(spec).contains(text)]
            if package in choice and fitting and Version(choice[package]) < min(fitting):
                return True
    return False


def cost(world: World, left: Sequence[Finding], choice: Choice) -> Cost:
    errors = sum(one.severity == "error" for one in left)
    far = [_distance(world, name, text) for name, text in choice.items()]
    there = values(world.facts)
    pairs = {(clash[0], clash[1]) for clash in clashes(world, world.after({})) if len(clash) == 2}
    held = FAMILY[1] in there and FAMILY not in pairs and FAMILY[::-1] not in pairs
    declaring = {one for one, other in pairs if other != FAMILY[0] or (not held and one not in FAMILY and _names_one_torch(world, one))}
    back = sum(isinstance(was := there[name], Exact) and Version(text) < Version(was.text) for name, text in choice.items())
    gone = [name for name, text in choice.items() if isinstance(was := there[name], Exact) and Version(text) < Version(was.text)]
    years = [_distance(world, name, choice[name])[1] // 365 for name in gone]
    packages = (len(choice) + sum(one for one in years if one >= 2), len(declaring & set(choice)))
    return (errors, len(left) - errors, *packages, sum(steps for steps, _ in far), int(FAMILY[0] in choice), back, sum(d for _, d in far))


def _names_one_torch(world: World, package: str) -> bool:
    value = values(world.facts)[package]
    return isinstance(value, Exact) and any(str(spec).startswith("==") for spec in asks(world, package, value.text, FAMILY[0]))


def _distance(world: World, package: str, text: str) -> tuple[int, int]:
    """Steps and days from what is stated; of a range from the newest release in it, and all outside are farther than all inside."""
    known = world.known(package)
    days = {version: date.fromisoformat(day) for version, day in zip(known, world.days[package], strict=True)}
    value = values(world.facts)[package]
    if isinstance(value, Exact):
        return abs(known.index(text) - known.index(value.text)), abs(days[text] - days[value.text]).days
    inside = [one for one in known if SpecifierSet(value.text).contains(one)]
    steps = len(known) - known.index(text) + (0 if text in inside else len(known))
    return steps, abs(days[text] - days[inside[-1]]).days if inside else 0


@given(worlds)
def test_the_smallest_sets_are_those_of_trying_everything(world: World) -> None:
    findings = world.findings()
    wanted = [one for one in findings if one.status == "matched" and one.severity != "note"]
    found = find_remedies(world.problem(), findings)
    possible = everything(world, wanted, strict=True)
    best = min(possible.values()) if possible else None
    if best is None or sum(best[:2]) == len(wanted):
        possible = everything(world, wanted, strict=False)
        best = min(possible.values())
    if sum(best[:2]) == len(wanted):
        assert found == ()
        return
    told = [(frozenset((name, pin.removeprefix("==")) for name, pin in one.pins.items()), one) for one in found]
    assert all(pins in possible for pins, _ in told), "a set brings something, or leaves more than it says"
    costs = [possible[pins] for pins, _ in told]
    assert costs[0] == best
    smallest = {pins for pins, price in possible.items() if price == best}
    assert {pins for pins, _ in told[: len(smallest)]} <= smallest
    assert len(told) >= min(len(smallest), MOST_REMEDIES)
    assert all(price[:3] == best[:3] for price in costs), "a fallback changes more packages, or clears less"
    for pins, one in told:
        facts = world.after(dict(pins))
        cleared = {finding.rule.id for finding in wanted if status(world, facts, finding.rule) == "silent"}
        assert set(one.clears) == cleared
        assert set(one.unfixable) == {finding.rule.id for finding in wanted} - cleared
        assert (one.steps, one.days) == (possible[pins][4], possible[pins][7])
        assert {change.package: change.pin for change in one.changes} == one.pins
    assert len({pins for pins, _ in told}) == len(told)
    assert find_remedy(world.problem(), findings) == found[0]


@given(worlds)
def test_without_a_change_what_it_clears_would_stand(world: World) -> None:
    """And a change that clears nothing by itself is needed by another one."""
    findings = world.findings()
    for one in find_remedies(world.problem(), findings)[:1]:
        pins = {name: pin.removeprefix("==") for name, pin in one.pins.items()}
        for change in one.changes:
            gone = FAMILY if change.package == "torch" else (change.package,)
            facts = world.after({name: text for name, text in pins.items() if name not in gone})
            standing = {
                found.rule.id
                for found in findings
                if found.rule.id in one.clears and status(world, facts, found.rule) != "silent"
            }  # fmt: skip
            assert set(change.clears) == standing


def test_a_remedy_is_a_remedy_whatever_was_looked_for_before() -> None:
    """Nothing is kept from one problem to the next but the index of the rules."""
    facts = stated({"packages.alpha": "1.0"})
    first = World({"alpha": DAYS[:3]}, {}, facts, (rule("r", {"packages": ["alpha <1.1"]}),))
    second = World({"alpha": DAYS[:3]}, {}, facts, (rule("r", {"packages": ["alpha <1.2"]}),))
    assert [find_remedy(one.problem(), one.findings()).pins for one in (first, second, first)] == [
        {"alpha": "==1.1"}, {"alpha": "==1.2"}, {"alpha": "==1.1"},
    ]  # fmt: skip
    assert isinstance(find_remedy(first.problem(), ()), Remedy)
    assert version_condition("<1.1").admits(exact("1.0"))
