"""One set of changes that cures everything: the fewest packages changed, the nearest releases taken, and no other harm brought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envdoctor.engine.diagnosis import Finding
from envdoctor.records import dataclass
from envdoctor.remedies.domains import Domains
from envdoctor.remedies.goals import floors, goals_of, to_add, to_remove
from envdoctor.remedies.ranking import ranked, remedy
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.universe import FAMILY, Option, Problem, Universe
from envdoctor.remedies.verdicts import Verdicts
from envdoctor.remedies.walk import Set, Walk

MOST_REMEDIES = 8
# Sets looked at, some tenths of a millisecond each: for one finding alone, for all together, and for more than the smallest ones.
_MOST_ALONE = 1500
_MOST_TOGETHER = 4000
_MOST_AT_FIRST = 800
_MOST_FURTHER = 120
CUT_SHORT = "the search was cut short: a smaller set of changes may exist"


@dataclass(frozen=True, slots=True)
class _Found:
    """The sets that were found, cheapest first; ``whole`` says that nothing smaller was missed."""

    sets: tuple[Set, ...]
    whole: bool = True


def find_remedies(problem: Problem, findings: Iterable[Finding], *, alternatives: bool = True, brief: bool = False) -> tuple[Remedy, ...]:
    """Sets of changes that clear the most errors, then the most warnings, ranked; none where no change clears anything.

    First are all that change the fewest packages and are the nearest; then, to fall back upon, others that change as few: the nearest
    for other packages and in other directions, and those a little farther. Only decided errors and warnings are to be cleared. A set
    under which another rule or check matches, or would be told as possible, is refused, and so is one under which releases no longer
    admit each other. Where there is no other way, one under which something becomes possible is taken: better a cure with another fault
    that may be, which the next check tells of, than none.

    Without ``alternatives`` only the first is looked for, and told. A ``brief`` search finds what clears everything and is soon found, or
    nothing.
    """
    wanted = [one for one in findings if one.status in ("matched", "confirmed") and one.severity != "note"]
    for strict in (True,) if brief else (True, False):
        search = _Search(problem, wanted, strict=strict, most=MOST_REMEDIES if alternatives else 1)
        found = search.found(brief=brief)
        if found:
            return found
    return ()


def find_remedy(problem: Problem, findings: Iterable[Finding]) -> Remedy:
    """The first of all remedies; one without pins, that names what no change clears, where there is none."""
    findings = tuple(findings)
    found = find_remedies(problem, findings, alternatives=False)
    wanted = {one.rule.id for one in findings if one.status in ("matched", "confirmed") and one.severity != "note"}
    return found[0] if found else Remedy({}, (), tuple(sorted(wanted)))


class _Search:
    """One search for ``most`` remedies of some findings; without ``strict`` a set may bring what is merely possible."""

    def __init__(self, problem: Problem, wanted: Sequence[Finding], *, strict: bool, most: int) -> None:
        self._wanted, self._most = wanted, most
        self._universe = Universe(problem)
        adds = to_add(wanted, problem, self._universe)
        removes = to_remove(wanted, self._universe)
        self._verdicts = Verdicts(problem, self._universe, (*adds, *removes), strict=strict)
        self._goals = goals_of(wanted, self._verdicts)
        lowest = floors(wanted, self._universe)
        domains = Domains(self._universe, self._verdicts, self._goals, adds, removes, lowest)
        self._walk = Walk(self._universe, self._verdicts, domains, self._goals, lowest)

    def found(self, *, brief: bool = False) -> tuple[Remedy, ...]:
        """The remedies, ranked; none where nothing is cleared."""
        # Most often it is soon known what can be cleared together, and nobody needs to know what cannot.
        found = self._whole(frozenset(), _MOST_AT_FIRST)
        if found is None:
            if brief:
                return ()
            hopeless = self._hopeless()
            if len(hopeless) == len(self._goals):
                return ()
            found = self._whole(hopeless, _MOST_TOGETHER) or self._one_by_one(hopeless)
        if not found.sets or not found.sets[0].state:
            return ()
        proof = "" if found.whole else CUT_SHORT
        chosen = ranked(found.sets, self._goals)[: self._most]
        return tuple(remedy(one, self._universe, self._verdicts, self._goals, self._wanted, proof) for one in chosen)

    def _hopeless(self) -> frozenset[int]:
        """The goals that nothing clears, not even where all others are given up."""
        if len(self._goals) < 2:
            return frozenset()
        return frozenset(place for place in range(len(self._goals)) if self._is_hopeless(place))

    def _is_hopeless(self, place: int) -> bool:
        first = next(self._walk.sets(self._all_but({place}), most=_MOST_ALONE), None)
        return first is not None and bool(first.left)

    def _all_but(self, kept: Iterable[int]) -> frozenset[int]:
        return frozenset(range(len(self._goals))) - frozenset(kept)

    def _whole(self, hopeless: frozenset[int], most: int) -> _Found | None:
        """The sets for all goals but the hopeless ones; None where not even the first was found among so many."""
        found: list[Set] = []
        for one in self._walk.sets(hopeless, most=most, further=_MOST_FURTHER if self._most > 1 else 0):
            if one is None or (found and self._most == 1 and one.cost != found[0].cost):
                break
            if found and _rough(one) != _rough(found[0]):
                return _Found(tuple(found))
            if not found or one.cost == found[0].cost or not any(_own(other) <= _own(one) for other in found):
                found.append(one)
        return _Found(tuple(found)) if found else None

    def _one_by_one(self, hopeless: frozenset[int]) -> _Found:
        """Where all at once is too much to look at: goal after goal, errors first, each with those that were cleared before."""
        kept: set[int] = set()
        best: Set | None = None
        for place in sorted(self._all_but(hopeless), key=lambda place: (self._goals[place].level, self._goals[place].name)):
            one = next(self._walk.sets(self._all_but({*kept, place}), most=_MOST_ALONE), None)
            if one is not None and not one.left:
                best = one
                kept.add(place)
        return _Found(() if best is None else (best,), whole=False)


def _own(one: Set) -> set[Option]:
    """The changes but for those that only go along with torch."""
    return {option for name, option in one.state.items() if FAMILY[0] not in one.state or name not in FAMILY[1:]}


def _rough(one: Set) -> tuple[int, ...]:
    """What smaller sets have less of: findings left, packages removed and changed."""
    return one.cost[:4]


__all__ = ["CUT_SHORT", "MOST_REMEDIES", "Problem", "find_remedies", "find_remedy"]
