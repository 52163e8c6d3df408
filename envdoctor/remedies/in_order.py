"""Releases in their order, and which of them a condition admits: told from where its bounds lie, not release by release."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from envdoctor.facts.versions import NOT_OF_SERIES, Exact, Key, strip_zeros, version_condition

_Clauses: TypeAlias = "tuple[tuple[str, Key, Key], ...]"
"""An operator with the bound that it names, twice; or ``out`` with the first release of a series and that of the next one."""


class InOrder:
    """Releases, oldest first; what is admitted is a number with a bit for the place of each."""

    def __init__(self, releases: Sequence[Exact]) -> None:
        self.releases = releases
        self.width = len(releases)
        self._odd = [place for place, release in enumerate(releases) if release.key is None]
        keys: list[Key] = []
        for release in releases:
            keys.append(release.key if release.key is not None else keys[-1] if keys else ())
        # In no order, each is asked by itself.
        self._keys = keys if all(one <= other for one, other in pairwise(keys)) else []
        self._masks: dict[str, int] = {}

    def admitted(self, text: str) -> int:
        """The releases that a condition admits."""
        found = self._masks.get(text)
        if found is None:
            found = self._masks[text] = self._admitted(text)
        return found

    def _admitted(self, text: str) -> int:
        condition, parts = version_condition(text), _parts(text)
        if parts is None or not self._keys:
            return sum(1 << place for place, release in enumerate(self.releases) if condition.admits(release))
        found = 0
        for clauses in parts:
            part = (1 << self.width) - 1
            for operator, first, last in clauses:
                part &= self._satisfying(operator, first, last)
            found |= part
        for place in self._odd:
            found = found & ~(1 << place) | int(condition.admits(self.releases[place])) << place
        return found

    def _satisfying(self, operator: str, first: Key, last: Key) -> int:
        every, under = (1 << self.width) - 1, (1 << bisect_left(self._keys, first)) - 1
        if operator == "out":
            return every & ~((1 << bisect_left(self._keys, last)) - 1 & ~under)
        upto = (1 << bisect_right(self._keys, first)) - 1
        found = {"<": under, "<=": upto, ">": every & ~upto, ">=": every & ~under, "==": upto & ~under}.get(operator)
        return every & ~(upto & ~under) if found is None else found


@lru_cache(maxsize=16384)
def _parts(text: str) -> tuple[_Clauses, ...] | None:
    """The parts of a condition, of which one has to hold; None where one has a clause that is none of numbers."""
    found = []
    for clauses in version_condition(text).fast:
        if clauses is None:
            return None
        found.append(tuple(_clause(operator, bound) for operator, bound in clauses))
    return tuple(found)


def _clause(operator: str, bound: Key) -> tuple[str, Key, Key]:
    if operator != NOT_OF_SERIES:
        return operator, bound, bound
    return "out", strip_zeros(bound), (*bound[:-1], bound[-1] + 1)


__all__ = ["InOrder"]
