"""The cures of a rule, each run where the rule's reproduction shows the harm.

A pin is installed as near to the bad environment as it allows, everything else that the reproduction names staying as it is; a setting
of the plan goes to the probe; a cure of another kind has a script of its own (``run`` in its ``[[fix]]``), or ``healthy`` of the
reproduction, which is the script with the first cure that is no pin. Where ``sets`` of a cure names packages, it runs in an environment
in which they are as it says: removed, or of that release. Where a cure only says in words which release helps, ``tried`` names one.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.records import replace
from envdoctor.remedies.candidates import nearest_first
from envdoctor.rules.conditions import Known, evaluate
from envdoctor.rules.ledger import cure_subject, fix_subject
from envdoctor.rules.reproduction import Reproduction, Seen, examine, reproduction_of
from envdoctor.rules.rule import Fix, Rule
from envdoctor.uv.environments import Builder, Environment, NotBuiltError

# Releases that are tried, nearest first, where the index refuses one beside what else the reproduction names.
_MOST_TRIED = 5
_MOST_LOOKED_AT = 60


def run_cures(
    table: Mapping[str, Any],
    rule: Rule,
    build: Builder,
    *,
    known: Known,
    date: str,
    large: bool = False,
    shown: Mapping[str, Any] | None = None,
    most: int | None = None,
) -> dict[str, object]:
    """What became of each fix: ``result`` is ``cures``, ``fails`` or ``not run``, with what was seen or why it was not.

    ``large``: cures that install another torch are run as well; such a build is gigabytes. ``shown`` is the entry of a reproduction that
    was seen before: neither side of it runs again. ``most`` fixes are looked at, the best first.

    Raises:
        NotBuiltError: the bad environment cannot be made.
    """
    reproduction = reproduction_of(table["reproduction"])
    bad = reproduction.built(build, reproduction.pins["bad"])
    seen_good = _kept(shown, "good")
    harm = _kept(shown, "bad") or examine(reproduction, bad)
    entry: dict[str, object] = {
        "subject": cure_subject(table),
        "date": date,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": bad.python,
        "harm": harm.line,
    }
    if not harm.harmed:
        return entry | {"cures": [], "why": "the bad environment does not show the harm"}
    own, tried = _scripts(table, rule), [_tried(item) for item in table.get("fix", [])]
    rows = []
    kept = {frozenset(reproduction.pins["good"]): seen_good} if seen_good is not None and reproduction.healthy is None else {}
    for number, fix in enumerate(rule.fixes[:most]):
        if fix.kind == "pin":
            rows.append(_pinned(rule, fix, reproduction, bad, build, known, kept, large=large))
        elif own[number] is not None and own[number] == reproduction.healthy and seen_good is not None:
            rows.append(_judged(fix, seen_good))
        elif packages := _packages_set(fix, own[number]) | tried[number]:
            rows.append(_repacked(fix, packages, reproduction, build, kept if own[number] is None else {}, own[number], large=large))
        else:
            rows.append(_changed(fix, reproduction, bad, own[number]))
    of = [fix_subject(table, item) for item in table["fix"]]
    return entry | {"cures": [row | {"of": digest} for row, digest in zip(rows, of, strict=False)]}


def _kept(shown: Mapping[str, Any] | None, side: str) -> Seen | None:
    """What was seen on one side of a reproduction that showed what it should."""
    return None if shown is None or side not in shown else Seen(side == "bad", side == "good", str(shown[side]["seen"]))


def _scripts(table: Mapping[str, Any], rule: Rule) -> list[str | None]:
    """The script of each fix that has one."""
    listed = [item.get("run") for item in table.get("fix", [])]
    healthy = table["reproduction"].get("healthy")
    first = next((number for number, fix in enumerate(rule.fixes) if fix.kind != "pin"), None)
    return [script or (healthy if number == first else None) for number, script in enumerate(listed)]


def _tried(item: Mapping[str, Any]) -> dict[str, str | None]:
    """The releases that a cure in words is run with: which one helps whom is not said by the rule, or by more than a range."""
    return {canonicalize_name(name): release for name, _, release in (str(pin).partition("==") for pin in item.get("tried", []))}


def _row(fix: Fix) -> dict[str, object]:
    said = ", ".join(f"{name} {spec}" for name, spec in fix.pins.items()) or ", ".join(
        f"{name} = {value}" for name, value in fix.plan.items()
    )
    return {"fix": f"{fix.kind}: {said or fix.text}"}


def _judged(fix: Fix, seen: Seen) -> dict[str, object]:
    return {**_row(fix), "seen": seen.line, "result": "cures" if seen.well and not seen.harmed else "fails"}


def _changed(fix: Fix, reproduction: Reproduction, bad: Environment, script: str | None) -> dict[str, object]:
    """A cure that is no pin, in the bad environment itself."""
    if script is not None and reproduction.probe is None:
        return _judged(fix, examine(reproduction, bad, script))
    if fix.plan and reproduction.probe is not None:
        facts = reproduction.facts.with_facts(Fact(name, parse_value(name, raw), Origin("fix")) for name, raw in fix.plan.items())
        return _judged(fix, examine(replace(reproduction, facts=facts), bad))
    return {**_row(fix), "result": "not run", "why": "no script shows it"}


def _packages_set(fix: Fix, script: str | None) -> dict[str, str | None]:
    """The packages that a cure in code removes (None) or installs, where nothing but them changes or a script has the rest of it."""
    if script is None and not all(name.startswith("packages.") for name in fix.sets):
        return {}
    read = [(name.partition(".")[2], parse_value(name, raw)) for name, raw in fix.sets.items() if name.startswith("packages.")]
    return {package: value.text if isinstance(value, Exact) else None for package, value in read}


def _repacked(
    fix: Fix,
    packages: Mapping[str, str | None],
    reproduction: Reproduction,
    build: Builder,
    kept: Mapping[frozenset[str], Seen],
    script: str | None,
    *,
    large: bool,
) -> dict[str, object]:
    """A cure that removes packages or installs others, and its own script or that of the reproduction."""
    added = {package: version for package, version in packages.items() if version is not None}
    wanted = [*_without(reproduction.pins["bad"], packages), *(f"{name}=={version}" for name, version in added.items())]
    if (seen := kept.get(frozenset(wanted))) is not None:
        return {**_judged(fix, seen), "pins": wanted, "installed": added}
    if "torch" in packages and not large:
        return {**_row(fix), "result": "not run", "why": "it installs another torch (--large)"}
    try:
        built = reproduction.built(build, wanted)
    except NotBuiltError as error:
        return {**_row(fix), "result": "not run", "why": f"it was not built: {str(error)[:300]}"}
    if left := [name for name in packages if name not in added and name in built.installed]:
        return {**_row(fix), "result": "not run", "why": f"{', '.join(left)} is required by what else is installed"}
    installed = {name: built.installed[name] for name in added if name in built.installed}
    return {**_judged(fix, examine(reproduction, built, script)), "pins": wanted, "installed": installed}


def _pinned(
    rule: Rule,
    fix: Fix,
    reproduction: Reproduction,
    bad: Environment,
    build: Builder,
    known: Known,
    kept: Mapping[frozenset[str], Seen],
    *,
    large: bool,
) -> dict[str, object]:
    stated = _stated(bad)
    # A label of a build names what the index of another torch has not.
    current = {name: str(stated.value(f"packages.{name}")).partition("+")[0] for name in fix.pins}
    if all(current[name] != "None" and version_condition(spec).admits(exact(current[name])) for name, spec in fix.pins.items()):
        return {**_row(fix), "result": "not run", "why": "the bad environment has it"}
    refused = "no release is in the range"
    by_good_side = _by_good_side(fix, reproduction, stated, kept)
    for pins in _choices(rule, fix, stated, known):
        wanted = [*_without(reproduction.pins["bad"], pins), *(f"{name}=={version}" for name, version in pins.items())]
        if (seen := kept.get(frozenset(wanted))) is not None:
            return {**_judged(fix, seen), "pins": wanted, "installed": pins}
        if "torch" in pins and not large:
            return by_good_side or {**_row(fix), "result": "not run", "why": "it installs another torch (--large)"}
        try:
            built = reproduction.built(build, wanted)
        except NotBuiltError as error:
            refused = str(error)[:300]
            continue
        installed = {name: built.installed[name] for name in pins if name in built.installed}
        return {**_judged(fix, examine(reproduction, built)), "pins": wanted, "installed": installed}
    # Of a package whose releases are not bundled nobody can be chosen but the one that the reproduction names.
    return by_good_side or {**_row(fix), "result": "not run", "why": f"it was not built: {refused}"}


def _by_good_side(fix: Fix, reproduction: Reproduction, stated: Facts, kept: Mapping[frozenset[str], Seen]) -> dict[str, object]:
    """A pin as the good side of the reproduction showed it; empty where that has something else."""
    good, releases = kept.get(frozenset(reproduction.pins["good"])), _of_good_side(fix, reproduction, stated)
    return {**_judged(fix, good), "pins": list(reproduction.pins["good"]), "installed": releases} if good is not None and releases else {}


def _of_good_side(fix: Fix, reproduction: Reproduction, stated: Facts) -> dict[str, str]:
    """The releases that the good side of a reproduction has of what a cure pins, where the cure admits them and nothing else differs."""
    bad, good = ({str(canonicalize_name(Requirement(pin).name)): pin for pin in reproduction.pins[side]} for side in ("bad", "good"))
    moved = {name: pin.partition("==")[2] for name, pin in good.items() if bad.get(name) != pin}
    if not set(moved) <= set(fix.pins) or not set(bad) <= set(good):
        return {}
    releases = {name: moved.get(name) or str(stated.value(f"packages.{name}")) for name in fix.pins}
    admitted = all(release != "None" and version_condition(fix.pins[name]).admits(exact(release)) for name, release in releases.items())
    return moved if admitted else {}


def _stated(bad: Environment) -> Facts:
    facts = [Fact("python", exact(bad.python), Origin("built"))]
    facts += [
        Fact(name, parse_value(name, text), Origin("built")) for package, text in bad.installed.items() if (name := f"packages.{package}")
    ]
    return Facts().with_facts(facts)


def _without(pins: Sequence[str], names: Collection[str]) -> list[str]:
    return [pin for pin in pins if canonicalize_name(Requirement(pin).name) not in names]


def _choices(rule: Rule, fix: Fix, stated: Facts, known: Known) -> Iterator[dict[str, str]]:
    """Releases of the fix's packages under which the rule falls silent, nearest first."""
    ranked: dict[str, list[Exact]] = {}
    for package, spec in fix.pins.items():
        value, wanted = stated.value(f"packages.{package}"), version_condition(spec)
        if isinstance(value, Exact) and wanted.admits(value):
            continue
        ranked[package] = list(nearest_first(package, wanted, stated)[:_MOST_LOOKED_AT]) or _named(spec)
    if not ranked or not all(ranked.values()):
        return
    depth = max(map(len, ranked.values()))
    tried = 0
    for place in range(depth):
        pins = {package: releases[min(place, len(releases) - 1)].text for package, releases in ranked.items()}
        moved = stated.with_facts(Fact(f"packages.{name}", exact(text), Origin("fix")) for name, text in pins.items())
        if rule.affected is not None and evaluate(rule.affected, moved, known) is True:
            continue
        yield pins
        tried += 1
        if tried == _MOST_TRIED:
            return


def _named(spec: str) -> list[Exact]:
    """The one release that a range names where the releases of the package are not bundled."""
    return [exact(spec[2:])] if spec.startswith("==") and "*" not in spec and "," not in spec else []
