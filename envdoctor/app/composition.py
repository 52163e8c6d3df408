"""The report of a diagnosis: its findings confirmed where asked, with their cures, and one remedy for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor import __version__
from envdoctor.app.coverage import measure_coverage
from envdoctor.app.cures_of_log import as_of_a_log, nearer_remedies
from envdoctor.app.gathered import Gathered
from envdoctor.app.judgement import find_situation_remedies, is_declared, predict_facts, select_goals
from envdoctor.app.request import Request
from envdoctor.checks import FACT_CHECKS
from envdoctor.engine.diagnosis import Diagnosis, Finding, Outcomes
from envdoctor.facts.fact import Facts, Skip
from envdoctor.records import replace
from envdoctor.remedies.cures import Cure, agreeing, cures
from envdoctor.remedies.preference import changes_first, goes_back
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Diagnosed, Report, worst_first
from envdoctor.rules.rulebook import Rulebook
from envdoctor.world.releases import age, as_of, release_texts, source

if TYPE_CHECKING:
    from envdoctor.probes.verdict import Verdict
    from envdoctor.remedies.newest import Newest

PLAN_HINT = "depends on your plan: add a plan file, or --set plan.method=lora"
FIX_HINT = "joint pins were not searched for so many situations: envdoctor fix --each FILE"


def compose_report(
    request: Request,
    gathered: Gathered,
    book: Rulebook,
    diagnosis: Diagnosis,
    outcomes: Outcomes | None = None,
    *,
    hints: Sequence[str] = (),
    search: bool = True,
    of_log: bool = False,
) -> Report:
    """The report of a diagnosis: its findings confirmed where asked, with their cures, and one remedy for all where it is searched.

    ``of_log``: the findings explain a run that failed, of which little is stated (``cures_of_log.py``).
    """
    diagnosis = replace(diagnosis, findings=tuple(replace(finding, rule=book.whole(finding.rule.id)) for finding in diagnosis.findings))
    verdicts = _run_probes(request, gathered, diagnosis)
    findings = [_with_verdict(finding, verdicts) for finding in diagnosis.findings]
    stated = lru_cache(maxsize=2)(lambda newest: predict_facts(gathered) if newest else gathered.facts)
    newer = _make_newest(stated, book, outcomes) if search else None
    told = [finding for finding, _ in findings]
    strict, kept = request.strict, _list_kept(request, gathered)
    remedies = find_situation_remedies(gathered, book, told, outcomes, strict=strict) if search else (_say_unsearched(told, strict=strict),)
    remedies = _without(remedies, kept, told, strict=strict)
    diagnosed = worst_first(
        [Diagnosed(one, _list_cures(one, verdict, gathered, stated(one.newest), newer, kept), verdict) for one, verdict in findings]
    )
    if of_log:
        diagnosed = tuple(replace(one, cures=as_of_a_log(one.cures, one.finding, gathered.facts, remedies[0])) for one in diagnosed)
        remedies = nearer_remedies(remedies, diagnosed, gathered.facts)
    by_change = _find_by_change(request, gathered, book, diagnosed, remedies[0], outcomes) if search else None
    answer = by_change or remedies[0]
    if not of_log:
        diagnosed = tuple(replace(one, cures=agreeing(one.cures, one.finding, answer)) for one in diagnosed)
    return Report(
        version=__version__,
        rules=len(book.tables),
        rules_digest=book.digest,
        releases_as_of=as_of(),
        releases_age=_count_days(),
        patient=gathered.patient,
        facts=gathered.derived,
        findings=diagnosed,
        remedy=remedies[0],
        by_change=by_change,
        alternatives=remedies[1:],
        unknown=diagnosis.waiting,
        skipped=(*gathered.situation.skips, *_list_unprobed(verdicts), *_list_passed_over()),
        coverage=measure_coverage(gathered.facts),
        probes=tuple(verdicts.values()),
        hints=(*hints, *_give_hints(gathered, diagnosis), *((FIX_HINT,) if remedies[0].proof == FIX_HINT else ())),
        fail_on=request.fail_on,
        strict=strict,
        allow_empty=request.allow_empty,
        show_all=request.show_all,
        recognised=gathered.notes,
        either_way=of_log,
    )


def _find_by_change(
    request: Request, gathered: Gathered, book: Rulebook, diagnosed: Sequence[Diagnosed], remedy: Remedy, outcomes: Outcomes | None
) -> Remedy | None:
    """What cures by a change of the plan, where the pins leave something or go back to older releases."""
    if not remedy.pins or not (remedy.unfixable or goes_back(remedy.pins, gathered.facts)):
        return None
    from envdoctor.app.plan_first import find_plan_first

    return find_plan_first(gathered, book, diagnosed, remedy, outcomes, strict=request.strict)


def _count_days() -> int:
    """How many days ago the list of releases ended; none where somebody asked about an earlier day."""
    today = datetime.now(timezone.utc).date()
    return age(today) if as_of() == source().day else 0


def _list_passed_over() -> tuple[Skip, ...]:
    """A table of releases that the user had made, and that cannot be used."""
    told = source().passed_over
    return (Skip("releases that rules refresh has kept", told),) if told else ()


def _run_probes(request: Request, gathered: Gathered, diagnosis: Diagnosis) -> dict[str, Verdict]:
    """``auto`` runs the probes that a finding names, ``all`` every probe that fits the plan."""
    if request.probe == "off":
        return {}
    from envdoctor.app.probing import run_probes
    from envdoctor.probes.registry import PROBES

    named = {finding.rule.probe for finding in diagnosis.findings if finding.rule.probe is not None}
    chosen = [name for name in PROBES if request.probe == "all" or name in named]
    return run_probes(chosen, gathered.interpreter, gathered.derived, request.watch, trust=gathered.trust)


def _with_verdict(finding: Finding, verdicts: dict[str, Verdict]) -> tuple[Finding, Verdict | None]:
    """A finding with its probe's verdict. A possible one stays possible: the probe ran with facts that nobody stated."""
    verdict = verdicts.get(finding.rule.probe or "")
    if verdict is not None:
        from envdoctor.probes.registry import about

        verdict = about(verdict, finding.packages, finding.rule.symptoms)
    if verdict is None or finding.status != "matched" or verdict.verdict == "inconclusive":
        return finding, verdict
    return replace(finding, status="confirmed" if verdict.verdict == "confirmed" else "refuted"), verdict


