"""The report as JSON: a frozen, versioned view that scripts may rely on."""

from __future__ import annotations

import json

from envdoctor.engine.finding import AFFECTED, Finding
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, Skip
from envdoctor.facts.values import shown
from envdoctor.probes.verdict import Verdict
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.mended import Mended, Proved
from envdoctor.report.model import Diagnosed, Report

SCHEMA_VERSION = 1


def render(report: Report) -> str:
    """One object, in the order of the interface; control characters are escaped by JSON itself."""
    return json.dumps(as_object(report), indent=2, default=str) + "\n"


def render_error(error: EnvdoctorError) -> str:
    """What exit status 2 and 3 print under ``--format json``."""
    body = {"place": error.place, "found": error.found, "expected": error.expected, "next": error.next_step}
    return json.dumps({"schema_version": SCHEMA_VERSION, "error": body}, indent=2) + "\n"


def as_object(report: Report) -> dict[str, object]:
    """The report as JSON's own values; ``situations`` and ``within`` are there where there are several."""
    found = _object(report)
    if report.situations:
        found["situations"] = [
            {"label": one.label, "patient": one.patient, "facts": _facts(one.facts), "remedy": _remedy(one.remedy)}
            for one in report.situations
        ]
    if report.mended is not None:
        found |= _mended(report.mended)
    return found


def _proved(one: Proved) -> dict[str, object]:
    return {
        "situation": one.label,
        "python": one.python,
        "packages": one.packages,
        "seconds": one.seconds,
        "failure": one.failure,
        "left_out": [{"what": skip.what, "why": skip.why} for skip in one.left_out],
        "findings": [
            {"rule": row.rule, "result": row.result, "means": row.means, "before": row.before, "after": row.after} for row in one.rows
        ],
    }


def _mended(mended: Mended) -> dict[str, object]:
    return {
        "diffs": [{"file": one.file, "diff": one.diff, "written": one.written} for one in mended.diffs],
        "commands": list(mended.commands),
        "instead": list(mended.instead),
        "settings": dict(mended.settings),
        "refused": [{"what": skip.what, "why": skip.why} for skip in mended.refused],
        "left": list(mended.left),
        "by_hand": list(mended.by_hand),
        **({"proved": [_proved(one) for one in mended.proved]} if mended.proved else {}),
    }


def _skip(skip: Skip) -> dict[str, object]:
    return {"what": skip.what, "why": skip.why} | ({"unexamined": True} if skip.lost else {})


def _facts(facts: Facts) -> dict[str, object]:
    return {name: fact_object(facts[name]) for name in sorted(facts)}


def _remedy(remedy: Remedy) -> dict[str, object]:
    return {
        "pins": dict(remedy.pins),
        "clears": list(remedy.clears),
        "unfixable": list(remedy.unfixable),
        "in_code": list(remedy.in_code),
        "verified": remedy.verified,
        "proof": remedy.proof,
        "changes": [
            {"package": one.package, "before": one.before, "pin": one.pin, "clears": list(one.clears), "reason": one.reason}
            for one in remedy.changes
        ],
        "removes": list(remedy.removes),
        "moves": [{"package": one.package, "before": one.before, "after": one.after} for one in remedy.moves],
        "conflict": remedy.conflict,
    }


def _object(report: Report) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {
            "name": "envdoctor",
            "version": report.version,
            "rules": report.rules,
            "rules_digest": report.rules_digest,
            "releases_as_of": report.releases_as_of,
            "releases_age_days": report.releases_age,
        },
        "patient": report.patient,
        "facts": _facts(report.facts),
        "findings": [_finding(diagnosed) for diagnosed in report.findings],
        "remedy": _remedy(report.remedy),
        "remedy_by_change": None if report.by_change is None else {**_remedy(report.by_change), "set": dict(report.by_change.settings)},
        "alternatives": [_remedy(one) for one in report.alternatives],
        "unknown": [{"fact": name, "rules_waiting": count} for name, count in report.unknown],
        "recognised": list(report.recognised),
        "skipped": [_skip(skip) for skip in report.skipped],
        "coverage": {
            "packages_known": report.coverage.packages_known,
            "packages_stated": report.coverage.packages_stated,
            "packages_newer_than_rules": list(report.coverage.packages_newer_than_rules),
        },
        "probes": [verdict_object(verdict) for verdict in report.probes],
        "summary": {
            "error": report.count("error"),
            "warning": report.count("warning"),
            "note": report.count("note"),
            "possible": report.possible(),
            "hidden": report.hidden(),
            "excused": report.excused(),
            "exit_code": report.exit_code(),
        },
    }


def fact_object(fact: Fact) -> dict[str, object]:
    value = (
        fact.value
        if isinstance(fact.value, (bool, int, float, str))
        else list(fact.value)
        if isinstance(fact.value, tuple)
        else shown(fact.value)
    )
    found: dict[str, object] = {"value": value, "source": fact.origin.source}
    if fact.origin.line is not None:
        found["line"] = fact.origin.line
    return found


def verdict_object(verdict: Verdict) -> dict[str, object]:
    return {
        "name": verdict.probe,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "measured": dict(verdict.measured),
        "seconds": round(verdict.seconds, 1),
    }


def _detail(finding: Finding) -> str:
    """What was found; what is told of the releases that a rule accuses leaves out nothing of what the rule says."""
    details = finding.rule.details.strip()
    return f"{finding.said}\n\n{details}" if finding.said.startswith(AFFECTED) else finding.said or details


def _finding(diagnosed: Diagnosed) -> dict[str, object]:
    finding, rule = diagnosed.finding, diagnosed.finding.rule
    found: dict[str, object] = {
        "rule": rule.id,
        "title": rule.title,
        "severity": finding.severity,
        "effect": rule.effect,
        "status": finding.status,
        "confidence": rule.confidence,
        "packages": list(finding.packages[:4]),
        "because": [
            {"fact": reason.fact, "value": reason.value, "condition": reason.condition, "source": reason.source}
            for reason in finding.because
        ],
        "missing": list(finding.missing),
        "detail": _detail(finding),
        "location": None if finding.location is None else {"file": finding.location.file, "line": finding.location.line},
        "fixes": [_cure(cure) for cure in diagnosed.cures],
        "evidence": [{"url": source.url, "kind": source.kind, "says": source.says} for source in rule.evidence],
    }
    if finding.state:
        found["state"] = list(finding.state)
    if finding.hidden:
        found["hidden"] = True
    if finding.edge:
        found["edge"] = finding.edge
    if finding.witness:
        found["witness"] = finding.witness
    if diagnosed.excused:
        found["excused"] = diagnosed.excused
    if diagnosed.within:
        found["within"] = list(diagnosed.within)
    if diagnosed.verdict is not None:
        found["probe"] = verdict_object(diagnosed.verdict)
    return found


def _cure(cure: Cure) -> dict[str, object]:
    found: dict[str, object] = {"kind": cure.kind, "note": ": ".join(filter(None, (cure.text, cure.note)))}
    if cure.pins:
        found |= {"pins": dict(cure.pins), "verified": cure.verified}
    if cure.bounds:
        found["bounds"] = dict(cure.bounds)
    if cure.plan:
        found["set"] = dict(cure.plan)
    if cure.written:
        found["written"] = cure.written
    return found
