"""What conditions come to, remembered from one situation to the next: of many files, most agree on the facts that one condition names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from envdoctor.engine.likelihood import Weight, accused_versions, background, speaks, weigh
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.uses import CODE_USES, NOTHING_ELSE, is_variable
from envdoctor.facts.vocabulary import TRAINING, UNCLEAR, UNREAD
from envdoctor.records import replace
from envdoctor.rules.conditions import All, Condition, Known, PackageIs, ValueIs, accused, judged, leaves
from envdoctor.rules.outlines import Outlines
from envdoctor.rules.rule import Rule

_UNKNOWN = -1
_MOST_FACTS = 50_000
# What a rule may let be where a plan says so: any training, which need not use what it accuses, and any attention of torch's own.
_SPARED = {"plan.method": TRAINING, "plan.attn": frozenset(("eager", "sdpa"))}
# Where there is no plan it is none of these.
_NOT_SPARED = tuple(Fact(name, "", Origin("no plan")) for name in _SPARED)


class Outcomes:
    """What conditions come to, kept by the values of the facts that each names.

    What is kept is that of one list of releases, ``known``.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        # By identity: to hash a condition is to walk through it. What is kept stays alive.
        self._rows: dict[int, _Row] = {}
        # The facts that conditions name, each with its place in what a view keeps; the first one is for whether packages are all known.
        self._places: dict[str, int] = {"": 0}
        self._numbers: dict[tuple[type, FactValue], int] = {}
        # By identity: most facts of a situation are those of the one before, and to hash a version is to make a tuple of it.
        self._number_of: dict[int, tuple[Fact, int]] = {}
        self._ruled_out: dict[Outlines, dict[tuple[str, FactValue | None], int]] = {}

    def that_may_hold(self, rules: Sequence[Rule], facts: Facts) -> Iterable[Rule]:
        """The rules without those that the packages alone rule out, as far as that is soon told."""
        return rules.that_may_hold(facts, self.known, self._ruled_out.setdefault(rules, {})) if isinstance(rules, Outlines) else rules

    def of(self, facts: Facts) -> View:
        """The situation as the conditions see it."""
        return View(self, facts)

    def row(self, condition: Condition) -> _Row:
        """What is kept of a condition."""
        found = self._rows.get(id(condition))
        if found is None or found.condition is not condition:
            found = self._rows[id(condition)] = _Row(condition, self._places)
        return found

    def numbers(self, facts: Facts, length: int) -> list[int]:
        """The values of the facts that conditions name, from a place on, each as a number: the same for the same value."""
        found = [_UNKNOWN] * (len(self._places) - length)
        for name, fact in facts.by_name.items():
            place = self._places.get(name, -1) - length
            if place >= 0:
                kept = self._number_of.get(id(fact))
                found[place] = kept[1] if kept is not None and kept[0] is fact else self._number(fact)
        if length == 0:
            found[0] = int(facts.closed)
        return found

    def _number(self, fact: Fact) -> int:
        # True, 1 and 1.0 are one key of a dictionary, and not one value.
        found = self._numbers.setdefault((type(fact.value), fact.value), len(self._numbers))
        if len(self._number_of) > _MOST_FACTS:
            self._number_of.clear()
        self._number_of[id(fact)] = fact, found
        return found


class _Row:
    """A condition, the packages that it needs and those whose versions it accuses, and what it came to.

    ``key`` takes the numbers of the facts that it names out of those of a view. ``idle`` are the situations to which it says nothing.
    ``spares``: it asks for the method, or the attention, only to let be who does not use what it accuses.
    """

    __slots__ = ("accused", "asks_unread", "condition", "idle", "key", "last", "needed", "outcomes", "spares")

    def __init__(self, condition: Condition, places: dict[str, int]) -> None:
        self.condition = condition
        named = dict.fromkeys(leaf.fact for leaf in leaves(condition))
        taken = [places.setdefault(name, len(places)) for name in named]
        self.key, self.last = itemgetter(0, *taken), max(taken)
        parts = condition.parts if isinstance(condition, All) else (condition,)
        self.needed = frozenset(part.fact for part in parts if isinstance(part, PackageIs))
        self.accused = frozenset(leaf.fact for leaf in accused_versions(condition))
        self.asks_unread = not UNREAD.keys().isdisjoint(named)
        self.spares = not _SPARED.keys().isdisjoint(named) and _only_spares(condition)
        self.outcomes: dict[object, Any] = {}
        self.idle: set[object] = set()


