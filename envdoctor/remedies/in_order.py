"""Releases in their order, and which of them a condition admits: told from where its bounds lie, not release by release."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from envdoctor.facts.versions import Exact, Key, final_key, version_condition

_Clauses: TypeAlias = "tuple[tuple[str, Key, Key], ...]"
"""An operator with the bound that it names, twice; or ``out`` with the first release of a series and that of the next one."""

_NOT_OF_A_SERIES = r"!=\s*([0-9]{1,9}(?:\.[0-9]{1,9})*)\.\*"


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
    for part, clauses in zip(text.split("||"), version_condition(text).fast, strict=True):
        if clauses is None:
            try:
                found.append(tuple(_clauses(part)))
            except ValueError:
                return None
        else:
            found.append(tuple((operator, bound, bound) for operator, bound in clauses))
    return tuple(found)


def _clauses(part: str) -> Iterator[tuple[str, Key, Key]]:
    """The clauses of a part that leaves out series of releases, ``!=1.5.*``.

    Raises:
        ValueError: it has one of another kind.
    """
    for piece in filter(None, (piece.strip() for piece in part.split(","))):
        [plain] = version_condition(piece).fast
        if plain is not None:
            yield from ((operator, bound, bound) for operator, bound in plain)
            continue
        series = re.fullmatch(_NOT_OF_A_SERIES, piece, re.ASCII)
        if series is None:
            raise ValueError(piece)
        numbers = tuple(map(int, series[1].split(".")))
        yield "out", _key(numbers), _key((*numbers[:-1], numbers[-1] + 1))


def _key(numbers: Key) -> Key:
    key = final_key(".".join(map(str, numbers)))
    assert key is not None
    return key


__all__ = ["InOrder"]
