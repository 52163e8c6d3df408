"""A diagnosis from error text: which rules the text shows, and whether their conditions hold here.

The text is evidence of its own. That the run met the fault says that the plan and the model were such as to meet it, so
conditions over facts of the plan, the model and the hardware that nobody stated count as met; conditions over packages do not,
nor, where the text is such as any program may print, conditions over the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from envdoctor.engine.diagnosis import Because, Diagnosis, Finding, Location, Status
from envdoctor.engine.likelihood import breadth
from envdoctor.facts.fact import Facts
from envdoctor.logs.out_of_memory import PREFIX
from envdoctor.logs.signatures import Shown
from envdoctor.records import dataclass, replace
from envdoctor.rules.conditions import All, AnyOf, Condition, Known, Not, PackageIs, accused, holds, missing
from envdoctor.rules.rule import Rule

_MOST_FINDINGS = 4
# A fragment shorter than this is shared by too many errors to decide on its own.
_SPECIFIC = 24
# Fragments of about the same length tell as much.
_SAME_LENGTH = 24
_NAME = re.compile(r"_|[a-z][A-Z]|[A-Za-z][./:][A-Za-z]|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}")
_EXCEPTION = re.compile(r"[A-Z][A-Za-z]*(?:Error|Exception|Warning)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule whose symptom the text shows: whether it holds, how long the fragment is and whether it may decide on its own,
    how many of the rule's versions are stated, and whether the text is what an out-of-memory error comes to."""

    outcome: bool | None
    finding: Finding
    length: int
    specific: bool
    stands: int
    of_memory: bool = False


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
    candidates: list[Candidate] = []
    elsewhere = []
    for name, seen in shown.items():
        rule = pages[name]
        outcome = _outcome(rule, already.get(name), seen, stated, known)
        if outcome is False:
            elsewhere.append(name)
            continue
        finding = _finding(rule, already.get(name), seen, derived, known, log)
        specific = len(seen.symptom) >= _SPECIFIC and (names_something(seen.symptom) or not _about_a_model(rule))
        of_memory = seen.symptom.lower().startswith(PREFIX)
        candidates.append(Candidate(outcome, finding, len(seen.symptom), specific, _stands(rule, stated, known), of_memory))
    candidates = _to_the_point(candidates, stated, known)
    candidates.sort(key=lambda one: _order(one, stated, known))
    findings = [replace(one.finding, status=_status(one, candidates)) for one in candidates[:_MOST_FINDINGS]]
    if not findings:
        findings = [finding for finding in diagnosis.findings if finding.status == "matched"]
    return Explanation(tuple(sorted(findings, key=lambda finding: finding.status != "matched")), tuple(sorted(elsewhere)))


def _to_the_point(candidates: list[Candidate], stated: Facts, known: Known) -> list[Candidate]:
    """Without rules about a model of which nothing is stated, by words that any program may print, where other rules know the text.

    Where a message's numbers tell what it is, neither is there a place for a rule that only a look at the files decides.
    """
    by_numbers = any(one.of_memory and one.finding.rule.affected is None for one in candidates)

    def is_beside(one: Candidate) -> bool:
        condition = one.finding.rule.affected
        if one.outcome is True or one.of_memory:
            return False
        if condition is None:
            return by_numbers and not one.finding.rule.packages
        of_model = [leaf for leaf in accused(condition) if leaf.fact.startswith("model.")]
        return not one.specific and bool(of_model) and all(holds(leaf, stated, known) is None for leaf in of_model)

    return [one for one in candidates if not is_beside(one)] or candidates


def _order(one: Candidate, stated: Facts, known: Known) -> tuple[object, ...]:
    """Versions that fit come first, then the longer text, the narrower range, and what takes the fewest assumptions."""
    finding, condition = one.finding, one.finding.rule.affected
    width = 0 if condition is None else breadth(condition, stated, known)
    text = (-(one.length // _SAME_LENGTH), -one.stands, width, len(finding.missing), -one.length)
    return one.outcome is not True, *text, finding.rank(), finding.rule.id


def _outcome(rule: Rule, finding: Finding | None, seen: Shown, stated: Facts, known: Known) -> bool | None:
    if rule.affected is None:
        # Such a text is all that there is to know, or a check has found the same.
        found = finding is not None and finding.status == "matched"
        return True if found or rule.log_only or _by_numbers(rule, seen) else None
    # Words that any program may print say nothing of the model: a name of the library at fault does, and so does a model that is stated.
    about = any(leaf.fact.startswith("model.") and holds(leaf, stated, known) for leaf in accused(rule.affected))
    asked = ("packages.",) if about or names_something(seen.symptom) else ("packages.", "model.")
    return met(rule.affected, stated, known, asked=asked)


def _by_numbers(rule: Rule, seen: Shown) -> bool:
    """Whether the rule is what a message's numbers come to, which is no likeness of words."""
    return rule.affected is None and seen.symptom.lower().startswith(PREFIX)


def names_something(symptom: str) -> bool:
    """Whether a fragment has a word that is a name in some code: with an underscore, an inner capital, a dot, a slash or a digit in it."""
    words = [word.strip("'\"`():,;") for word in symptom.split()]
    return any(_NAME.search(word) and not _EXCEPTION.fullmatch(word) for word in words)


def met(condition: Condition, facts: Facts, known: Known, *, wanted: bool = True, asked: tuple[str, ...] = ("packages.",)) -> bool | None:
    """Whether the condition holds for a run that met the fault: what is unknown besides the facts ``asked`` counts as ``wanted``."""
    if isinstance(condition, (All, AnyOf)):
        outcomes = [met(part, facts, known, wanted=wanted, asked=asked) for part in condition.parts]
        decisive = not isinstance(condition, All)
        if decisive in outcomes:
            return decisive
        return None if None in outcomes else not decisive
    if isinstance(condition, Not):
        held = met(condition.part, facts, known, wanted=not wanted, asked=asked)
        return None if held is None else not held
    held = holds(condition, facts, known)
    return wanted if held is None and not condition.fact.startswith(asked) else held


def _finding(rule: Rule, already: Finding | None, seen: Shown, facts: Facts, known: Known, log: str) -> Finding:
    text = Because("log", seen.text, f"shows {seen.symptom!r}", f"{log}:{seen.line}")
    if already is not None:
        return replace(already, because=(text, *already.because), location=Location(log, seen.line))
    lacking = () if rule.affected is None else missing(rule.affected, facts, known)
    return Finding(
        rule, "matched", rule.severity, because=(text,), missing=lacking, location=Location(log, seen.line), packages=rule.packages
    )


def _status(one: Candidate, candidates: Sequence[Candidate]) -> Status:
    """Matched when versions and text fit, or when the text fits one rule best and nothing contradicts it.

    Of rules that the text fits alike, that one is best of whose packages the most are stated in its range.
    """
    if one.outcome is True:
        return "matched"
    if one.finding.rule.affected is None and not one.finding.rule.packages:
        # What only a look at the files decides, text by itself does not.
        return "possible"
    rivals = [other for other in candidates if other.outcome is True or (other.length >= one.length and other.stands >= one.stands)]
    return "matched" if len(rivals) == 1 and one.specific else "possible"


def _about_a_model(rule: Rule) -> bool:
    return rule.affected is not None and any(leaf.fact.startswith("model.") for leaf in accused(rule.affected))


def _stands(rule: Rule, stated: Facts, known: Known) -> int:
    """How many of the versions that a rule accuses are stated."""
    found = () if rule.affected is None else accused(rule.affected)
    return sum(isinstance(leaf, PackageIs) and bool(holds(leaf, stated, known)) for leaf in found)
