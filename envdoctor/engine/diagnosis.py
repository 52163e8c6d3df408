"""Findings: which rules hold of a situation, why, and what is missing to tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from envdoctor.checks.hit import Hit
from envdoctor.engine.likelihood import DECIDED, Weight, breadth, statements
from envdoctor.engine.outcomes import Outcomes, View
from envdoctor.engine.suggestions import suggest
from envdoctor.facts.fact import Defect, Fact, Facts
from envdoctor.facts.uses import CODE_USES, list_meant
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Exact
from envdoctor.facts.vocabulary import NOT_LOADED, UNREAD
from envdoctor.records import dataclass, replace
from envdoctor.rules.conditions import Condition, Known, Leaf, PackageIs, ValueIs, accused, deciding, evaluate, holds
from envdoctor.rules.outlines import Outlines
from envdoctor.rules.rule import Rule, Severity

Status = Literal["matched", "confirmed", "possible", "refuted"]

_STATUS_ORDER = ("confirmed", "matched", "possible", "refuted")
_SEVERITY_ORDER = ("error", "warning", "note")
_CONFIDENCE_ORDER = ("reproduced-gpu", "reproduced", "boundary", "computed", "cited")
# A virtual environment begins with them, or did.
_ALWAYS_THERE = frozenset(("packages.pip", "packages.setuptools", "packages.wheel"))
_MOST_GUESSES = 3
_MOST_WEAK = 2
_FEW_PACKAGES = 3


@dataclass(frozen=True, slots=True)
class Because:
    """One fact that decided, with the condition it satisfies and where it was read."""

    fact: str
    value: str
    condition: str
    source: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that holds (``matched``) or may hold (``possible``), with its reasons.

    ``pins`` (alternatives, nearest first) and ``plan`` are what a check found to cure it; they stand before the rule's own.
    ``edge`` tells the findings of one family apart (``peft:transformers.HybridCache``); empty where a rule says one thing.
    ``headline`` says of one of a family what is wrong, ``witness`` is the line of Python that shows it, ``advice`` what to do about it.
    ``hidden``: it waits for a package that nothing names, or for releases that an installer would not take, and is shown on demand.
    ``state`` is what to state, as ``--set`` takes it.
    ``newest`` says that it holds of what an installer would take of an open range, or of a package that no line names.
    """

    rule: Rule
    status: Status
    severity: Severity
    because: tuple[Because, ...] = ()
    missing: tuple[str, ...] = ()
    location: Location | None = None
    detail: str = ""
    packages: tuple[str, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    plan: tuple[tuple[str, object], ...] = ()
    weight: Weight = DECIDED
    newest: bool = False
    edge: str = ""
    hidden: bool = False
    state: tuple[str, ...] = ()
    headline: str = ""
    witness: str = ""
    advice: str = ""

    @property
    def said(self) -> str:
        """What was found, in a sentence that stands by itself; empty where the rule's title says it."""
        return ": ".join(filter(None, (self.headline, self.detail)))

    def rank(self) -> tuple[int, ...]:
        """Smaller comes first: decided before possible, harm, what is about this model, then the more specific and better shown."""
        return (
            _STATUS_ORDER.index(self.status),
            _SEVERITY_ORDER.index(self.severity),
            2 if self.weight.averted else int(not self.weight.likely),
            -int(any(reason.fact.startswith("model.") for reason in self.because)),
            self.weight.breadth,
            statements(self.missing),
            -len(self.because),
            len(self.missing),
            _CONFIDENCE_ORDER.index(self.rule.confidence),
        )


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, worst first, and how many rules wait for each unknown fact."""

    findings: tuple[Finding, ...]
    waiting: tuple[tuple[str, int], ...]


def diagnose(
    facts: Facts,
    rules: Iterable[Rule],
    known: Known,
    *,
    hits: Iterable[Hit] = (),
    defects: Iterable[Defect] = (),
    outcomes: Outcomes | None = None,
    taken: Facts | None = None,
) -> Diagnosis:
    """Match every rule against the facts, and join what checks and sources found; ``outcomes`` remembers for the next situation.

    ``taken`` are the facts with what an installer would take of open ranges and of packages that no file names: a rule that the
    facts leave open, and that holds of these, is possible.
    """
    outcomes = outcomes or Outcomes(known)
    view = outcomes.of(facts)
    hits = tuple(hits)
    installs = taken is not None and taken is not facts
    few = not installs and sum(name.startswith("packages.") for name in facts) <= _FEW_PACKAGES
    seen = outcomes.of(taken) if taken is not None and installs else None
    open_ = _Open(view, known, seen, few or any(hit.outcome is None for hit in hits))
    rules = rules if isinstance(rules, Outlines) else tuple(rules)
    page = rules.find if isinstance(rules, Outlines) else {rule.id: rule for rule in rules}.__getitem__
    findings: list[Finding] = []
    waiting: list[str] = []
    for rule in outcomes.that_may_hold(rules, facts):
        if rule.condition is None or rule.withdrawn is not None:
            continue
        outcome, lacking = view.held(rule.condition)
        if outcome is None:
            waiting += lacking
            open_.weigh(rule, rule.condition, lacking)
        elif outcome:
            findings.append(_finding(rule, rule.condition, facts, known, "matched", ()))
    newest, suspects = open_.newest, open_.suspects
    untold = [
        hit for hit in hits if hit.outcome is not False and not _told(hit, findings if hit.outcome else [*findings, *newest, *suspects])
    ]
    # What a check is certain of, a rule that still waits for a fact need not raise again.
    settled = {rule for hit in untold if hit.outcome for rule in hit.unless}
    suspects = [one for one in suspects if one.rule.id not in settled]
    findings += [finding_of(hit, page(hit.rule), facts) for hit in untold]
    findings += [_from_defect(defect, page(defect.rule)) for defect in defects]
    findings += newest
    findings += _worth_telling(suspects, facts, asked=few)
    findings.sort(key=lambda finding: (*finding.rank(), finding.rule.id))
    findings = list(_without_echoes(_asking(one, facts, known) if one.status == "possible" else one for one in findings))
    return Diagnosis(tuple(findings), tuple(Counter(waiting).most_common()))


class _Open:
    """The rules that the facts leave open: which of them hold of what an installer would take, and which are to be suspected.

    ``all_asked`` says that weak ones are asked for too: they may be all there is to tell, or say what a check suspects.
    """

    def __init__(self, view: View, known: Known, taken: View | None, all_asked: bool) -> None:
        self.view, self.known, self.taken = view, known, taken
        self._all_asked = all_asked
        # What nothing that is named needs is not installed, as far as the files go.
        self.alone = None if taken is None else taken.closed()
        # Of a package that no line names, an installer takes the release that it takes, and no other one.
        self.brought = None if taken is None else view.with_facts(one for name, one in taken.facts.items() if name not in view.facts)
        self.newest: list[Finding] = []
        self.suspects: list[Finding] = []

    def weigh(self, rule: Rule, condition: Condition, lacking: tuple[str, ...]) -> None:
        """Keep a rule, where it says something about this situation."""
        idle, key = self.view.idle_in(condition, self.taken)
        if key not in idle and not self._says_something(rule, condition, lacking):
            idle.add(key)

    def _says_something(self, rule: Rule, condition: Condition, lacking: tuple[str, ...]) -> bool:
        # Of most rules it is soon told that they do not: nothing is known of the packages that they are about.
        if self.view.is_silent(condition) and (self.taken is None or self.taken.lacks_needed(condition)):
            return False
        # What an installer takes says nothing to a rule that waits for the plan or the model alone.
        packages = self.taken is not None and bool(_packages(lacking))
        held, waits = self.taken.held(condition) if self.taken is not None and packages else (None, lacking)
        if self.taken is not None and rule.severity != "note":
            certain = self.taken if held else self.alone if held is None and self._is_missing(condition, waits) else None
            if certain is not None:
                self.newest.append(_as_taken(rule, condition, certain.facts, self.known, lacking))
                return True
        if held is False and self.brought is not None and self.brought.judged(condition)[0] is False:
            return False
        seen, installed = self.view, self.taken
        if held is None and self.alone is not None and _packages(waits):
            # One alternative of several may be about a package that nothing brings in: the others are left to tell of.
            others = self.alone.held(condition)
            if others[0] is None and not _packages(others[1]) and {*_packages(waits)} <= {leaf.fact for leaf in accused(condition)}:
                installed, waits = self.alone, others[1]
        # A rule that waits for the plan alone, once it is known what an installer takes.
        there = self.taken.facts.by_name if installed is self.alone and self.taken is not None else lacking
        taken_for = tuple(name for name in _packages(lacking) if name not in waits and name in there) if held is None else ()
        if installed is not None and (taken_for or installed is self.alone):
            # Of what an installer takes no note is told, and no guess stands on a guess.
            if rule.severity == "note" or _packages(waits):
                return False
            seen, lacking = installed, waits
        at_odds = all(name.startswith("plan.") for name in lacking) and _are_at_odds(condition, self.view.facts, self.known)
        if not UNREAD.keys().isdisjoint(lacking):
            if at_odds and UNREAD.keys() >= {*lacking}:
                weight = replace(DECIDED, breadth=breadth(condition, seen.facts, self.known))
                self.suspects.append(_finding(rule, condition, self.view.facts, self.known, "possible", lacking, weight))
                return True
            seen = seen.as_read()
            outcome, lacking = seen.judged(condition)
            if outcome is not None:
                return False
        if not at_odds and not seen.speaks(condition, lacking):
            return False
        weight = seen.weigh(condition, lacking)
        if self._all_asked or (weight.likely and not weight.blind):
            if taken_for:
                told = _as_taken(rule, condition, seen.facts, self.known, (*taken_for, *lacking), weight)
            else:
                told = _finding(rule, condition, self.view.facts, self.known, "possible", lacking, weight)
            # An installer does not take what the file would admit.
            self.suspects.append(replace(told, hidden=True) if held is False else told)
        return True

    def _is_missing(self, condition: Condition, waits: Sequence[str]) -> bool:
        """Whether a rule is about the absence of packages that nothing brings in."""
        asked = [name for name in waits if name not in UNREAD]
        if self.alone is None or not all(name.startswith("packages.") and name not in _ALWAYS_THERE for name in asked):
            return False
        return self.alone.held(condition)[0] is True


def _are_at_odds(condition: Condition, facts: Facts, known: Known) -> bool:
    """Whether two pins are accused together, one for being old and another one for being new: they fail whoever makes the call."""
    held = [leaf for leaf in accused(condition) if isinstance(leaf, PackageIs) and isinstance(facts.value(leaf.fact), Exact)]
    held = [leaf for leaf in held if leaf.version.text and holds(leaf, facts, known)]
    old = {leaf.package for leaf in held if "<" in leaf.version.text}
    new = {leaf.package for leaf in held if ">" in leaf.version.text}
    return bool(old and new) and len(old | new) > 1


def _packages(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("packages.")]


def _as_taken(rule: Rule, condition: Condition, taken: Facts, known: Known, lacking: tuple[str, ...], weight: Weight = DECIDED) -> Finding:
    """A rule that holds of what an installer would take: possible, with the releases that it would be about."""
    found = _finding(rule, condition, taken, known, "possible", lacking, weight)
    packages = dict.fromkeys(reason.fact for reason in found.because if reason.fact in lacking and reason.fact.startswith("packages."))
    told = [f"{name.removeprefix('packages.')} {shown(taken[name].value)} ({taken[name].origin.source})" for name in packages]
    return replace(found, newest=True, detail=f"left open: {', '.join(told)}" if told else "")


def _worth_telling(suspects: Iterable[Finding], facts: Facts, *, asked: bool) -> list[Finding]:
    """The possible findings to tell: those that wait for plan and model alone, and the best few guesses, of those that are shown and of
    those that are hidden; last what stated releases themselves avert.

    Weak suspicions are told only where there is nothing else and hardly a package is stated by hand: somebody ``asked`` about just these.
    """
    seeing = sorted((one for one in suspects if not one.weight.blind), key=lambda finding: (*finding.rank(), finding.rule.id))
    averted = [one for one in seeing if one.weight.averted]
    likely = [one for one in seeing if one.weight.likely and not one.weight.averted]
    certain = [one for one in likely if all(name.startswith(("plan.", "model.")) for name in one.missing)]
    guesses = [one for one in likely if one not in certain]
    weak = [one for one in seeing if not one.weight.likely]
    hidden = [one for one in guesses if _is_hidden(one, facts)]
    few = [one for one in guesses if one not in hidden][:_MOST_GUESSES] + hidden[:_MOST_GUESSES]
    told = certain + few + (weak[:_MOST_WEAK] if asked and not likely else [])
    return told + averted[: max(_MOST_GUESSES - len(guesses), 0)]


def _finding(
    rule: Rule,
    condition: Condition,
    facts: Facts,
    known: Known,
    status: Status,
    lacking: tuple[str, ...],
    weight: Weight = DECIDED,
) -> Finding:
    told = dict.fromkeys(deciding(condition, facts, known))
    reasons = tuple(
        _because(_shown_by(facts[leaf.fact], leaf), text) for leaf, text in told if leaf.fact in facts and not _is_of_course(leaf, text)
    )
    severe = rule.error_when is not None and evaluate(rule.error_when, facts, known) is True
    return Finding(
        rule,
        status,
        "error" if severe else rule.severity,
        because=reasons,
        missing=lacking,
        location=_location(reasons),
        packages=rule.packages,
        weight=weight,
    )


def _asking(finding: Finding, facts: Facts, known: Known) -> Finding:
    """A possible finding with what to state; one that waits for a package which nothing names is there for who asks for it."""
    condition = finding.rule.condition
    settings = suggest(condition, finding.missing, known)
    if condition is not None and not finding.because:
        # Of alternatives none of which is decided, what holds in any of them; it does not make the finding rank higher.
        held = (leaf for leaf in accused(condition) if leaf.fact in facts and holds(leaf, facts, known))
        reasons = tuple(_because(_shown_by(facts[leaf.fact], leaf), leaf.text()) for leaf in dict.fromkeys(held))
        finding = replace(finding, because=reasons, location=_location(reasons))
    return replace(finding, hidden=_is_hidden(finding, facts), state=settings)


def _is_hidden(finding: Finding, facts: Facts) -> bool:
    waits = any(name.startswith("packages.") and name not in facts for name in finding.missing)
    return finding.hidden or (waits and not finding.newest)


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


def _is_of_course(leaf: Leaf, text: str) -> bool:
    """Whether a comparison says no more than that a script does not import some package: everybody knows that of theirs."""
    if leaf.fact == NOT_LOADED:
        return True
    return (
        text.startswith("not ")
        and isinstance(leaf, ValueIs)
        and leaf.fact == CODE_USES
        and all(str(one).isidentifier() for one in leaf.values)
    )


def _shown_by(fact: Fact, leaf: Leaf) -> Fact:
    """Of a script's uses those that the comparison is about, at the first line that shows one."""
    if not isinstance(leaf, ValueIs) or fact.name != CODE_USES or not isinstance(fact.value, tuple):
        return fact
    meant = list_meant(map(str, leaf.values), fact.value)
    places = [place for use, place in zip(fact.value, fact.places, strict=False) if use in meant]
    return replace(fact, value=meant or fact.value, origin=min(places, key=lambda place: place.line or 0, default=fact.origin))


def _because(fact: Fact, condition: str) -> Because:
    return Because(fact.name, shown(fact.value), condition, fact.origin.source, fact.origin.file, fact.origin.line)


def _location(reasons: Sequence[Because]) -> Location | None:
    """The line to annotate: that of the first deciding fact read from a line of a file; packages first, then code."""
    for one in sorted(reasons, key=lambda one: (not one.fact.startswith("packages."), not (one.file or "").endswith(".py"))):
        if one.file is not None and one.line is not None:
            return Location(one.file, one.line)
    return None


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
    about = f"_{finding.rule.id.replace('-', '_')}_"
    return all(f"_{name.lower()}_" in about or re.search(rf"\b{re.escape(name)}\b", asked) for name in names)


def finding_of(hit: Hit, rule: Rule, facts: Facts) -> Finding:
    """A check's hit as a finding of its rule, with the facts that it goes by."""
    reasons = tuple(_because(facts[name], text) for name, text in hit.because if name in facts)
    return Finding(
        rule,
        "matched" if hit.outcome else "possible",
        rule.severity,
        because=reasons,
        missing=hit.missing,
        location=_location(reasons) if hit.file is None else Location(hit.file, hit.line),
        detail=hit.detail,
        packages=hit.packages or rule.packages,
        pins=hit.pins,
        plan=hit.plan,
        edge=hit.edge,
        headline=hit.headline,
        witness=hit.witness,
        advice=hit.advice,
    )


def _from_defect(defect: Defect, rule: Rule) -> Finding:
    location = None if defect.file is None else Location(defect.file, defect.line)
    return Finding(rule, "matched", rule.severity, location=location, detail=defect.detail, packages=defect.packages)


__all__ = ["Because", "Diagnosis", "Finding", "Location", "Outcomes", "Status", "diagnose", "finding_of"]
