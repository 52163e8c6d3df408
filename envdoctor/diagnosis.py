"""Findings: which rules hold of a situation, why, and what is missing to tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from envdoctor.checks.hit import Hit
from envdoctor.conditions import Condition, Known, PackageIs, accused, deciding, evaluate, holds, judged, leaves
from envdoctor.facts import Defect, Fact, Facts, FactValue, Origin
from envdoctor.rules import Rule, Severity
from envdoctor.suspicion import DECIDED, Weight, background, is_narrow, weigh
from envdoctor.values import shown

Status = Literal["matched", "confirmed", "possible", "refuted"]

_STATUS_ORDER = ("confirmed", "matched", "possible", "refuted")
_SEVERITY_ORDER = ("error", "warning", "note")
_CONFIDENCE_ORDER = ("reproduced-gpu", "reproduced", "boundary", "cited")
# A rule that waits for more than this many statements says nothing about the situation at hand.
_MOST_MISSING = 2
_MOST_GUESSES = 3
_MOST_WEAK = 2
_FEW_PACKAGES = 3
_HARDWARE = ("gpu.", "driver", "cuda", "glibc")
# How a script spells a call, and details of a snapshot's files, are asked of nobody: a rule that waits for them only counts as waiting.
_QUIET = frozenset(
    (
        "model.adapter_fields",
        "model.adapter_vlm_layout",
        "model.code_uses",
        "model.generation_flags_unused",
        "model.image_processor_type",
        "model.processor_patch_size",
        "model.tokenizer_class_misspelled",
        "plan.arguments",
        "plan.autocast_adapter_dtype",
        "plan.framework_tokenizer_argument",
        "plan.input_require_grads",
        "plan.load_dtype_argument",
        "plan.load_in_4bit",
        "plan.load_in_8bit",
        "plan.modules_to_save",
        "plan.passes_config",
        "plan.quantization_config",
    )
)
# Only a script or a launcher tells these, and what one does not show may stand in a module that it imports: a rule that waits for one
# has nothing to ask for, and speaks only where it may hold without it.
_UNREAD: dict[str, FactValue] = {"plan.code_uses": (), "plan.offline": False}


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

    def rank(self) -> tuple[int, ...]:
        """Smaller comes first: decided before possible, harm, what is about this model, then the more specific and better shown."""
        return (
            _STATUS_ORDER.index(self.status),
            _SEVERITY_ORDER.index(self.severity),
            int(not self.weight.likely),
            -int(any(reason.fact.startswith("model.") for reason in self.because)),
            self.weight.breadth,
            _waits(self.missing),
            -len(self.because),
            len(self.missing),
            _CONFIDENCE_ORDER.index(self.rule.confidence),
        )


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, worst first, and how many rules wait for each unknown fact."""

    findings: tuple[Finding, ...]
    waiting: tuple[tuple[str, int], ...]


