"""What the cures of a rule do to the situations of its own match cases: the rule must fall silent, and no other error appear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.files.toml import read_toml
from envdoctor.records import dataclass
from envdoctor.remedies.candidates import installable, moved, nearest_first
from envdoctor.remedies.rule_index import index_of
from envdoctor.rules.conditions import Condition, Known, PackageIs, evaluate, leaves
from envdoctor.rules.lint import match_cases
from envdoctor.rules.rule import Fix, Rule, parse_rule


@dataclass(frozen=True, slots=True)
class _Cured:
    """A situation after a cure, what was done, in words, and which facts differ."""

    facts: Facts
    words: str
    changed: frozenset[str]


def lint_cures(path: Path, others: Sequence[Rule], known: Known, table: Mapping[str, object] | None = None) -> list[EnvdoctorError]:
    """What is wrong with the cures of a rule file that has no other errors; ``others`` are the rules of which an error may appear."""
    table = read_toml(path) if table is None else table
    rule = parse_rule(table, str(path))
    if rule.affected is None or rule.withdrawn is not None:
        return []
    cases = match_cases(table, path)
    wrong = {(place, number): _wrong(rule, fix, facts, others, known) for place, fix in enumerate(rule.fixes) for number, facts in cases}
    told: dict[tuple[int, str], EnvdoctorError] = {}
    for (place, number), found in wrong.items():
        if found and not _has_better(place, number, rule, wrong):
            told.setdefault((place, found), _error(path, number, rule.fixes[place], found))
    return list(told.values())


def _has_better(place: int, number: int, rule: Rule, wrong: Mapping[tuple[int, int], str]) -> bool:
    """Whether this case has a cure of its own, and this cure cases of its own: which one a user gets is judged in the situation."""
    stating = [other for other, fix in enumerate(rule.fixes) if fix.pins or fix.plan or fix.sets]
    others = any(not wrong[other, number] for other in stating if other != place)
    return others and any(not found for (other, _), found in wrong.items() if other == place)


def _error(path: Path, case: int, fix: Fix, found: str) -> EnvdoctorError:
    said = ", ".join(f"{name} {spec}" for name, spec in fix.pins.items()) or str(dict(fix.plan) or fix.text)
    return EnvdoctorError(
        f"{path}: fix.{fix.kind}",
        found=f"{said}: in case {case} {found}",
        expected="a cure after which the rule is silent and no other error appears",
        next_step="narrow the range, name what goes with it, or state in sets = { ... } what the cure makes true",
    )


def _wrong(rule: Rule, fix: Fix, facts: Facts, others: Sequence[Rule], known: Known) -> str:
    """What the cure does to a situation that it should not, or nothing."""
    for cured in _still(rule, fix, facts, known):
        return f"{cured.words} leaves the rule as it is"
    for cured in _offered(fix, facts):
        for other in _appear(cured, facts, others, known, rule.id):
            return f"{cured.words} brings {other}"
    return ""


def _still(rule: Rule, fix: Fix, facts: Facts, known: Known) -> Iterator[_Cured]:
    """What the cure offers and does not help: of one package any release that it admits, of several the nearest and the newest."""
    assert rule.affected is not None
    if len(fix.pins) == 1:
        ((package, spec),) = fix.pins.items()
        for release in _told_apart(rule.affected, package, spec, facts):
            if evaluate(rule.affected, moved(facts, {package: release}), known) is True:
                yield _Cured(facts, f"{package} {release.text}", frozenset())
        return
    for cured in _offered(fix, facts):
        if evaluate(rule.affected, cured.facts, known) is True:
            yield cured


def _told_apart(condition: Condition, package: str, spec: str, facts: Facts) -> Iterator[Exact]:
    """Of the releases in a range one for each outcome of what the rule asks of the package."""
    wanted = version_condition(spec)
    asked = [leaf.version for leaf in leaves(condition) if isinstance(leaf, PackageIs) and leaf.package == package]
    seen = set()
    for release in installable(package, facts):
        told = tuple(condition.relation(release) for condition in asked)
        if told not in seen and wanted.admits(release):
            seen.add(told)
            yield release


def _offered(fix: Fix, facts: Facts) -> Iterator[_Cured]:
    """The situation as the cure makes it: with the nearest releases that it names, and with the newest ones."""
    if fix.pins:
        nearest, newest = {}, {}
        for package, spec in fix.pins.items():
            value, wanted = facts.value(f"packages.{package}"), version_condition(spec)
            if isinstance(value, Exact) and wanted.admits(value):
                continue
            ranked = nearest_first(package, wanted, facts)
            if not ranked:
                return
            nearest[package], newest[package] = ranked[0], next(one for one in reversed(installable(package, facts)) if wanted.admits(one))
        for pins in [nearest, *([newest] if newest != nearest else [])] if nearest else []:
            words = ", ".join(f"{name} {release.text}" for name, release in pins.items())
            yield _Cured(moved(facts, pins), words, frozenset(f"packages.{name}" for name in pins))
        return
    settings = {**fix.plan, **fix.sets}
    if settings:
        read = [(name, parse_value(name, raw)) for name, raw in settings.items()]
        changed = facts.with_facts(Fact(name, value, Origin("fix")) for name, value in read if not isinstance(value, NotUnderstood))
        yield _Cured(changed, ", ".join(f"{name} = {value}" for name, value in settings.items()), frozenset(settings))


def _appear(cured: _Cured, before: Facts, others: Sequence[Rule], known: Known, itself: str) -> Iterator[str]:
    """The errors that what has changed makes true."""
    index = index_of(others)
    for name in sorted({rule for fact in cured.changed for rule in index.naming.get(fact, ())} - {itself}):
        other = index.rules[name]
        if other.severity != "error" or other.condition is None or evaluate(other.condition, cured.facts, known) is not True:
            continue
        if evaluate(other.condition, before, known) is not True:
            yield name


__all__ = ["lint_cures"]
