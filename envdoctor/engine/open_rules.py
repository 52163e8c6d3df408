"""The rules that the facts leave open: which of them hold of what an installer would take, and which are to be suspected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envdoctor.engine.finding import Finding, judged_finding
from envdoctor.engine.likelihood import DECIDED, Weight, breadth
from envdoctor.engine.outcomes import View
from envdoctor.facts.fact import Facts
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.facts.vocabulary import UNREAD
from envdoctor.records import replace
from envdoctor.rules.conditions import Condition, Known, PackageIs, accused, holds
from envdoctor.rules.rule import Rule

# A virtual environment begins with them, or did: from Python 3.12 on venv, and the images of Python, put pip there alone.
_ALWAYS_THERE = frozenset(("packages.pip", "packages.setuptools", "packages.wheel"))
_WITH_PIP_ALONE, _PIP = version_condition(">=3.12"), frozenset(("packages.pip",))
_MOST_GUESSES = 3
_MOST_WEAK = 4


class OpenRules:
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

    def weigh(self, rule: Rule, condition: Condition, lacking: tuple[str, ...]) -> bool:
        """Keep a rule, where it says something about this situation, and tell whether it does."""
        idle, key = self.view.idle_in(condition, self.taken)
        if key in idle:
            return False
        says = self._says_something(rule, condition, lacking)
        if not says:
            idle.add(key)
        return says

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
                self.suspects.append(judged_finding(rule, condition, self.view.facts, self.known, "possible", lacking, weight))
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
                told = judged_finding(rule, condition, self.view.facts, self.known, "possible", lacking, weight)
            # An installer does not take what the file would admit.
            self.suspects.append(replace(told, hidden=True) if held is False else told)
        return True

    def _is_missing(self, condition: Condition, waits: Sequence[str]) -> bool:
        """Whether a rule is about the absence of packages that nothing brings in."""
        asked = [name for name in waits if name not in UNREAD]
        python = self.view.facts.value("python")
        there = _PIP if isinstance(python, Exact) and _WITH_PIP_ALONE.admits(python) else _ALWAYS_THERE
        if self.alone is None or not all(name.startswith("packages.") and name not in there for name in asked):
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
    found = judged_finding(rule, condition, taken, known, "possible", lacking, weight)
    packages = dict.fromkeys(reason.fact for reason in found.because if reason.fact in lacking and reason.fact.startswith("packages."))
    told = [f"{name.removeprefix('packages.')} {shown(taken[name].value)} ({taken[name].origin.source})" for name in packages]
    return replace(found, newest=True, detail=f"left open: {', '.join(told)}" if told else "")


def worth_telling(suspects: Iterable[Finding], facts: Facts, *, asked: bool) -> list[Finding]:
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
    hidden = [one for one in guesses if is_hidden(one, facts)]
    few = [one for one in guesses if one not in hidden][:_MOST_GUESSES] + hidden[:_MOST_GUESSES]
    told = certain + few + (weak[:_MOST_WEAK] if asked and not likely else [])
    return told + averted[: max(_MOST_GUESSES - len(guesses), 0)]


def is_hidden(finding: Finding, facts: Facts) -> bool:
    waits = any(name.startswith("packages.") and name not in facts for name in finding.missing)
    return finding.hidden or (waits and not finding.newest)


__all__ = ["OpenRules", "is_hidden", "worth_telling"]
