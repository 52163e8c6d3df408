"""What holds of a situation, and what clears it: everything between facts and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envdoctor.app.bounds_of_files import within_bounds_first
from envdoctor.app.gathered import Gathered
from envdoctor.checks import FACT_CHECKS, installed_hits
from envdoctor.checks.atlas import breaks_of
from envdoctor.checks.declared_together import declared_together
from envdoctor.checks.few_stated import asked_about
from envdoctor.checks.newest_breaks import breaks_of_newest
from envdoctor.checks.whole_lists import scanned_names
from envdoctor.engine.brought import show_what_was_brought
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Diagnosis, Finding, Outcomes, Sifted, diagnose
from envdoctor.engine.likely_install import PROJECT
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.versions import Exact
from envdoctor.records import replace
from envdoctor.remedies.heeded_notes import heeding, notes_against
from envdoctor.remedies.remedy import Remedy
from envdoctor.rules.rulebook import Rulebook
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import release_texts

if TYPE_CHECKING:
    from envdoctor.checks.hit import Hit
    from envdoctor.report.model import Report

    _Search = Callable[[], tuple[Remedy, ...]]


def judge(gathered: Gathered, book: Rulebook, outcomes: Outcomes | None = None) -> Diagnosis:
    """The rules and checks that hold, or may hold, of a situation."""
    hits = [hit for check in FACT_CHECKS for hit in check(gathered.derived)]
    hits += gathered.hits
    if gathered.installed is not None:
        hits += installed_hits(gathered.installed)
    newest = predict_facts(gathered)
    if gathered.apart:
        hits += [_left_open(hit, gathered.facts) for hit in declared_together(derive(newest)) if hit.outcome]
    if newest is not gathered.facts:
        hits += breaks_of_newest(gathered.facts, newest)
    taken = None if newest is gathered.facts else derive(newest)

    def found(hits: Sequence[Hit]) -> Diagnosis:
        def judged(sifted: Sifted | None = None) -> Diagnosis:
            return diagnose(
                gathered.derived,
                book.rules,
                release_texts,
                hits=hits,
                defects=_without_built(gathered.situation.defects, gathered.derived),
                outcomes=outcomes,
                taken=taken,
                sifted=sifted,
            )

        return _of_a_stack(gathered, hits, book, judged) if gathered.installed is not None and taken is None else judged()

    told = found(hits)
    asked = asked_about(gathered.derived)
    if asked is None or any(one.status == "matched" for one in told.findings):
        return told
    from envdoctor.checks.unstated_partners import unstated_partners

    partners = tuple(unstated_partners(gathered.derived, asked))
    told = found([*hits, *partners]) if partners else told
    return replace(told, findings=show_what_was_brought(told.findings, gathered.derived))


def _without_built(defects: Sequence[Defect], facts: Facts) -> tuple[Defect, ...]:
    """The defects without those of builds that were done: what is there already is not built again."""
    if not defects:
        return ()
    from envdoctor.sources.declared.built_apart import WITHOUT_TORCH

    present = facts.value("present")
    there = frozenset(present) if isinstance(present, tuple) else frozenset()
    return tuple(one for one in defects if one.rule != WITHOUT_TORCH or there.isdisjoint(one.packages))


def _of_a_stack(gathered: Gathered, hits: Sequence[Hit], book: Rulebook, judged: Callable[[Sifted | None], Diagnosis]) -> Diagnosis:
    """The diagnosis of an installed stack, which stays for weeks: which rules have a say about it is looked for once."""
    from envdoctor.engine.kept import keep, key, recall
    from envdoctor.files.user_cache import cache_directory

    of = key(gathered.derived, hits, book.digest, len(book.rules))
    before = recall(cache_directory(), of)
    sifted = before if before is not None and all(map(book.rules.has, before.telling)) else None
    diagnosis = judged(sifted)
    if sifted is None:
        keep(cache_directory(), of, diagnosis.sifted)
    return diagnosis


def _left_open(hit: Hit, facts: Facts) -> Hit:
    """A contradiction of the newest releases, where lines are installed with ``--no-deps``: possible where one leaves them open."""
    open_ = [name for name, _ in hit.because if not isinstance(facts.value(name), Exact)]
    return (
        replace(hit, outcome=None, missing=tuple(dict.fromkeys(open_)), detail=f"installed with --no-deps: {hit.detail}") if open_ else hit
    )


def is_declared(gathered: Gathered) -> bool:
    """Whether files declare the packages that an installer is still to choose releases of."""
    return any(target.kind in ("requirements", "image") or target.collected.wanted for target in gathered.targets)


def predict_facts(gathered: Gathered) -> Facts:
    """The stated facts with what an installer would take of what the files leave open."""
    if not is_declared(gathered):
        return gathered.facts
    from envdoctor.engine.likely_install import taken

    return taken(gathered.facts, gathered.constraints, apart=gathered.apart, elsewhere=gathered.elsewhere, projects=gathered.projects)


def select_goals(findings: Sequence[Finding], *, strict: bool) -> list[Finding]:
    """The findings that pins are to clear: errors and warnings that are decided, and with ``strict`` what is possible, as if it were."""
    # A release of a package from before it had the function that a plan runs would seem to clear what the function runs into.
    counted = [one for one in findings if one.severity != "note" and one.rule.id != "plan-runs-into-break"]
    possible = [replace(one, status="matched") for one in counted if one.status == "possible" and not one.hidden] if strict else []
    return [one for one in counted if one.status in ("matched", "confirmed")] + possible


def find_situation_remedies(
    gathered: Gathered, book: Rulebook, findings: Sequence[Finding], outcomes: Outcomes | None = None, *, strict: bool
) -> tuple[Remedy, ...]:
    """The smallest sets of pins that clear these findings of a situation, ranked; one without pins where there is none.

    With ``strict`` they clear what is possible as well. Where what an installer would take is to be cleared, the search goes out from that.
    """
    goals = select_goals(findings, strict=strict)
    if not goals:
        return (Remedy({}, (), ()),)
    # Whether anybody uses a main name is supposed: where both are too much to look at, what is certain is not left without a cure for it.
    certain = [one for one in goals if one.rule.id != "part-breaks"]
    if not 0 < len(certain) < len(goals):
        found = _find_remedies(gathered, book, goals, outcomes)
        notes = notes_against(found[0], findings)
        return heeding(found, _find_remedies(gathered, book, [*goals, *notes], outcomes, brief=True)) if notes else found
    soon = _find_remedies(gathered, book, goals, outcomes, brief=True)
    return soon or _find_remedies(gathered, book, certain, outcomes)


def remedy_the_rest(report: Report, gathered: Gathered, book: Rulebook, *, strict: bool) -> Report:
    """The report with the pins for what is not excused, where something is."""
    if not any(one.excused for one in report.findings):
        return report
    left = [one.finding for one in report.findings if not one.excused]
    first, *others = find_situation_remedies(gathered, book, left, strict=strict)
    return replace(report, remedy=first, alternatives=tuple(others))


def _find_remedies(
    gathered: Gathered, book: Rulebook, goals: list[Finding], outcomes: Outcomes | None, *, brief: bool = False
) -> tuple[Remedy, ...]:
    """As ``find_situation_remedies``; with ``brief`` none where what clears everything is not soon found."""
    from envdoctor.checks.caps import cautious
    from envdoctor.remedies.cures import is_change_of_code

    by_pins = {finding.rule.id for finding in goals if not is_change_of_code(finding, gathered.facts, release_texts)}
    in_code = {finding.rule.id for finding in goals} - by_pins
    goals = [finding for finding in goals if finding.rule.id not in in_code]
    if not goals:
        return (Remedy({}, (), tuple(sorted(in_code)), in_code=tuple(sorted(in_code))),)

    # Of what would be taken, only that which is accused: the rest follows by itself.
    facts = stated = gathered.facts
    accused = {name for finding in goals if finding.newest for name in finding.missing}
    if accused:
        newest = predict_facts(gathered)
        stated = facts.with_facts(newest[name] for name in accused if name in newest and newest[name].origin.source != PROJECT)
    # A main name is asked for by the check itself: asked for as a script's import too, it would stand in for any other import that fails.
    asked = sorted({one.entry for one in goals if one.entry and one.rule.id != "part-breaks"})
    checks = (*FACT_CHECKS, breaks_of([(package_of(entry.partition(".")[0].partition(":")[0]), entry) for entry in asked]))

    def search(*, brief: bool = False) -> tuple[Remedy, ...]:
        from envdoctor.remedies.search import Problem, find_remedies

        problem = Problem(stated, book.rules, checks if asked else FACT_CHECKS, release_texts, outcomes, requires=cautious)
        return find_remedies(problem, goals, brief=brief)

    found = search(brief=True) if brief else _of_an_environment(stated, book.digest, goals, search) if scanned_names(facts) else search()
    if brief and not found:
        return ()
    # To narrow what a file leaves open is less than to move what somebody has pinned.
    pinned = {name for name, fact in facts.items() if isinstance(fact.value, Exact)}
    if accused:
        found = tuple(sorted(found, key=lambda one: (len(one.changes), sum(f"packages.{name}" in pinned for name in one.pins))))
    found = within_bounds_first(found, gathered)
    found = found or (Remedy({}, (), tuple(sorted({finding.rule.id for finding in goals}))),)
    told = tuple(sorted(in_code))
    return tuple(replace(one, unfixable=tuple(sorted({*one.unfixable, *told})), in_code=told) for one in found) if told else found


def _of_an_environment(stated: Facts, digest: str, goals: Sequence[Finding], search: _Search) -> tuple[Remedy, ...]:
    """The remedies of an installed stack, which stays for weeks: they are looked for once."""
    from envdoctor.files.user_cache import cache_directory
    from envdoctor.remedies.kept import keep, key, recall

    of = key(stated, goals, digest)
    found = recall(cache_directory(), of)
    if found is None:
        found = search()
        keep(cache_directory(), of, found)
    return found


__all__ = ["find_situation_remedies", "is_declared", "judge", "predict_facts", "remedy_the_rest", "select_goals"]