class View:
    """One situation, and what conditions come to in it; every answer is that of the function of the same name."""

    def __init__(self, outcomes: Outcomes, facts: Facts) -> None:
        self.facts = facts
        self._outcomes = outcomes
        self._numbers = outcomes.numbers(facts, 0)
        self._located: dict[int, tuple[_Row, object]] = {}
        self._has_plan = any(name.startswith("plan.") for name in facts.by_name)
        self._background: tuple[object, ...] | None = None
        self._as_read: View | None = None
        self._unspared: View | None = None

    def closed(self) -> View:
        """The same situation, if its packages are all there are."""
        return self._outcomes.of(replace(self.facts, closed=True))

    def with_facts(self, facts: Iterable[Fact]) -> View:
        return self._outcomes.of(self.facts.with_facts(facts))

    def as_read(self) -> View:
        """The same situation, if what nothing that was read shows is not there: a script, a variable."""
        if self._as_read is None:
            unclear = self.facts.value(UNCLEAR)
            there = {*self.facts.by_name, *(unclear if isinstance(unclear, tuple) else ())}
            unread = (Fact(name, value, Origin("nothing read")) for name, value in UNREAD.items() if name not in there)
            self._as_read = self.with_facts([*unread, *_of_variables_alone(self.facts)])
        return self._as_read

    def held(self, condition: Condition) -> tuple[bool | None, tuple[str, ...]]:
        """As ``judged``; but a condition that is left open by nothing but what was not read holds where it holds as things were read."""
        row, key = self._located.get(id(condition)) or self._row(condition)
        found: tuple[bool | None, tuple[str, ...]] = row.outcomes.get(key) or self.judged(condition)
        if row.asks_unread and found[0] is None and not UNREAD.keys().isdisjoint(found[1]) and self.as_read().judged(condition)[0]:
            return True, ()
        if row.spares and found[0] is None and not self._has_plan and self._without_plan().judged(condition)[0]:
            return True, ()
        return found

    def _without_plan(self) -> View:
        """The same situation, if no plan spares it: all that is stated is what is there, and who asks means to use it."""
        if self._unspared is None:
            self._unspared = self.as_read().with_facts(_NOT_SPARED)
        return self._unspared

    def idle_in(self, condition: Condition, taken: View | None) -> tuple[set[object], object]:
        """The situations to which an undecided condition says nothing, and the key of this one, ``taken`` being what is installed of it.

        Nothing else than what the condition names of both decides that, beside whether there is a plan.
        """
        row, key = self._located.get(id(condition)) or self._row(condition)
        if taken is None:
            return row.idle, (self._has_plan, key)
        return row.idle, (self._has_plan, key, taken._has_plan, taken._key(row))

    def is_silent(self, condition: Condition) -> bool:
        """Whether nothing is known of any package whose versions a condition accuses: `speaks` is then False, whatever else is."""
        accused = self._outcomes.row(condition).accused
        return bool(accused) and self.facts.by_name.keys().isdisjoint(accused)

    def lacks_needed(self, condition: Condition) -> bool:
        """Whether nothing is known of a package without which the condition does not hold."""
        return not self._outcomes.row(condition).needed <= self.facts.by_name.keys()

    def judged(self, condition: Condition) -> tuple[bool | None, tuple[str, ...]]:
        row, key = self._row(condition)
        found: tuple[bool | None, tuple[str, ...]] | None = row.outcomes.get(key)
        if found is None:
            found = row.outcomes[key] = judged(condition, self.facts, self._outcomes.known)
        return found

    def speaks(self, condition: Condition, lacking: tuple[str, ...]) -> bool:
        row, key = self._row(condition)
        found: bool | None = row.outcomes.get((self._has_plan, lacking, key))
        if found is None:
            found = row.outcomes[self._has_plan, lacking, key] = speaks(condition, self.facts, self._outcomes.known, lacking)
        return found

    def weigh(self, condition: Condition, lacking: tuple[str, ...]) -> Weight:
        if self._background is None:
            self._background = background(self.facts)
        row, key = self._row(condition)
        found: Weight | None = row.outcomes.get((self._background, lacking, key))
        if found is None:
            found = row.outcomes[self._background, lacking, key] = weigh(condition, self.facts, self._outcomes.known, lacking)
        return found

    def _row(self, condition: Condition) -> tuple[_Row, object]:
        """What is kept of a condition, and under which key for this situation."""
        found = self._located.get(id(condition))
        if found is None:
            row = self._outcomes.row(condition)
            # By identity: the row keeps the condition alive.
            found = self._located[id(condition)] = row, self._key(row)
        return found

    def _key(self, row: _Row) -> object:
        """Under which key a condition's row keeps what it comes to here."""
        if row.last >= len(self._numbers):  # it names a fact that no condition had named before
            self._numbers += self._outcomes.numbers(self.facts, len(self._numbers))
        return row.key(self._numbers)


def _only_spares(condition: Condition) -> bool:
    """Whether every word about the method and the attention stands in a negation, and is about all that may be spared."""
    about = [leaf for leaf in leaves(condition) if leaf.fact in _SPARED]
    spares = all(isinstance(leaf, ValueIs) and _SPARED[leaf.fact] <= {*leaf.values} for leaf in about)
    return spares and all(leaf.fact not in _SPARED for leaf in accused(condition))


def _of_variables_alone(facts: Facts) -> Iterator[Fact]:
    """The variables that a launcher or an image sets, with a word that nothing else was read: no rule waits for it."""
    uses = facts.by_name.get(CODE_USES)
    if uses is not None and isinstance(uses.value, tuple) and uses.value and all(map(is_variable, uses.value)):
        places = (*uses.places, uses.origin) if uses.places else ()
        yield replace(uses, value=(*uses.value, NOTHING_ELSE), places=places)


__all__ = ["Outcomes", "View"]
