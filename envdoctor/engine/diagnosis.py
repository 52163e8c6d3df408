"""Findings: which rules hold of a situation, why, and what is missing to tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.engine.finding import Because, Finding, Location, Status, because_of, judged_finding, location_of, shown_by
from envdoctor.engine.open_rules import OpenRules, is_hidden, worth_telling
from envdoctor.engine.outcomes import Outcomes
from envdoctor.engine.suggestions import suggest
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.vocabulary import BROKEN_IMPORTS
from envdoctor.records import dataclass, replace
from envdoctor.rules.conditions import Known, accused, holds
from envdoctor.rules.outlines import Outlines
from envdoctor.rules.rule import Rule

_FEW_PACKAGES = 3
# What declares a package that is not there, and cannot be imported without it, is told by the import.
_SAYS_MORE = {"declared-requirement-missing": "import-needs-package"}


@dataclass(frozen=True, slots=True)
class Sifted:
    """The rules that say anything about a situation, by id, and how many of all wait for each unknown fact.

    Of the same facts the others need not be judged again.
    """

    telling: tuple[str, ...]
    waiting: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, worst first, how many rules wait for each unknown fact, and which rules had a say."""

    findings: tuple[Finding, ...]
    waiting: tuple[tuple[str, int], ...]
    sifted: Sifted = Sifted((), ())


def diagnose(
    facts: Facts,
    rules: Iterable[Rule],
    known: Known,
    *,
    hits: Iterable[Hit] = (),
    defects: Iterable[Defect] = (),
    outcomes: Outcomes | None = None,
    taken: Facts | None = None,
    sifted: Sifted | None = None,
) -> Diagnosis:
    """Match every rule against the facts, and join what checks and sources found; ``outcomes`` remembers for the next situation.

    ``sifted`` is what another diagnosis of the same facts and rules, asked alike, found to have a say: no other rule is looked at.

    ``taken`` are the facts with what an installer would take of open ranges and of packages that no file names: a rule that the
    facts leave open, and that holds of these, is possible.
    """
    outcomes = outcomes or Outcomes(known)
    view = outcomes.of(facts)
    hits = _without_lesser(tuple(hits))
    installs = taken is not None and taken is not facts
    few = not installs and sum(name.startswith("packages.") for name in facts) <= _FEW_PACKAGES
    seen = outcomes.of(taken) if taken is not None and installs else None
    open_ = OpenRules(view, known, seen, few or asks_for_all(hits))
    rules = rules if isinstance(rules, Outlines) else tuple(rules)
    page = rules.find if isinstance(rules, Outlines) else {rule.id: rule for rule in rules}.__getitem__
    findings: list[Finding] = []
    waiting: list[str] = []
    telling: list[str] = []
    for rule in outcomes.that_may_hold(rules, facts) if sifted is None else map(page, sifted.telling):
        if rule.condition is None or rule.withdrawn is not None:
            continue
        outcome, lacking = view.held(rule.condition)
        if outcome is None:
            waiting += lacking
            if open_.weigh(rule, rule.condition, lacking):
                telling.append(rule.id)
        elif outcome:
            telling.append(rule.id)
            findings.append(judged_finding(rule, rule.condition, facts, known, "matched", ()))
    sifted = sifted or Sifted(tuple(telling), tuple(Counter(waiting).most_common()))
    findings = [_with_pins_of_a_check(_shown_by_import(one, hits), hits) for one in findings]
    newest, suspects = open_.newest, open_.suspects
    untold = [
        part
        for hit in hits
        if hit.outcome is not False
        for part in _left_to_tell(hit, findings if hit.outcome else [*findings, *newest, *suspects])
    ]
    # What a check is certain of, a rule that still waits for a fact need not raise again.
    settled = {rule for hit in untold if hit.outcome for rule in hit.unless}
    suspects = [one for one in suspects if one.rule.id not in settled]
    findings += [finding_of(hit, page(hit.rule), facts) for hit in untold]
    findings += [_from_defect(defect, page(defect.rule)) for defect in defects]
    findings += newest
    findings += worth_telling(suspects, facts, asked=few)
    findings.sort(key=lambda finding: (*finding.rank(), finding.rule.id))
    findings = list(_without_echoes(_asking(one, facts, known) if one.status == "possible" else one for one in findings))
    findings.sort(key=lambda finding: (finding.hidden, finding.aside))
    return Diagnosis(tuple(findings), sifted.waiting, sifted)


def asks_for_all(hits: Iterable[Hit]) -> bool:
    """Whether a check left something open: the rules may say what it suspects, weak ones too."""
    return any(hit.outcome is None for hit in hits)


def _shown_by_import(finding: Finding, hits: Sequence[Hit]) -> Finding:
    """A rule's finding with the import of a script that leads to it, where that is what makes the rule hold: it fails for certain."""
    told = next((one for one in finding.because if one.fact == BROKEN_IMPORTS), None)
    edges = set(told.condition.split(" or ")) if told is not None else set()
    hit = next((one for one in hits if one.outcome and not edges.isdisjoint(one.edges)), None)
    if hit is None:
        return finding
    reasons = tuple(one for one in finding.because if one is not told)
    severity = "error" if hit.entry else finding.severity
    return replace(finding, severity=severity, because=reasons, detail=hit.detail, entry=hit.entry, witness=hit.witness)


