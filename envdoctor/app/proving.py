"""Showing that pins install: the remedies of a situation, asked of a resolver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice, product
from pathlib import Path

from envdoctor.app.gathered import Gathered
from envdoctor.app.request import Request
from envdoctor.app.targets import DECLARING
from envdoctor.checks import FACT_CHECKS
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Outcomes
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.loaded_with import with_what_is_loaded
from envdoctor.facts.versions import Exact, Ranged, exact
from envdoctor.records import dataclass, replace
from envdoctor.remedies.indexes import declared_indexes
from envdoctor.remedies.proof import WholeSet, proven
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook
from envdoctor.uv.resolution import UNRESOLVABLE
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

# Sets of the choices of a file that are held against each other; of those that agree, how many are judged and asked about.
_MOST_COMBINED = 512
_MOST_JUDGED = 32
_MOST_ASKED = 2


def prove_pins(request: Request, gathered: Gathered, report: Report, book: Rulebook) -> Report:
    """The report with its remedies as a resolver sees them: a proven one first, with what moves along.

    With ``--offline`` the bundled metadata is asked in its place, and the remedy says so.
    """
    candidates = (report.remedy, *report.alternatives)
    if not any(one.pins or one.removes for one in candidates):
        return report
    whole = whole_set(gathered, request.as_of)
    with nullcontext() if request.offline else request.watch.waiting("asking uv whether the pins install"):
        first, *others = proven(candidates, whole, offline=request.offline, accepts=_object_to(gathered.facts, book))
    first = _clear_resolved(first) if whole.declared else first
    declaring = [Path(one.text) for one in gathered.targets if one.kind in DECLARING]
    if first.verified == "resolver" and any(path.suffix in (".yml", ".yaml") for path in declaring):
        first = replace(first, proof=f"{first.proof}; conda's channels were not asked, but the package index")
    return replace(report, remedy=first, alternatives=tuple(one for one in others if not one.conflict))


def _clear_resolved(remedy: Remedy) -> Remedy:
    """What uv takes can be resolved: the finding that it could not is cleared."""
    if remedy.verified != "resolver" or UNRESOLVABLE not in remedy.unfixable:
        return remedy
    unfixable = tuple(name for name in remedy.unfixable if name != UNRESOLVABLE)
    return replace(remedy, clears=(*remedy.clears, UNRESOLVABLE), unfixable=unfixable)


def prove_together(
    request: Request, situations: Sequence[Gathered], searched: Sequence[Report], reports: Sequence[Report], book: Rulebook
) -> _Together:
    """The reports of the choices of one set of files, with remedies that agree: a line of a file is for all that read it.

    The best ranked set of each choice is taken, or the next ones, so that no package has two pins and what the pins of one choice change
    in another brings nothing there. ``searched`` are the ``reports`` before they were proved. Where no sets agree, the reports stay as
    they are, and the packages in dispute are rows.
    """
    if len(situations) < 2 or not any(one.remedy.pins or one.remedy.removes for one in reports):
        return _Together(tuple(reports))
    several = [(report.remedy, *report.alternatives) if report.remedy.pins else (report.remedy,) for report in reports]
    notes = {_identify(one): one.proof for report in searched for one in (report.remedy, *report.alternatives)}
    ranks = sorted(islice(product(*(range(len(some)) for some in several)), _MOST_COMBINED), key=lambda one: (sum(one), one))
    judged = asked = 0
    for combined in ranks:
        chosen = [some[rank] for some, rank in zip(several, combined, strict=True)]
        pins = _agree(chosen)
        if pins is None:
            continue
        fitted = [_fit(one, pins, gathered.facts) for one, gathered in zip(chosen, situations, strict=True)]
        new = [(one, gathered) for one, gathered, report in zip(fitted, situations, reports, strict=True) if one is not report.remedy]
        judged += bool(new)
        if judged > _MOST_JUDGED or asked == _MOST_ASKED:
            break
        if not all(_does_hold(one, gathered, book) for one, gathered in new):
            continue
        asked += 1
        rows = [
            report
            if new is report.remedy
            else _prove_again(request, gathered, report, replace(new, proof=notes.get(_identify(old), "")), book)
            for old, new, gathered, report in zip(chosen, fitted, situations, reports, strict=True)
        ]
        if not any(one.remedy.conflict and not two.conflict for one, two in zip(rows, chosen, strict=True)):
            again = (replace(one, alternatives=two.alternatives) for one, two in zip(rows, reports, strict=True))
            return _Together(tuple(again))
    wanted = {name for one in reports for name in one.remedy.pins}
    return _Together(tuple(reports), tuple(sorted(wanted)))


def _identify(remedy: Remedy) -> tuple[object, ...]:
    return (tuple(sorted(remedy.pins.items())), remedy.removes)


def _prove_again(request: Request, gathered: Gathered, report: Report, remedy: Remedy, book: Rulebook) -> Report:
    return prove_pins(request, gathered, replace(report, remedy=replace(remedy, moves=()), alternatives=()), book)


@dataclass(frozen=True, slots=True)
class _Together:
    """Reports whose remedies agree; ``disputed`` are the packages of which no pins were found that do."""

    reports: tuple[Report, ...]
    disputed: tuple[str, ...] = ()


def _agree(remedies: Sequence[Remedy]) -> dict[str, str] | None:
    """The pins of all, or None where a package has two, or one and is to be removed."""
    pins: dict[str, str] = {}
    for remedy in remedies:
        for name, pin in (*remedy.pins.items(), *((name, "") for name in remedy.removes)):
            if pins.setdefault(name, pin) != pin:
                return None
    return {name: pin for name, pin in pins.items() if pin}


def _fit(remedy: Remedy, pins: Mapping[str, str], facts: Facts) -> Remedy:
    """A remedy with the pins of others that change what is stated here as well."""
    more = {}
    for name, pin in pins.items():
        value = facts.value(f"packages.{name}")
        if name not in remedy.pins and isinstance(value, (Exact, Ranged)) and value.text != pin[2:]:
            more[name] = pin
    return replace(remedy, pins={**remedy.pins, **more}) if more else remedy


def _does_hold(remedy: Remedy, gathered: Gathered, book: Rulebook) -> bool:
    """Whether a remedy clears in a situation what it names, and brings nothing."""
    held = _judge_all(book)
    before = held(gathered.facts)
    after = held(_move(gathered.facts, remedy.pins))
    return not any(outcome and (name in remedy.clears or not before.get(name)) for name, outcome in after.items())


def _move(facts: Facts, pins: Mapping[str, str]) -> Facts:
    pinned = (Fact(f"packages.{name}", exact(pin.removeprefix("==")), Origin("pin")) for name, pin in pins.items())
    return with_what_is_loaded(facts.with_facts(pinned))


def _judge_all(book: Rulebook) -> Callable[[Facts], dict[str, bool | None]]:
    """What the rules and checks say of facts."""
    view = Outcomes(release_texts)
    rules = {rule.id: rule.condition for rule in book.rules if rule.condition is not None and rule.severity != "note"}

    def held(stated: Facts) -> dict[str, bool | None]:
        derived = derive(stated)
        seen = view.of(derived)
        outcomes = {name: seen.held(condition)[0] for name, condition in rules.items()}
        return outcomes | {hit.rule: hit.outcome for check in FACT_CHECKS for hit in check(derived)}

    return held


def whole_set(gathered: Gathered, day: str | None) -> WholeSet:
    """All that is to be installed together in a situation."""
    declaring = [target for target in gathered.targets if target.kind not in ("model", "plan", "lock")]
    files = [(Path(target.text), target.kind) for target in declaring if target.kind in DECLARING]
    return WholeSet(
        gathered.facts,
        _installation(gathered),
        tuple(line for target in declaring for line in target.collected.wanted),
        gathered.constraints,
        tuple(line for path, kind in files for line in declared_indexes(path, kind)),
        day,
    )


def _installation(gathered: Gathered) -> Installation:
    """The machine and the Python of the patient, as far as anybody said."""
    python = gathered.facts.value("python")
    where = (gathered.installation or Installation()).on(gathered.facts.text("os"), gathered.facts.text("machine"))
    if isinstance(python, Exact):
        return where.with_python(python.text)
    return where if python is None else where.admitted_by(str(python))


def _object_to(facts: Facts, book: Rulebook) -> Callable[[Mapping[str, str]], str]:
    """What speaks against releases that move along: a rule that did not hold before, and would then."""
    held = _judge_all(book)
    before = held(facts)

    def rows(pins: Mapping[str, str]) -> str:
        after = held(_move(facts, pins))
        brought = sorted(name for name, outcome in after.items() if outcome and before.get(name, False) is False)
        return f"{', '.join(brought)} would hold with what moves along" if brought else ""

    return rows


__all__ = ["prove_pins", "prove_together", "whole_set"]
