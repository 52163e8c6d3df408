"""The fixes of one finding, with every pin made exact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from envdoctor.checks import hits_of_rule
from envdoctor.checks.refused_at_import import BY_ANOTHER
from envdoctor.checks.requirements import MISSING
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, Outcomes
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import Exact, VersionCondition, exact, version_condition
from envdoctor.records import dataclass, field
from envdoctor.remedies.absent import is_absent, newest_that_fits
from envdoctor.remedies.agreement import Agreement
from envdoctor.remedies.candidates import moved, nearest_first, pinned, python_of
from envdoctor.remedies.installable import Listing
from envdoctor.remedies.remedy import Remedy
from envdoctor.rules.conditions import Known, PackageIs, evaluate, leaves
from envdoctor.rules.rule import Fix
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import listed, release_texts, releases

_MOST_TRIED = 40
_MOST_PAIRS = 400
_EXACT = r"==\s*[0-9][0-9a-z.]*"
_INSTALLS = re.compile(r"(?:pip )?(?:re|force-re)?install\b")
# One build of a release, which no list of releases tells apart from its others.
_NAME = re.compile(r"\bNAME\b")
# Families about what is not installed and should be.
_ABOUT_ABSENT = frozenset((MISSING, BY_ANOTHER))
_BUILD = r"==[0-9.]+\+[\w.]+"


@dataclass(frozen=True, slots=True)
class Cure:
    """One fix of a finding; ``kind`` is pin, plan, code, snapshot or hardware.

    ``text`` is the advice of a kind that has neither pins nor plan facts; ``verified`` says how a set of pins was
    shown to install: no resolver is asked here, so ``none``. ``bounds`` are what to add to an open range in place of an exact pin.
    ``sets`` are the facts that a change of code makes others. ``written`` is how the file at hand says what ``plan`` sets.
    """

    kind: str
    note: str
    pins: Mapping[str, str]
    plan: Mapping[str, object]
    text: str = ""
    verified: str = "none"
    bounds: Mapping[str, str] = field(default_factory=dict)
    sets: tuple[str, ...] = ()
    written: str = ""


def cures(finding: Finding, stated: Facts, known: Known) -> tuple[Cure, ...]:
    """The fixes of a finding's rule, best first; a pin that the situation satisfies already is none."""
    found: dict[tuple[str, ...], Cure] = {}
    for cure in _cures(finding, stated, known):
        # Two ranges may have the same nearest release: it is one cure.
        key = tuple(f"{name}{pin}" for name, pin in sorted(cure.pins.items())) or (cure.kind, cure.text, str(cure.plan))
        found.setdefault(key, cure)
    return tuple(found.values())


def is_change_of_code(finding: Finding, stated: Facts, known: Known) -> bool:
    """Whether the best cure of a finding is a change of the script that says what it sets, and after which the rule is silent.

    An argument that has a new name is renamed before any package moves for it.
    """
    if finding.advice and finding.pins:
        return True
    condition = finding.rule.condition
    first = finding.rule.fixes[0] if finding.rule.fixes else None
    if condition is None or first is None or first.kind != "code" or not first.sets or finding.pins:
        return False
    # Where a setting of the plan cures as well, that is what is proposed.
    if any(fix.plan for fix in finding.rule.fixes) or not all(name.startswith("plan.") for name in first.sets):
        return False
    set_ = [
        Fact(name, value, Origin("fix"))
        for name, raw in first.sets.items()
        if not isinstance(value := parse_value(name, raw), NotUnderstood)
    ]
    return Outcomes(known).of(derive(stated.with_facts(set_))).held(condition)[0] is False


