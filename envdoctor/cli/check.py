"""``envdoctor check``: collect, match, confirm, propose, report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor import __version__
from envdoctor.checks import FACT_CHECKS
from envdoctor.cli.gather import Gathered, gather_all
from envdoctor.cli.judging import as_taken, is_declared, judge, remedies_of, wanted
from envdoctor.cli.output import write
from envdoctor.cli.project import judged, settled
from envdoctor.cli.snapshots import examined
from envdoctor.engine.diagnosis import Diagnosis, Finding, Outcomes
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts, Skip
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.remedies.cures import Cure, cures
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Coverage, Diagnosed, Report, worst_first
from envdoctor.rules.rulebook import Rulebook, load_rulebook
from envdoctor.world.releases import age, as_of, known_until, newest, release_texts, source, tracked

if TYPE_CHECKING:
    from envdoctor.probes.verdict import Verdict
    from envdoctor.remedies.newest import Newest

# Of more situations than these, the joint pins of each are left to `fix`: the search is exact, and costs more than all the rest.
_MOST_SEARCHED = 24
PLAN_HINT = "depends on your plan: add a plan file, or --set plan.method=lora"
FIX_HINT = "joint pins were not searched for so many situations: envdoctor fix --each FILE"


def run(options: argparse.Namespace) -> int:
    with known_until(options.as_of):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    settings = settled(options)
    case = examined_case(options, offline=settings.place if settings.offline else None)
    reports = case.reports
    if options.resolve:
        from envdoctor.cli.proving import proved

        reports = tuple(proved(options, one, report, case.book) for one, report in zip(case.situations, reports, strict=True))
    report = judged(options, joined(case.situations, reports), settings, case.book)
    write(options, report)
    return report.exit_code()


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that the options name, read and judged: the situations, each with its report."""

    situations: tuple[Gathered, ...]
    reports: tuple[Report, ...]
    book: Rulebook


def examined_case(options: argparse.Namespace, *, offline: str | None = None, most_searched: int = _MOST_SEARCHED) -> Case:
    """The situations of the options and what is to be said of each; ``offline`` is the settings file that declines the network.

    Of more than ``most_searched`` situations no joint pins are searched, and that is said.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    if getattr(options, "resolve", False) and options.offline:
        whose = "--offline" if offline is None else f"offline = true in {offline}"
        raise EnvdoctorError("--resolve", found=whose, expected="leave to ask the package index", next_step="leave one of them out")
    situations = tuple(examined(gathered, full=getattr(options, "full", False)) for gathered in gather_all(options))
    book = load_rulebook(
        (Path(directory) for directory in options.rule_directories),
        absent=lambda package: all(one.derived.lacks(package) for one in situations),
    )
    outcomes = Outcomes(release_texts)
    how = {"probe": options.probe, "fail_on": options.fail_on, "strict": options.strict, "search": len(situations) <= most_searched}
    reports = (examine(one, book, outcomes, **how) for one in situations)
    return Case(situations, tuple(reports), book)


def joined(situations: Sequence[Gathered], reports: Sequence[Report]) -> Report:
    """One report of all situations."""
    if len(reports) == 1 and not situations[0].label:
        return reports[0]
    from envdoctor.report.joined import join

    labelled = zip((one.label for one in situations), reports, strict=True)
    return join(tuple(labelled), coverage(*(one.derived for one in situations)))


def examine(
    gathered: Gathered, book: Rulebook, outcomes: Outcomes | None, *, probe: str, fail_on: str, strict: bool, search: bool = True
) -> Report:
    """Everything that follows from a situation, as one report; ``outcomes`` remembers for the next one."""
    diagnosis = judge(gathered, book, outcomes)
    return compose(gathered, book, diagnosis, outcomes, probe=probe, fail_on=fail_on, strict=strict, search=search)


def compose(
    gathered: Gathered,
    book: Rulebook,
    diagnosis: Diagnosis,
    outcomes: Outcomes | None = None,
    *,
    probe: str,
    fail_on: str,
    strict: bool,
    hints: Sequence[str] = (),
    search: bool = True,
) -> Report:
    """The report of a diagnosis: its findings confirmed where asked, with their cures, and one remedy for all where it is searched."""
    diagnosis = replace(diagnosis, findings=tuple(replace(finding, rule=book.whole(finding.rule.id)) for finding in diagnosis.findings))
    verdicts = _probe(gathered, diagnosis, probe)
    findings = [_joined(finding, verdicts) for finding in diagnosis.findings]
    stated = lru_cache(maxsize=2)(lambda newest: as_taken(gathered) if newest else gathered.facts)
    newer = _newer(stated, book, outcomes) if search else None
    told = [finding for finding, _ in findings]
    remedies = remedies_of(gathered, book, told, outcomes, strict=strict) if search else (_unsearched(told, strict=strict),)
    return Report(
        version=__version__,
        rules=len(book.tables),
        rules_digest=book.digest,
        releases_as_of=as_of(),
        releases_age=_age(),
        patient=gathered.patient,
        facts=gathered.derived,
        findings=worst_first(
            [
                Diagnosed(finding, _cures(finding, verdict, gathered, stated(finding.newest), newer), verdict)
                for finding, verdict in findings
            ]
        ),
        remedy=remedies[0],
        alternatives=remedies[1:],
        unknown=diagnosis.waiting,
        skipped=(*gathered.situation.skips, *_unprobed(verdicts), *_passed_over()),
        coverage=coverage(gathered.facts),
        probes=tuple(verdicts.values()),
        hints=(*hints, *_hints(gathered, diagnosis), *((FIX_HINT,) if remedies[0].proof == FIX_HINT else ())),
        fail_on=fail_on,
        strict=strict,
        recognised=gathered.notes,
    )


def _age() -> int:
    """How many days ago the list of releases ended; none where somebody asked about an earlier day."""
    today = datetime.now(timezone.utc).date()
    return age(today) if as_of() == source().day else 0


def _passed_over() -> tuple[Skip, ...]:
    """A table of releases that the user had made, and that cannot be used."""
    told = source().passed_over
    return (Skip("releases that rules refresh has kept", told),) if told else ()


def _probe(gathered: Gathered, diagnosis: Diagnosis, choice: str) -> dict[str, Verdict]:
    """``auto`` runs the probes that a finding names, ``all`` every probe that fits the plan."""
    if choice == "off":
        return {}
    from envdoctor.cli.probing import run_probes
    from envdoctor.probes.registry import PROBES

    named = {finding.rule.probe for finding in diagnosis.findings if finding.rule.probe is not None}
    chosen = [name for name in PROBES if choice == "all" or name in named]
    return run_probes(chosen, gathered.interpreter, gathered.derived, trust=gathered.trust)


def _joined(finding: Finding, verdicts: dict[str, Verdict]) -> tuple[Finding, Verdict | None]:
    """A finding with its probe's verdict. A possible one stays possible: the probe ran with facts that nobody stated."""
    verdict = verdicts.get(finding.rule.probe or "")
    if verdict is not None:
        from envdoctor.probes.registry import about

        verdict = about(verdict, finding.packages, finding.rule.symptoms)
    if verdict is None or finding.status != "matched" or verdict.verdict == "inconclusive":
        return finding, verdict
    return replace(finding, status="confirmed" if verdict.verdict == "confirmed" else "refuted"), verdict


