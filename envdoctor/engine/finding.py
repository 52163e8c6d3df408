"""One finding: a rule that holds or may hold, with the facts that decided and where they were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from envdoctor.engine.likelihood import DECIDED, Weight, statements
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.uses import CODE_USES, list_meant
from envdoctor.facts.values import shown
from envdoctor.facts.vocabulary import NOT_LOADED, UNREAD
from envdoctor.records import dataclass, replace
from envdoctor.rules.conditions import Condition, Known, Leaf, ValueIs, deciding, evaluate
from envdoctor.rules.rule import Rule, Severity

Status = Literal["matched", "confirmed", "possible", "refuted"]

_ASIDES = frozenset(("release-yanked",))
_STATUS_ORDER = ("confirmed", "matched", "possible", "refuted")
_SEVERITY_ORDER = ("error", "warning", "note")
_CONFIDENCE_ORDER = ("reproduced-gpu", "reproduced", "boundary", "computed", "cited")


# How a sentence begins that tells which releases a rule accuses, where nobody stated the one that ran.
AFFECTED = "affected: "


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
    ``headline`` says of one of a family what is wrong, ``witness`` is the line of Python that shows it, ``advice`` what to do about it,
    ``entry`` the import of a script (``module:name``) that alone leads to it.
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
    entry: str = ""
    advice: str = ""
    by_hand: str = ""

    @property
    def said(self) -> str:
        """What was found, in a sentence that stands by itself; empty where the rule's title says it."""
        return ": ".join(filter(None, (self.headline, self.detail)))

    @property
    def aside(self) -> bool:
        """Whether it says something of one release by the way, which explains no failure: that it was withdrawn, for one."""
        return self.severity == "note" and self.rule.id in _ASIDES

    def rank(self) -> tuple[int, ...]:
        """Smaller comes first: decided before possible, harm, what an installer would bring about today, what is about this model, what two
        stated releases do together, then the more specific and better shown."""
        return (
            _STATUS_ORDER.index(self.status),
            _SEVERITY_ORDER.index(self.severity),
            2 if self.weight.averted else int(not self.weight.likely),
            int(self.status == "possible" and not self.newest),
            -int(any(reason.fact.startswith("model.") for reason in self.because)),
            -int(len({reason.fact for reason in self.because if reason.fact.startswith("packages.")}) > 1),
            self.weight.breadth,
            statements(self.missing),
            -len(self.because),
            len(self.missing),
            _CONFIDENCE_ORDER.index(self.rule.confidence),
        )


def judged_finding(
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
        because_of(shown_by(facts[leaf.fact], leaf), text) for leaf, text in told if leaf.fact in facts and not _is_of_course(leaf, text)
    )
    severe = rule.error_when is not None and evaluate(rule.error_when, _as_read(facts), known) is True
    return Finding(
        rule,
        status,
        "error" if severe else rule.severity,
        because=reasons,
        missing=lacking,
        location=location_of(reasons),
        packages=rule.packages,
        weight=weight,
    )


def _as_read(facts: Facts) -> Facts:
    """What nothing that was read shows is not there: a list of requirements has nothing installed."""
    unread = [Fact(name, value, Origin("nothing read")) for name, value in UNREAD.items() if name not in facts.by_name]
    return facts.with_facts(unread)


def _is_of_course(leaf: Leaf, text: str) -> bool:
    """Whether a comparison says no more than that there is nothing of what few have: an import of some package, DeepSpeed."""
    if leaf.fact == NOT_LOADED or (text.startswith("not ") and leaf.fact in UNREAD and leaf.fact != CODE_USES):
        return True
    return (
        text.startswith("not ")
        and isinstance(leaf, ValueIs)
        and leaf.fact == CODE_USES
        and all(str(one).isidentifier() for one in leaf.values)
    )


def shown_by(fact: Fact, leaf: Leaf) -> Fact:
    """Of a script's uses those that the comparison is about, at the first line that shows one; an item of several files at its own."""
    if not isinstance(leaf, ValueIs) or not isinstance(fact.value, tuple):
        return fact
    if fact.name != CODE_USES:
        values = set(map(str, leaf.values))
        there = (place for item, place in zip(fact.value, fact.places, strict=False) if item in values)
        return replace(fact, origin=next(there, fact.origin))
    meant = list_meant(map(str, leaf.values), fact.value)
    places = [place for use, place in zip(fact.value, fact.places, strict=False) if use in meant]
    return replace(fact, value=meant or fact.value, origin=min(places, key=lambda place: place.line or 0, default=fact.origin))


def because_of(fact: Fact, condition: str) -> Because:
    return Because(fact.name, shown(fact.value), condition, fact.origin.source, fact.origin.file, fact.origin.line)


def location_of(reasons: Sequence[Because]) -> Location | None:
    """The line to annotate: that of the first deciding fact read from a line of a file; packages first, then code."""
    for one in sorted(reasons, key=lambda one: (not one.fact.startswith("packages."), not (one.file or "").endswith(".py"))):
        if one.file is not None and one.line is not None:
            return Location(one.file, one.line)
    return None


__all__ = ["Because", "Finding", "Location", "Status", "because_of", "judged_finding", "location_of", "shown_by"]