def _say_unsearched(findings: Sequence[Finding], *, strict: bool) -> Remedy:
    """In place of joint pins: that they were not searched, where there is something to clear."""
    return Remedy({}, (), (), proof=FIX_HINT if select_goals(findings, strict=strict) else "")


def _make_newest(stated: Callable[[bool], Facts], book: Rulebook, outcomes: Outcomes | None) -> Callable[[Finding], Newest]:
    """Who judges the newest releases for a finding, of what is stated or of what would be taken; made when one is to be judged."""

    @lru_cache(maxsize=2)
    def judge_of(taken: bool) -> Newest:
        from envdoctor.remedies.newest import Newest

        return Newest(stated(taken), book.rules, FACT_CHECKS, outcomes or Outcomes(release_texts))

    return lambda finding: judge_of(finding.newest)


def _list_cures(
    finding: Finding,
    verdict: Verdict | None,
    gathered: Gathered,
    stated: Facts,
    newer: Callable[[Finding], Newest] | None,
    kept: frozenset[str],
) -> tuple[Cure, ...]:
    """The fixes of the rule, after those plan changes under which the probe saw the fault go; none moves what is ``kept``.

    Where files declare the packages, the newest release is offered beside the nearest one: nothing is installed yet.
    """
    told = cures(finding, stated, release_texts)
    told = tuple(cure for cure in told if kept.isdisjoint(cure.pins))
    if newer is not None and any(cure.pins for cure in told) and is_declared(gathered) and finding.severity != "note":
        last = max(place for place, cure in enumerate(told) if cure.pins) + 1
        told = (*told[:last], *newer(finding).cures(finding, told), *told[last:])
    told = changes_first(told, finding, stated)
    if verdict is not None and finding.status == "confirmed":
        told = _measured_first(told, verdict)
    if not any(cure.plan for cure in told) or not gathered.targets:
        return told
    from envdoctor.app.written import write_settings

    return write_settings(told, gathered.targets, gathered.derived)


def _measured_first(told: tuple[Cure, ...], verdict: Verdict) -> tuple[Cure, ...]:
    measured = [Cure("plan", f"measured: with {one.words} the fault is gone", {}, one.plan) for one in verdict.cured_by if one.plan]
    return (*measured, *(cure for cure in told if not any(cure.plan and dict(cure.plan) == dict(one.plan) for one in measured)))


def _list_kept(request: Request, gathered: Gathered) -> frozenset[str]:
    """The packages that no fix moves: the project itself, and those of whose releases was asked what they would break."""
    own = {name for name, _ in gathered.projects}
    if request.against:
        from envdoctor.app.upgrade import collect_against

        own |= {fact.name.removeprefix("packages.") for fact in collect_against(request.against).facts}
    return frozenset(own)


def _without(remedies: tuple[Remedy, ...], kept: frozenset[str], findings: Sequence[Finding], *, strict: bool) -> tuple[Remedy, ...]:
    """The joint remedies that leave these packages where they are; one without pins where there is none."""
    found = tuple(one for one in remedies if kept.isdisjoint(one.pins))
    return found or (Remedy({}, (), tuple(sorted({one.rule.id for one in select_goals(findings, strict=strict)}))),)


def _list_unprobed(verdicts: dict[str, Verdict]) -> list[Skip]:
    return [Skip(f"probe {verdict.probe}", verdict.reason) for verdict in verdicts.values() if verdict.verdict == "inconclusive"]


def _give_hints(gathered: Gathered, diagnosis: Diagnosis) -> tuple[str, ...]:
    waits_for_plan = any(
        name.startswith("plan.") for finding in diagnosis.findings if finding.status == "possible" for name in finding.missing
    )
    return (PLAN_HINT,) if waits_for_plan and not gathered.has_plan else ()