def agreeing(told: Sequence[Cure], finding: Finding, remedy: Remedy) -> tuple[Cure, ...]:
    """The cures of a finding with what the remedy for all changes because of it before all other pins: one answer for one fault.

    It stands before words that only say what to install, too.
    """
    own = {change.package: change.pin for change in remedy.changes if finding.rule.id in change.clears and change.pin}
    if not own or finding.rule.id not in remedy.clears:
        return tuple(told)
    first = next((place for place, cure in enumerate(told) if cure.pins or _INSTALLS.match(cure.text)), len(told))
    found = next((cure for cure in told if dict(cure.pins) == own), None)
    if found is None:
        reasons = [change.reason for change in remedy.changes if change.package in own and change.reason]
        found = Cure("pin", reasons[0] if len(reasons) == 1 else "", own, {})
    return (*told[:first], found, *(cure for cure in told[first:] if cure is not found))


def _cures(finding: Finding, stated: Facts, known: Known) -> Iterator[Cure]:
    if finding.advice:
        yield Cure("code", "", {}, {}, finding.advice)
    installs = False
    for package, spec in finding.pins:
        if finding.rule.id in _ABOUT_ABSENT and is_absent(package, stated):
            yield _brought_in(package, spec, stated)
            installs = True
            continue
        if re.fullmatch(_BUILD, spec):
            yield Cure("pin", "", {package: spec}, {})
            continue
        yield from _from_ranges(Fix("pin", "", pins={package: spec}), finding, stated, known, note="")
    if finding.by_hand:
        yield Cure("code", "", {}, {}, finding.by_hand)
    if finding.plan:
        yield Cure("plan", "", {}, dict(finding.plan))
    for fix in finding.rule.fixes:
        if fix.kind == "code" and (finding.advice or finding.by_hand or (installs and _INSTALLS.match(fix.text))):
            continue
        if fix.kind == "pin":
            if finding.pins:
                continue
            yield from _from_ranges(fix, finding, stated, known, note=fix.note)
        elif fix.kind == "plan":
            if fix.plan.get("plan.generate") is False and stated.text("plan.method") == "inference":
                continue  # to generate is what the run is for
            yield Cure("plan", fix.note, {}, fix.plan)
        else:
            yield Cure(fix.kind, fix.note, {}, {}, _named_in(fix.text, finding), sets=tuple(fix.sets))


def _brought_in(package: str, spec: str, stated: Facts) -> Cure:
    """What installs a package that is missing; of one whose releases are not known the requirement itself."""
    release = newest_that_fits(package, spec, stated)
    if release is None:
        requirement = f"{package}{spec}"
        return Cure("code", "", {}, {}, f"python -m pip install {requirement if requirement.isidentifier() else repr(requirement)}")
    note = f"the newest of {package} {spec} that suits what is installed".replace("  ", " ")
    return Cure("pin", note, {package: f"=={release.text}"}, {})


def _named_in(text: str, finding: Finding) -> str:
    """The words of a family with the package that this finding is about in place of NAME."""
    return _NAME.sub(finding.packages[0], text) if finding.packages else text


def _from_ranges(fix: Fix, finding: Finding, stated: Facts, known: Known, *, note: str) -> Iterator[Cure]:
    ranges = ", ".join(f"{name} {spec}" for name, spec in fix.pins.items())
    candidates: dict[str, tuple[Exact, ...]] = {}
    for package, spec in fix.pins.items():
        value, wanted = stated.value(f"packages.{package}"), version_condition(spec)
        if not (isinstance(value, Exact) and wanted.admits(value)):
            candidates[package] = nearest_first(package, wanted, stated)[:_MOST_TRIED] or _named(package, spec)
    if not all(candidates.values()):
        alone = next(iter(candidates)) if len(candidates) == 1 else ""
        if alone and (other := _other_side(alone, version_condition(fix.pins[alone]), finding, stated, known)) is not None:
            yield other
            return
        asked = next(filter(None, (python_of(name, version_condition(fix.pins[name])) for name in candidates if not candidates[name])), "")
        yield Cure("code", note, {}, {}, f"install {ranges}{f', under Python {asked}' if asked else ''}")
        return
    pins = {package: choices[0] for package, choices in candidates.items()}
    clears = False
    for package, choices in candidates.items():
        first = next((one for one in choices if _clears({**pins, package: one}, finding, stated, known)), None)
        pins[package], clears = choices[0] if first is None else first, first is not None
    if clears and len(candidates) > 1:
        pins = _admitting(pins, candidates, finding, stated, known)
    if clears:
        exactly = {package: pinned(package, release, stated) for package, release in pins.items()}
        yield Cure("pin", note or f"any of {ranges}", exactly, {}, bounds=_bounds(fix, pins, finding))


