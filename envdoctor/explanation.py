"""A diagnosis from error text: which rules the text shows, and whether their conditions hold here.

The text is evidence of its own. That the run met the fault says that the plan and the model were such as to meet it, so
conditions over facts of the plan, the model and the hardware that nobody stated count as met; conditions over packages do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from envdoctor.conditions import All, AnyOf, Condition, Known, Not, PackageIs, holds, missing
from envdoctor.diagnosis import Because, Diagnosis, Finding, Location, Status
from envdoctor.facts import Facts
from envdoctor.rules import Rule
from envdoctor.signatures import Shown
from envdoctor.suspicion import breadth

_MOST_FINDINGS = 4
# A fragment shorter than this is shared by too many errors to decide on its own.
_SPECIFIC = 24
# Fragments of about the same length tell as much.
_SAME_LENGTH = 24


@dataclass(frozen=True, slots=True)
class Explanation:
    """The findings that the text shows, and the rules whose text it is but whose versions are others."""

    findings: tuple[Finding, ...]
    elsewhere: tuple[str, ...]


def explain(
    diagnosis: Diagnosis, shown: Mapping[str, Shown], rules: Iterable[Rule], stated: Facts, derived: Facts, known: Known, log: str
) -> Explanation:
    """Join what the text shows with what the facts decide: text and versions that both fit come first."""
    already = {finding.rule.id: finding for finding in diagnosis.findings}
    pages = {rule.id: rule for rule in rules}
    candidates: list[tuple[bool | None, Finding, int]] = []
    elsewhere = []
    for name, seen in shown.items():
        rule = pages[name]
        outcome = _outcome(rule, already.get(name), stated, known)
        if outcome is False:
            elsewhere.append(name)
            continue
        candidates.append((outcome, _finding(rule, already.get(name), seen, derived, known, log), len(seen.symptom)))
    candidates.sort(key=lambda entry: _order(entry[0], entry[1], entry[2], stated, known))
    findings = [replace(finding, status=_status(outcome, length, candidates)) for outcome, finding, length in candidates[:_MOST_FINDINGS]]
    if not findings:
        findings = [finding for finding in diagnosis.findings if finding.status == "matched"]
    return Explanation(tuple(sorted(findings, key=lambda finding: finding.status != "matched")), tuple(sorted(elsewhere)))


def _order(outcome: bool | None, finding: Finding, length: int, stated: Facts, known: Known) -> tuple[object, ...]:
    """Versions that fit come first, then the longer text, the narrower range, and what takes the fewest assumptions."""
    condition = finding.rule.condition
    width = 0 if condition is None else breadth(condition, stated, known)
    return outcome is not True, -(length // _SAME_LENGTH), width, len(finding.missing), -length, finding.rank(), finding.rule.id


def _outcome(rule: Rule, finding: Finding | None, stated: Facts, known: Known) -> bool | None:
    if rule.condition is None:
        return True if finding is not None and finding.status == "matched" else None
    return met(rule.condition, stated, known)


def met(condition: Condition, facts: Facts, known: Known, *, wanted: bool = True) -> bool | None:
    """Whether the condition holds for a run that met the fault: what is unknown besides packages counts as ``wanted``."""
    if isinstance(condition, (All, AnyOf)):
        outcomes = [met(part, facts, known, wanted=wanted) for part in condition.parts]
        decisive = not isinstance(condition, All)
        if decisive in outcomes:
            return decisive
        return None if None in outcomes else not decisive
    if isinstance(condition, Not):
        held = met(condition.part, facts, known, wanted=not wanted)
        return None if held is None else not held
    held = holds(condition, facts, known)
    return wanted if held is None and not isinstance(condition, PackageIs) else held


def _finding(rule: Rule, already: Finding | None, seen: Shown, facts: Facts, known: Known, log: str) -> Finding:
    text = Because("log", seen.text, f"shows {seen.symptom!r}", f"{log}:{seen.line}")
    if already is not None:
        return replace(already, because=(text, *already.because), location=Location(log, seen.line))
    lacking = () if rule.condition is None else missing(rule.condition, facts, known)
    return Finding(
        rule, "matched", rule.severity, because=(text,), missing=lacking, location=Location(log, seen.line), packages=rule.packages
    )


def _status(outcome: bool | None, length: int, candidates: list[tuple[bool | None, Finding, int]]) -> Status:
    """Matched when versions and text fit, or when the text fits one rule alone and nothing contradicts it."""
    if outcome is True:
        return "matched"
    rivals = [one for one in candidates if one[0] is True or one[2] >= length]
    return "matched" if len(rivals) == 1 and length >= _SPECIFIC else "possible"
