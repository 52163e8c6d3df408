"""From a remedy to the files that are to say it: who states a package, which plan takes a setting, and what only a command can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from envdoctor.app.gathered import Gathered
from envdoctor.app.targets import DECLARING
from envdoctor.checks import FACT_CHECKS
from envdoctor.edits.edit import Edited, Pin, Refusal, Setting, as_setting
from envdoctor.edits.edit import Set as SetTo
from envdoctor.edits.registry import command_of, edit_packages, edit_settings
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Outcomes
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin, Skip
from envdoctor.facts.loaded_with import with_what_is_loaded
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import Exact, exact
from envdoctor.files.paths import real_path
from envdoctor.records import dataclass, field, replace
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Diagnosed, Report
from envdoctor.rules.rulebook import Rulebook
from envdoctor.sources.situation import states_packages
from envdoctor.sources.targets import Target
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

Hashes = Callable[[str, str], "tuple[str, ...]"]


@dataclass(frozen=True, slots=True)
class Mend:
    """What becomes of the files of a group of situations.

    ``clears`` are the rules that are gone once the edits are written, ``pending`` those that wait for a command or a hand. ``instead``
    are commands that would do what the edits of a plan do. ``renames`` are rules about names that an edit of a script renames.
    """

    edits: tuple[Edited, ...] = ()
    commands: tuple[str, ...] = ()
    refused: tuple[Skip, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    clears: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    instead: tuple[str, ...] = ()
    renames: frozenset[str] = frozenset()


def mend(situations: Sequence[Gathered], report: Report, book: Rulebook, *, hashes: Hashes | None = None) -> Mend:
    """The edits that bring a remedy about: of the files that state packages, else of the plan, else a command to paste.

    Of pins, all are written or none. ``hashes`` asks for those of a release, where files have them.

    Raises:
        EnvdoctorError: a file that cannot be read.
    """
    first, remedy = situations[0], report.remedy
    declaring = [target for target in first.targets if target.kind in DECLARING or states_packages(target.collected)]
    in_files = Mend()
    if remedy.pins or remedy.removes:
        in_files = _edit_packages(declaring, first, report, hashes) if declaring else _give_command(first, remedy)
    left = [one for one in report.findings if one.finding.rule.id not in in_files.clears and needs_change(one, report)]
    plans = [target for target in first.targets if target.kind == "plan"]
    if not left or not plans:
        return in_files
    facts = _with_pins(first.facts, remedy) if in_files.edits else first.facts
    by_plan = _edit_plan(plans, facts, left, book)
    if not in_files.pending <= by_plan.clears:  # the pins are needed all the same, and the plan is for what they do not clear
        by_plan = _edit_plan(plans, _with_pins(facts, remedy), [one for one in left if one.finding.rule.id not in in_files.pending], book)
    return _join(in_files, by_plan)


def needs_change(diagnosed: Diagnosed, report: Report) -> bool:
    """Whether a finding is to be mended: errors and warnings that hold, with ``strict`` those that may."""
    counted = ("matched", "confirmed", "possible") if report.strict else ("matched", "confirmed")
    finding = diagnosed.finding
    return finding.status in counted and finding.severity != "note" and not diagnosed.excused and not finding.hidden


def _join(one: Mend, other: Mend) -> Mend:
    pending = one.pending - other.clears
    # Of what the plan clears as well, nothing has to be installed.
    commands, instead = ((), one.commands) if one.pending and not pending and not one.refused else (one.commands, ())
    return Mend(
        (*one.edits, *other.edits), commands, (*one.refused, *other.refused), other.settings,
        one.clears | other.clears, pending | other.pending, instead,
    )  # fmt: skip


def _give_command(gathered: Gathered, remedy: Remedy) -> Mend:
    from envdoctor.remedies.installer import command

    lines = command(remedy, gathered.installed, gathered.interpreter).splitlines()
    return Mend(commands=tuple(lines), pending=frozenset(remedy.clears))


def _edit_packages(targets: Sequence[Target], gathered: Gathered, report: Report, hashes: Hashes | None) -> Mend:
    """The pins, each in the files that state its package; one that none states goes into the first."""
    installation = gathered.installation or Installation()
    wishes: dict[str, list[Pin]] = {}
    exactly = {name for name, value in _list_stated(gathered.facts).items() if isinstance(value, Exact)}
    for pin in (*_choose_pins(report, exactly), *_pin_held(report, exactly, targets)):
        owners = [target for target in targets if _does_state(target, pin.package) or (not pin.added and _does_hold(target, pin.package))]
        for target in owners or targets[:1]:
            wishes.setdefault(target.text, []).append(pin)
    kinds = {target.text: target.kind for target in targets}
    edits: dict[str, Edited] = {}
    refused = []
    for text, pins in wishes.items():
        path = Path(text)
        if hashes is not None and b"--hash" in path.read_bytes():
            pins = [replace(one, hashes=hashes(one.package, one.specifier[2:])) if one.exact else one for one in pins]
        for edited in edit_packages(path, kinds[text], pins, installation):
            refused += [Skip(f"{_locate(edited, one, targets)}: {_describe(one.wish)}", one.why) for one in edited.refused]
            place = str(real_path(edited.path))
            before = edits.setdefault(place, edited)
            if before.after != edited.after and edited.after != edited.before:
                if before.after != before.before:
                    refused.append(Skip(str(edited.path), "two of the files that are given change it, each in its own way"))
                edits[place] = edited
    clears = frozenset(report.remedy.clears)
    if refused:
        command = _give_command(gathered, report.remedy)
        own = [command_of(Path(text), kinds[text], pin) for text, pins in wishes.items() for pin in pins]
        return replace(command, commands=tuple(own) if all(own) else command.commands, refused=tuple(refused))
    return Mend(tuple(edits.values()), clears=clears)


def _locate(edited: Edited, refusal: Refusal, targets: Sequence[Target]) -> str:
    """The file that was refused a pin; of code, with the line that states the package, since a hand has to find it."""
    code = edited.path.suffix == ".py" or any(target.kind == "script" and target.text == str(edited.path) for target in targets)
    if not code or not isinstance(refusal.wish, Pin):
        return str(edited.path)
    name = f"packages.{refusal.wish.package}"
    facts = (fact for target in targets for one in (target.collected, *(row.collected for row in target.others)) for fact in one.facts)
    found = next((fact.origin.line for fact in facts if fact.name == name and fact.origin.file == str(edited.path)), None)
    return str(edited.path) if found is None else f"{edited.path}:{found}"


def _pin_held(report: Report, stated: Set[str], targets: Sequence[Target]) -> list[Pin]:
    """What moves along and is held where it was by a line that installs nothing."""
    moved = [one for one in report.remedy.moves if one.after and one.package not in {*stated, *report.remedy.pins}]
    return [Pin(one.package, f"=={one.after}", added=False) for one in moved if any(_does_hold(target, one.package) for target in targets)]


def _does_hold(target: Target, package: str) -> bool:
    from envdoctor.uv.asking import named

    several = (target.collected, *(variant.collected for variant in target.others))
    return any(named(line) == package for one in several for line in one.constraints)


def _list_stated(facts: Facts) -> dict[str, FactValue]:
    return {name.removeprefix("packages."): fact.value for name, fact in facts.items() if name.startswith("packages.")}


def _choose_pins(report: Report, exactly: Set[str]) -> list[Pin]:
    """What files are to say: the exact pin, or the bound where a line leaves the release open and one bound is enough.

    What moves along is written where it is pinned: an installer would refuse the old pin.
    """
    bounds: dict[str, str] = {}
    for one in report.findings:
        if one.finding.newest:
            bounds |= {name: bound for cure in one.cures[:1] for name, bound in cure.bounds.items()}
    index = report.remedy.index
    pins = [Pin(name, bounds.get(name, pin), index if "+" in pin else "") for name, pin in report.remedy.pins.items()]
    moved = [Pin(one.package, f"=={one.after}") for one in report.remedy.moves if one.after and one.package in exactly]
    return [*pins, *moved, *(Pin(name, "") for name in report.remedy.removes)]


def _does_state(target: Target, package: str) -> bool:
    """Whether a file says something of a package, in any of the choices that it offers."""
    several = (target.collected, *(variant.collected for variant in target.others))
    return any(fact.name == f"packages.{package}" for one in several for fact in one.facts)


def _describe(wish: Pin | SetTo) -> str:
    return f"{wish.package}{wish.specifier}" if isinstance(wish, Pin) else f"{wish.fact} = {wish.value}"


def _with_pins(facts: Facts, remedy: Remedy) -> Facts:
    pinned = (Fact(f"packages.{name}", exact(pin[2:]), Origin("pin")) for name, pin in remedy.pins.items())
    return with_what_is_loaded(facts.with_facts(pinned))


def _edit_plan(plans: Sequence[Target], facts: Facts, left: Sequence[Diagnosed], book: Rulebook) -> Mend:
    """Settings of a plan file that clear what is left and bring nothing; what no cure is written for is told with the reason."""
    kept = _Planned()
    refused: dict[str, list[Skip]] = {}
    for one in left:
        rule = one.finding.rule.id
        for cure in (cure for cure in one.cures if cure.plan):
            told = {name: as_setting(value) for name, value in cure.plan.items()}
            if any(kept.settings.get(name, value) != value for name, value in told.items()):
                continue
            settings, clears = {**kept.settings, **told}, (*kept.clears, rule)
            if not is_clear(settings, facts, clears, book):
                continue
            edits, why = _write_plan(plans, told, settings)
            if edits:
                kept = _Planned(settings, clears, edits)
                break
            refused.setdefault(rule, []).extend(why)
    skips = [skip for rule, some in refused.items() if rule not in kept.clears for skip in some]
    pending = frozenset(refused) - {*kept.clears}
    return Mend(kept.edits, (), tuple(dict.fromkeys(skips)), kept.settings, frozenset(kept.clears), pending)


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a plan is given so far, and the rules that it clears."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    clears: tuple[str, ...] = ()
    edits: tuple[Edited, ...] = ()


def _write_plan(
    plans: Sequence[Target], told: Mapping[str, Setting], settings: Mapping[str, Setting]
) -> tuple[tuple[Edited, ...], list[Skip]]:
    """The edits of the first plan that takes all settings, or why none does; one that says something of them already is asked first."""
    wishes = [SetTo(name, value) for name, value in settings.items()]
    refused = []
    for target in sorted(plans, key=lambda one: not any(fact.name in told for fact in one.collected.facts)):
        edits = edit_settings(Path(target.text), wishes)
        found = [Skip(f"{edited.path}: {_describe(one.wish)}", one.why) for edited in edits for one in edited.refused]
        if not found:
            return edits, []
        refused += found
    return (), refused


def is_clear(settings: Mapping[str, Setting], facts: Facts, rules: Sequence[str], book: Rulebook) -> bool:
    """Whether under the settings these rules no longer hold, and no other does that did not before."""
    stated = [
        Fact(name, parse_value(name, list(value) if isinstance(value, tuple) else value), Origin("plan"))
        for name, value in settings.items()
    ]
    before, after = (_find_matching(derive(one), book) for one in (facts, facts.with_facts(stated)))
    return not after & set(rules) and not after - before


def _find_matching(facts: Facts, book: Rulebook) -> set[str]:
    view = Outcomes(release_texts).of(facts)
    rules = {
        rule.id
        for rule in book.rules
        if rule.condition is not None and rule.withdrawn is None and rule.severity != "note" and view.held(rule.condition)[0]
    }
    return rules | {hit.rule for check in FACT_CHECKS for hit in check(facts) if hit.outcome}


__all__ = ["Mend", "is_clear", "mend", "needs_change"]