def _unsearched(findings: Sequence[Finding], *, strict: bool) -> Remedy:
    """In place of joint pins: that they were not searched, where there is something to clear."""
    return Remedy({}, (), (), proof=FIX_HINT if wanted(findings, strict=strict) else "")


def _newer(stated: Callable[[bool], Facts], book: Rulebook, outcomes: Outcomes | None) -> Callable[[Finding], Newest]:
    """Who judges the newest releases for a finding, of what is stated or of what would be taken; made when one is to be judged."""

    @lru_cache(maxsize=2)
    def judge_of(taken: bool) -> Newest:
        from envdoctor.remedies.newest import Newest

        return Newest(stated(taken), book.rules, FACT_CHECKS, outcomes or Outcomes(release_texts))

    return lambda finding: judge_of(finding.newest)


def _cures(
    finding: Finding, verdict: Verdict | None, gathered: Gathered, stated: Facts, newer: Callable[[Finding], Newest] | None
) -> tuple[Cure, ...]:
    """The fixes of the rule, after those plan changes under which the probe saw the fault go.

    Where files declare the packages, the newest release is offered beside the nearest one: nothing is installed yet.
    """
    told = cures(finding, stated, release_texts)
    own = {name for name, _ in gathered.projects}
    told = tuple(cure for cure in told if own.isdisjoint(cure.pins))
    if newer is not None and any(cure.pins for cure in told) and is_declared(gathered) and finding.severity != "note":
        last = max(place for place, cure in enumerate(told) if cure.pins) + 1
        told = (*told[:last], *newer(finding).cures(finding, told), *told[last:])
    if verdict is None or finding.status != "confirmed":
        return told
    measured = [Cure("plan", f"measured: with {one.words} the fault is gone", {}, one.plan) for one in verdict.cured_by if one.plan]
    return (*measured, *(cure for cure in told if not any(cure.plan and dict(cure.plan) == dict(one.plan) for one in measured)))


def _unprobed(verdicts: dict[str, Verdict]) -> list[Skip]:
    return [Skip(f"probe {verdict.probe}", verdict.reason) for verdict in verdicts.values() if verdict.verdict == "inconclusive"]


def coverage(*several: Facts) -> Coverage:
    """How many packages of the situations the rules can speak of, and which are newer than any release they know."""
    known, newer = set(), set()
    for facts in several:
        for name in facts:
            package = name.removeprefix("packages.")
            if package == name or package not in tracked():
                continue
            known.add(package)
            value, last = facts.value(name), newest(package)
            if isinstance(value, Exact) and last is not None and version_condition(f">{last}").admits(value):
                newer.add(package)
    return Coverage(len(known), tuple(sorted(newer)))


def _hints(gathered: Gathered, diagnosis: Diagnosis) -> tuple[str, ...]:
    waits_for_plan = any(
        name.startswith("plan.") for finding in diagnosis.findings if finding.status == "possible" for name in finding.missing
    )
    return (PLAN_HINT,) if waits_for_plan and not gathered.has_plan else ()