def _with_pins_of_a_check(finding: Finding, hits: Sequence[Hit]) -> Finding:
    """A rule's finding with the releases that a check of the same packages computed, where the rule says its cure in words."""
    if finding.pins or any(fix.pins for fix in finding.rule.fixes):
        return finding
    same = (hit for hit in hits if hit.outcome and hit.yields and len(hit.packages) > 1 and set(hit.packages) == set(finding.packages))
    hit = next(same, None)
    return finding if hit is None else replace(finding, pins=hit.pins)


def _asking(finding: Finding, facts: Facts, known: Known) -> Finding:
    """A possible finding with what to state; one that waits for a package which nothing names is there for who asks for it."""
    condition = finding.rule.condition
    settings = suggest(condition, finding.missing, known, facts)
    if condition is not None and not finding.because:
        # Of alternatives none of which is decided, what holds in any of them; it does not make the finding rank higher.
        held = (leaf for leaf in accused(condition) if leaf.fact in facts and holds(leaf, facts, known))
        reasons = tuple(because_of(shown_by(facts[leaf.fact], leaf), leaf.text()) for leaf in dict.fromkeys(held))
        finding = replace(finding, because=reasons, location=location_of(reasons))
    return replace(finding, hidden=is_hidden(finding, facts), state=settings)


def _without_echoes(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings without those possible ones for which nothing speaks, or whose cause another one has: the same facts, and the same cures."""
    seen: set[tuple[object, ...]] = set()
    for one in findings:
        cause = (frozenset((reason.fact, reason.value) for reason in one.because), one.missing, str(one.rule.fixes), one.edge)
        by_rule = one.status == "possible" and one.rule.condition is not None
        if by_rule and not one.because and not one.detail:
            continue
        if by_rule and one.rule.fixes and cause in seen:
            continue
        seen.add(cause)
        yield one


def _without_lesser(hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits without those that say less of the same two packages than another one."""
    said = {(hit.rule, hit.packages) for hit in hits if hit.outcome}
    return tuple(hit for hit in hits if (_SAYS_MORE.get(hit.rule, ""), hit.packages) not in said)


def _left_to_tell(hit: Hit, findings: Sequence[Finding]) -> Sequence[Hit]:
    """A hit, or nothing where rules say it; of several names those parts of it that none says, where rules say some."""
    if _told(hit, findings):
        return ()
    parts = [part for part in hit.parts if not _told(part, findings)]
    return parts if 0 < len(parts) < len(hit.parts) else (hit,)


def _told(hit: Hit, findings: Sequence[Finding]) -> bool:
    """Whether a rule says what a check found, with more to go by; of several names, rules may each say one."""
    if any(finding.rule.id in hit.unless for finding in findings):
        return True
    of_these = [finding for finding in findings if hit.yields and set(hit.packages) <= set(finding.packages)]
    if not hit.names:
        return bool(of_these)
    return all(any(is_about_names((name,), finding) for finding in of_these) for name in hit.names)


def is_about_names(names: Sequence[str], finding: Finding) -> bool:
    """Whether a rule is about all of these names: it is called after them, or its condition on the code has them."""
    asked = " ".join(one.condition for one in finding.because if one.fact.startswith("plan."))
    # A condition on all of a module names none of it: the uses that it found do.
    open_ = (one.value for one in finding.because if one.fact == CODE_USES and "*" in one.condition)
    asked += " ".join(re.sub(r"\([^()]*\)", " ", str(value)) for value in open_)
    about = f"_{finding.rule.id.replace('-', '_')}_"
    return all(f"_{name.lower()}_" in about or re.search(rf"\b{re.escape(name)}\b", asked) for name in names)


def finding_of(hit: Hit, rule: Rule, facts: Facts) -> Finding:
    """A check's hit as a finding of its rule, with the facts that it goes by."""
    reasons = tuple(because_of(facts[name], text) for name, text in hit.because if name in facts)
    return Finding(
        rule,
        "matched" if hit.outcome else "possible",
        rule.severity,
        because=reasons,
        missing=hit.missing,
        location=location_of(reasons) if hit.file is None else Location(hit.file, hit.line),
        detail=hit.detail,
        packages=hit.packages or rule.packages,
        pins=hit.pins,
        plan=hit.plan,
        edge=hit.edge,
        headline=hit.headline,
        witness=hit.witness,
        entry=hit.entry,
        advice=hit.advice,
        by_hand=hit.by_hand,
        newest=hit.newest,
    )


def _from_defect(defect: Defect, rule: Rule) -> Finding:
    location = None if defect.file is None else Location(defect.file, defect.line)
    return Finding(rule, "matched", rule.severity, location=location, detail=defect.detail, packages=defect.packages, advice=defect.advice)


__all__ = ["Because", "Diagnosis", "Finding", "Location", "Outcomes", "Status", "diagnose", "finding_of"]