class Outcomes:
    """What conditions come to, kept by the values of the facts that each names: of many files, most agree on these.

    What is kept is that of one list of releases, ``known``.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        # By identity: to hash a condition is to walk through it. What is kept stays alive.
        self._rows: dict[int, tuple[Condition, tuple[str, ...], dict[object, Any]]] = {}
        self._numbers: dict[tuple[type, FactValue], int] = {}

    def of(self, facts: Facts) -> View:
        """The situation as the conditions see it."""
        # True, 1 and 1.0 are one key of a dictionary, and not one value.
        numbers = {name: self._numbers.setdefault((type(f.value), f.value), len(self._numbers)) for name, f in facts.by_name.items()}
        numbers[_CLOSED] = int(facts.closed)
        return View(self, facts, numbers)

    def row(self, condition: Condition) -> tuple[Condition, tuple[str, ...], dict[object, Any]]:
        """A condition, the facts it names, and what is kept of it."""
        found = self._rows.get(id(condition))
        if found is None or found[0] is not condition:
            names = (_CLOSED, *dict.fromkeys(leaf.fact for leaf in leaves(condition)))
            found = self._rows[id(condition)] = (condition, names, {})
        return found


class View:
    """One situation, and what conditions come to in it; every answer is that of the function of the same name."""

    def __init__(self, outcomes: Outcomes, facts: Facts, numbers: dict[str, int]) -> None:
        self.facts = facts
        self._outcomes = outcomes
        self._numbers = numbers
        self._has_plan = any(name.startswith("plan.") for name in numbers)
        self._background: tuple[object, ...] | None = None

    def with_facts(self, facts: Iterable[Fact]) -> View:
        return self._outcomes.of(self.facts.with_facts(facts))

    def judged(self, condition: Condition) -> tuple[bool | None, tuple[str, ...]]:
        _, names, kept = self._outcomes.row(condition)
        key = tuple(map(self._numbers.get, names))
        found: tuple[bool | None, tuple[str, ...]] | None = kept.get(key)
        if found is None:
            found = kept[key] = judged(condition, self.facts, self._outcomes.known)
        return found

    def speaks(self, condition: Condition, lacking: tuple[str, ...]) -> bool:
        _, names, kept = self._outcomes.row(condition)
        key = (self._has_plan, lacking, *map(self._numbers.get, names))
        found: bool | None = kept.get(key)
        if found is None:
            found = kept[key] = speaks(condition, self.facts, self._outcomes.known, lacking)
        return found

    def weigh(self, condition: Condition, lacking: tuple[str, ...]) -> Weight:
        if self._background is None:
            self._background = background(self.facts)
        _, names, kept = self._outcomes.row(condition)
        key = (self._background, lacking, *map(self._numbers.get, names))
        found: Weight | None = kept.get(key)
        if found is None:
            found = kept[key] = weigh(condition, self.facts, self._outcomes.known, lacking)
        return found


_CLOSED = ""


def diagnose(
    facts: Facts,
    rules: Iterable[Rule],
    known: Known,
    *,
    hits: Iterable[Hit] = (),
    defects: Iterable[Defect] = (),
    outcomes: Outcomes | None = None,
) -> Diagnosis:
    """Match every rule against the facts, and join what checks and sources found; ``outcomes`` remembers for the next situation."""
    view = (outcomes or Outcomes(known)).of(facts)
    findings: list[Finding] = []
    suspects: list[Finding] = []
    waiting: Counter[str] = Counter()
    pages: dict[str, Rule] = {}
    for rule in rules:
        pages[rule.id] = rule
        if rule.condition is None or rule.withdrawn is not None:
            continue
        outcome, lacking = view.judged(rule.condition)
        if outcome is False:
            continue
        if outcome is None:
            for name in lacking:
                waiting[name] += 1
            seen = view
            if not _UNREAD.keys().isdisjoint(lacking):
                seen = view.with_facts(Fact(name, _UNREAD[name], Origin("nothing read")) for name in lacking if name in _UNREAD)
                outcome, lacking = seen.judged(rule.condition)
                if outcome is not None:
                    continue
            if seen.speaks(rule.condition, lacking):
                weight = seen.weigh(rule.condition, lacking)
                suspects.append(replace(_finding(rule, rule.condition, facts, known, "possible", lacking), weight=weight))
        else:
            findings.append(_finding(rule, rule.condition, facts, known, "matched", ()))
    hits = [hit for hit in hits if hit.outcome is not False and not _told(hit, findings if hit.outcome else [*findings, *suspects])]
    # What a check is certain of, a rule that still waits for a fact need not raise again.
    settled = {rule for hit in hits if hit.outcome for rule in hit.unless}
    suspects = [one for one in suspects if one.rule.id not in settled]
    findings += [_from_hit(hit, pages[hit.rule], facts) for hit in hits]
    findings += [_from_defect(defect, pages[defect.rule]) for defect in defects]
    findings += _worth_telling(suspects, stated=sum(name.startswith("packages.") for name in facts))
    findings.sort(key=lambda finding: (*finding.rank(), finding.rule.id))
    return Diagnosis(tuple(findings), tuple(waiting.most_common()))


def _worth_telling(suspects: Iterable[Finding], *, stated: int) -> list[Finding]:
    """The possible findings to tell: those that wait for plan and model alone, and the best few guesses.

    Weak suspicions are told only where there is nothing else and hardly a package is stated: somebody asks about just these.
    """
    seeing = sorted((one for one in suspects if not one.weight.blind), key=lambda finding: (*finding.rank(), finding.rule.id))
    likely = [one for one in seeing if one.weight.likely]
    certain = [one for one in likely if all(name.startswith(("plan.", "model.")) for name in one.missing)]
    guesses = [one for one in likely if one not in certain]
    weak = [one for one in seeing if not one.weight.likely]
    return certain + guesses[:_MOST_GUESSES] + ([] if likely or stated > _FEW_PACKAGES else weak[:_MOST_WEAK])


def speaks(condition: Condition, facts: Facts, known: Known, lacking: Sequence[str]) -> bool:
    """Whether an undecided rule says something about this situation.

    It does when a version that it accuses is really there and it waits for few facts, but not for plan and hardware both; a
    rule about no version says nothing until a plan is known; a rule about a
    model says nothing while nothing is known of the model that it is about, and one about the wording of
    a call says nothing until a plan or a script tells it. To be in a narrow range of releases says enough by itself.
    """
    every = accused(condition)
    versions = [leaf for leaf in every if isinstance(leaf, PackageIs) and leaf.version.text]
    if versions and not any(leaf.fact in facts.by_name for leaf in versions):
        return False
    if _asks_too_much(facts, lacking) and not is_narrow(condition, facts, known):
        return False
    held = [leaf for leaf in every if holds(leaf, facts, known)]
    if any(name.startswith("model.") for name in lacking) and not any(leaf.fact.startswith("model.") for leaf in held):
        return False
    if versions:
        return any(leaf in versions for leaf in held)
    return bool(held) and not any(name.startswith("plan.") for name in lacking)


def _asks_too_much(facts: Facts, lacking: Sequence[str]) -> bool:
    """Whether a rule waits for more than somebody would state who was asked once."""
    if _waits(lacking) > _MOST_MISSING or any(name in _QUIET for name in lacking):
        return True
    if any(name.startswith("plan.") for name in lacking) and any(name.startswith(_HARDWARE) for name in lacking):
        return True
    return "plan.attn" in lacking and not any(name.startswith("plan.") for name in facts)


def _waits(lacking: Sequence[str]) -> int:
    """How many statements are missing: a plan file states all facts of the plan together, a snapshot all of the model."""
    together = ("plan.", "model.")
    return sum(not name.startswith(together) for name in lacking) + sum(any(n.startswith(group) for n in lacking) for group in together)


def _finding(rule: Rule, condition: Condition, facts: Facts, known: Known, status: Status, lacking: tuple[str, ...]) -> Finding:
    reasons = tuple(
        _because(facts[leaf.fact], text) for leaf, text in dict.fromkeys(deciding(condition, facts, known)) if leaf.fact in facts
    )
    severe = rule.error_when is not None and evaluate(rule.error_when, facts, known) is True
    return Finding(
        rule,
        status,
        "error" if severe else rule.severity,
        because=reasons,
        missing=lacking,
        location=_location(facts, [reason.fact for reason in reasons]),
        packages=rule.packages,
    )


def _because(fact: Fact, condition: str) -> Because:
    return Because(fact.name, shown(fact.value), condition, fact.origin.source, fact.origin.file, fact.origin.line)


def _location(facts: Facts, names: Sequence[str]) -> Location | None:
    """The line to annotate: that of the first deciding fact read from a line of a file; packages first, then code."""
    for name in sorted(names, key=lambda name: (not name.startswith("packages."), not (facts[name].origin.file or "").endswith(".py"))):
        origin = facts[name].origin
        if origin.file is not None and origin.line is not None:
            return Location(origin.file, origin.line)
    return None


def _told(hit: Hit, findings: Sequence[Finding]) -> bool:
    """Whether a rule says what a check found, with more to go by."""
    return any(finding.rule.id in hit.unless or (hit.yields and set(hit.packages) <= set(finding.packages)) for finding in findings)


def _from_hit(hit: Hit, rule: Rule, facts: Facts) -> Finding:
    reasons = tuple(_because(facts[name], text) for name, text in hit.because if name in facts)
    return Finding(
        rule,
        "matched" if hit.outcome else "possible",
        rule.severity,
        because=reasons,
        missing=hit.missing,
        location=_location(facts, [reason.fact for reason in reasons]) if hit.file is None else Location(hit.file, hit.line),
        detail=hit.detail,
        packages=hit.packages or rule.packages,
        pins=hit.pins,
        plan=hit.plan,
    )


def _from_defect(defect: Defect, rule: Rule) -> Finding:
    location = None if defect.file is None else Location(defect.file, defect.line)
    return Finding(rule, "matched", rule.severity, location=location, detail=defect.detail, packages=defect.packages)
