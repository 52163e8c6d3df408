"""``envdoctor check``: collect, match, confirm, propose, report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor import __version__
from envdoctor.checks import FACT_CHECKS, installed_hits
from envdoctor.checks.declared_together import CONTRADICT
from envdoctor.cli.gather import Gathered, gather_all
from envdoctor.cli.output import write
from envdoctor.cli.project import judged, settled
from envdoctor.cli.snapshots import examined
from envdoctor.diagnosis import Diagnosis, Finding, Outcomes, diagnose
from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Facts, Skip
from envdoctor.releases import as_of, known_until, newest, release_texts, tracked
from envdoctor.remedies.cures import Cure, cures
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Coverage, Diagnosed, Report, worst_first
from envdoctor.rulebook import Rulebook, load_rulebook
from envdoctor.versions import Exact, version_condition

if TYPE_CHECKING:
    from envdoctor.probes.verdict import Verdict

PLAN_HINT = "depends on your plan: add a plan file, or --set plan.method=lora"


def run(options: argparse.Namespace) -> int:
    with known_until(options.as_of):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    settings = settled(options)
    if options.resolve and options.offline:
        whose = "--offline" if not settings.offline else f"offline = true in {settings.place}"
        raise EnvdoctorError("--resolve", found=whose, expected="leave to ask the package index", next_step="leave one of them out")
    situations = [examined(gathered, full=options.full) for gathered in gather_all(options)]
    book = load_rulebook(
        (Path(directory) for directory in options.rule_directories),
        absent=lambda package: all(one.derived.lacks(package) for one in situations),
    )
    outcomes = Outcomes(release_texts)
    reports = [examine(one, book, outcomes, probe=options.probe, fail_on=options.fail_on, strict=options.strict) for one in situations]
    if len(reports) == 1 and not situations[0].label:
        report = reports[0]
    else:
        from envdoctor.report.joined import join

        labelled = zip((one.label for one in situations), reports, strict=True)
        report = join(tuple(labelled), coverage(*(one.derived for one in situations)))
    report = judged(options, report, settings, book)
    write(options, report)
    return report.exit_code()


def examine(gathered: Gathered, book: Rulebook, outcomes: Outcomes | None, *, probe: str, fail_on: str, strict: bool) -> Report:
    """Everything that follows from a situation, as one report; ``outcomes`` remembers for the next one."""
    diagnosis = judge(gathered, book, outcomes)
    return compose(gathered, book, diagnosis, outcomes, probe=probe, fail_on=fail_on, strict=strict)


def judge(gathered: Gathered, book: Rulebook, outcomes: Outcomes | None = None) -> Diagnosis:
    """The rules and checks that hold, or may hold, of a situation."""
    hits = [hit for check in FACT_CHECKS for hit in check(gathered.derived)]
    hits += gathered.hits
    if gathered.installed is not None:
        hits += installed_hits(gathered.installed)
    return diagnose(gathered.derived, book.rules, release_texts, hits=hits, defects=gathered.situation.defects, outcomes=outcomes)


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
) -> Report:
    """The report of a diagnosis: its findings confirmed where asked, with their cures, and one remedy for all."""
    diagnosis = replace(diagnosis, findings=tuple(replace(finding, rule=book.whole(finding.rule.id)) for finding in diagnosis.findings))
    verdicts = _probe(gathered, diagnosis, probe)
    findings = [_joined(finding, verdicts) for finding in diagnosis.findings]
    return Report(
        version=__version__,
        rules=len(book.tables),
        rules_digest=book.digest,
        releases_as_of=as_of(),
        patient=gathered.patient,
        facts=gathered.derived,
        findings=worst_first([Diagnosed(finding, _cures(finding, verdict, gathered.facts), verdict) for finding, verdict in findings]),
        remedy=_remedy(gathered.facts, book, [finding for finding, _ in findings], outcomes),
        unknown=diagnosis.waiting,
        skipped=(*gathered.situation.skips, *_unprobed(verdicts)),
        coverage=coverage(gathered.facts),
        probes=tuple(verdicts.values()),
        hints=(*hints, *_hints(gathered, diagnosis)),
        fail_on=fail_on,
        strict=strict,
        recognised=gathered.notes,
    )


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


def _cures(finding: Finding, verdict: Verdict | None, facts: Facts) -> tuple[Cure, ...]:
    """The fixes of the rule, after those plan changes under which the probe saw the fault go."""
    told = cures(finding, facts, release_texts)
    if verdict is None or finding.status != "confirmed":
        return told
    measured = [Cure("plan", f"measured: with {one.words} the fault is gone", {}, one.plan) for one in verdict.cured_by if one.plan]
    return (*measured, *(cure for cure in told if not any(cure.plan and dict(cure.plan) == dict(one.plan) for one in measured)))


def _unprobed(verdicts: dict[str, Verdict]) -> list[Skip]:
    return [Skip(f"probe {verdict.probe}", verdict.reason) for verdict in verdicts.values() if verdict.verdict == "inconclusive"]


def _remedy(facts: Facts, book: Rulebook, findings: Sequence[Finding], outcomes: Outcomes | None) -> Remedy:
    if not any(finding.status in ("matched", "confirmed") and finding.severity != "note" for finding in findings):
        return Remedy({}, (), ())
    from envdoctor.remedies.search import Problem, find_remedy

    # Both ways out of a contradiction stand in its finding; the search sees no difference between releases by what they require.
    others = [finding for finding in findings if finding.rule.id != CONTRADICT]
    return find_remedy(Problem(facts, book.rules, FACT_CHECKS, release_texts, outcomes), others)


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