def _other_side(package: str, wanted: VersionCondition, finding: Finding, stated: Facts, known: Known) -> Cure | None:
    """A release of another package of the finding that clears it, where those that this one should have no wheel for the stated system."""
    there = any(wanted.admits(exact(text)) for text in release_texts(package))
    if not there or stated.value("os") is None or not nearest_first(package, version_condition(""), stated):
        return None
    if finding.rule.condition is None and frozenset(finding.packages) not in _pairs(stated, finding):
        return None  # what no check of facts tells seems gone whatever moves
    for name in finding.packages:
        if name != package and isinstance(stated.value(f"packages.{name}"), Exact):
            tried = nearest_first(name, version_condition(""), stated)[:_MOST_TRIED]
            first = next((one for one in tried if _clears({name: one}, finding, stated, known)), None)
            if first is not None:
                return Cure("pin", f"no {package} for the present {name} has a wheel here", {name: pinned(name, first, stated)}, {})
    return None


def _admitting(
    pins: Mapping[str, Exact], candidates: Mapping[str, Sequence[Exact]], finding: Finding, stated: Facts, known: Known
) -> dict[str, Exact]:
    """The pins, or the nearest other ones of the same ranges where an installer would refuse these beside each other."""
    asked = Agreement(Listing(releases, None, dependencies, known, stated))
    if next(asked.clashes(pins), None) is None:
        return dict(pins)
    names = list(pins)
    for places in sorted(product(*(range(len(candidates[name])) for name in names)), key=sum)[:_MOST_PAIRS]:
        other = {name: candidates[name][place] for name, place in zip(names, places, strict=True)}
        if next(asked.clashes(other), None) is None and _clears(other, finding, stated, known):
            return other
    return dict(pins)


def _bounds(fix: Fix, pins: Mapping[str, Exact], finding: Finding) -> dict[str, str]:
    """What narrows the open ranges that a finding waits for, where one range does."""
    open_ = [package for package in pins if f"packages.{package}" in finding.missing and "||" not in fix.pins[package]]
    return {package: "".join(fix.pins[package].split()) for package in open_}


def _named(package: str, spec: str) -> tuple[Exact, ...]:
    """The one release that a rule names of a package whose releases are not bundled: its author has seen it."""
    return (exact(spec.replace(" ", "").removeprefix("==")),) if package not in listed() and re.fullmatch(_EXACT, spec.strip()) else ()


def _pairs(facts: Facts, finding: Finding) -> set[frozenset[str]]:
    """The packages that the rule of a finding accuses together."""
    hits = hits_of_rule(finding.rule.id, facts)
    return {frozenset(hit.packages or finding.rule.packages) for hit in hits if hit.outcome is not False}


def _clears(pins: Mapping[str, Exact], finding: Finding, stated: Facts, known: Known) -> bool:
    """Whether the rule no longer matches with these releases."""
    condition = finding.rule.condition
    if condition is not None and all(isinstance(leaf, PackageIs) for leaf in leaves(condition)):
        return evaluate(condition, moved(stated, pins), known) is not True  # no default is a package
    facts = derive(moved(stated, pins))
    if condition is None:
        after = _pairs(facts, finding)
        if not finding.edge:
            return not any({*finding.packages, *pins} & pair for pair in after)
        # What else the family says of these packages is another fault, with a cure of its own, unless these releases bring it.
        return frozenset(finding.packages) not in after and not any({*pins} & pair for pair in after - _pairs(stated, finding))
    return Outcomes(known).of(facts).held(condition)[0] is not True
