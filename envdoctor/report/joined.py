"""One report of several situations: files checked together, or the choices that a file offers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from envdoctor.facts.fact import Facts, Skip
from envdoctor.probes.verdict import Verdict
from envdoctor.records import replace
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Coverage, Diagnosed, Report, Situation, worst_first

_OF_A_FILE = ("plan.", "model.")
_Key: TypeAlias = "tuple[object, ...]"


def join(parts: Sequence[tuple[str, Report]], coverage: Coverage) -> Report:
    """The reports of labelled situations as one; a finding that several share is told once.

    ``facts`` are those of what is always there, else those on which all agree; ``coverage`` is that of all together.
    """
    if len(parts) == 1 and not parts[0][0]:
        return parts[0][1]
    reports = [report for _, report in parts]
    first = reports[0]
    alone = len({report.patient for report in reports}) == 1
    return replace(
        first,
        patient=first.patient if alone else f"{len({report.patient for report in reports})} situations",
        facts=first.facts if alone and not parts[0][0] else _agreed([report.facts for report in reports]),
        findings=_findings(parts),
        remedy=_remedy([report.remedy for report in reports]),
        alternatives=_alternatives(reports),
        unknown=_unknown(reports),
        skipped=_distinct(skip for report in reports for skip in report.skipped),
        coverage=coverage,
        probes=_verdicts(reports),
        hints=tuple(dict.fromkeys(hint for report in reports for hint in report.hints)),
        recognised=tuple(dict.fromkeys(line for report in reports for line in report.recognised)),
        by_change=None,
        situations=tuple(Situation(label, report.patient, report.facts, report.remedy) for label, report in parts),
    )


def _agreed(several: Sequence[Facts]) -> Facts:
    """The facts that every situation has with the same value."""
    first, *others = several
    same = {name: fact for name, fact in first.by_name.items() if all(other.value(name) == fact.value for other in others)}
    return Facts(same, all(facts.closed for facts in several))


def _findings(parts: Sequence[tuple[str, Report]]) -> tuple[Diagnosed, ...]:
    found: dict[_Key, Diagnosed] = {}
    labels: dict[_Key, list[str]] = {}
    of_patient: dict[str, set[str]] = {}
    lines: dict[_Key, str] = {}
    # What holds without an extra as well is told once, and not of the extra.
    always_there = {(report.patient, _key(one, "")) for label, report in parts if not label for one in report.findings}
    for label, report in parts:
        of_patient.setdefault(report.patient, set()).add(label)
        for diagnosed in report.findings:
            shared = not label or (report.patient, _key(diagnosed, "")) in always_there
            # The same line for the same reasons is one cause, however many files lead to it: launchers of one script.
            patient = report.patient if label else lines.setdefault((*_key(diagnosed, ""), diagnosed.finding.because), report.patient)
            key = _key(diagnosed, "" if shared and _is_of_the_stack(diagnosed) else patient)
            found.setdefault(key, diagnosed)
            labels.setdefault(key, []).append(label)
    told = []
    for key, diagnosed in found.items():
        always = "" in labels[key] or set(labels[key]) == of_patient[str(key[0])]
        told.append(diagnosed if always else replace(diagnosed, within=tuple(dict.fromkeys(labels[key]))))
    told.sort(key=lambda one: (*one.finding.rank(), one.finding.rule.id, _place(one)))
    return worst_first(told)


def _is_of_the_stack(diagnosed: Diagnosed) -> bool:
    """Whether the packages and the machine alone speak for a finding: where they are the same ones for all files, it is told once."""
    reasons = diagnosed.finding.because
    return bool(reasons) and not any(reason.fact.startswith(_OF_A_FILE) for reason in reasons)


def _place(diagnosed: Diagnosed) -> tuple[str, int]:
    location = diagnosed.finding.location
    return ("", 0) if location is None else (location.file, location.line or 0)


def _key(diagnosed: Diagnosed, patient: str) -> _Key:
    """What makes a finding the same in two choices: the rule, its place, and what it found."""
    finding = diagnosed.finding
    reasons = () if finding.location is not None else finding.because
    return (patient, finding.rule.id, finding.status, finding.location, finding.detail, finding.packages, reasons)


def _remedy(remedies: Sequence[Remedy]) -> Remedy:
    """The pins that all situations can share; a package that two of them want otherwise is left to each."""
    wanted: dict[str, set[str]] = {}
    for remedy in remedies:
        for name, pin in remedy.pins.items():
            wanted.setdefault(name, set()).add(pin)
    pins = {name: next(iter(asked)) for name, asked in wanted.items() if len(asked) == 1}
    whole = [remedy for remedy in remedies if set(remedy.pins) <= pins.keys()]
    told = [remedy for remedy in whole if remedy.pins or remedy.removes]
    proofs = {remedy.verified for remedy in remedies if remedy.pins}
    changes = {change.package: change for remedy in told for change in remedy.changes if pins.get(change.package, "") == change.pin}
    return Remedy(
        pins,
        _all(remedy.clears for remedy in whole),
        _all(remedy.unfixable for remedy in remedies),
        proofs.pop() if len(proofs) == 1 else "none",
        tuple(changes.values()),
        _all(remedy.removes for remedy in told),
        tuple(dict.fromkeys(move for remedy in told for move in remedy.moves)),
        "; ".join(dict.fromkeys(part for remedy in told for part in remedy.proof.split("; ") if part)),
        "; ".join(dict.fromkeys(remedy.conflict for remedy in remedies if remedy.conflict)),
        next((remedy.index for remedy in told if remedy.index), ""),
        max((remedy.steps for remedy in told), default=0),
        max((remedy.days for remedy in told), default=0),
        in_code=_all(remedy.in_code for remedy in remedies),
    )


def _alternatives(reports: Sequence[Report]) -> tuple[Remedy, ...]:
    """Other sets, where all situations that need pins need the same: what else one of them could take says nothing of another."""
    asked = [report for report in reports if report.remedy.pins or report.remedy.removes]
    same = len({(tuple(sorted(one.remedy.pins.items())), one.remedy.removes) for one in asked}) == 1
    return asked[0].alternatives if same else ()


def _all(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some in several for name in some))


def _unknown(reports: Sequence[Report]) -> tuple[tuple[str, int], ...]:
    most: dict[str, int] = {}
    for report in reports:
        for name, count in report.unknown:
            most[name] = max(count, most.get(name, 0))
    return tuple(sorted(most.items(), key=lambda row: (-row[1], row[0])))


def _distinct(skips: Iterable[Skip]) -> tuple[Skip, ...]:
    return tuple(dict.fromkeys(skips))


def _verdicts(reports: Sequence[Report]) -> tuple[Verdict, ...]:
    """One verdict a probe: the one that accuses, else the first."""
    found: dict[str, Verdict] = {}
    for report in reports:
        for verdict in report.probes:
            before = found.get(verdict.probe)
            if before is None or (verdict.verdict == "confirmed" and before.verdict != "confirmed"):
                found[verdict.probe] = verdict
    return tuple(found.values())
