"""Many rules as outlines, each made where somebody looks at it: most of them are ruled out by the packages alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from envdoctor.facts.fact import Facts, FactValue
from envdoctor.facts.versions import Absent, Exact, Ranged, version_condition
from envdoctor.rules.conditions import InvalidConditionError, Known
from envdoctor.rules.rule import Rule, outline, parse_rule
from envdoctor.rules.tables import needs


class Outlines(Sequence[Rule]):
    """Rules from tables that `parse_rule` has accepted, in their order."""

    def __init__(self, tables: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self._tables = tables
        self._made: list[Rule | None] = [None] * len(tables)
        self._places: dict[str, int] | None = None
        self._needed: dict[str, list[tuple[int, str]]] | None = None

    def __len__(self) -> int:
        return len(self._tables)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, place: int | slice) -> Rule | tuple[Rule, ...]:
        if isinstance(place, slice):
            return tuple(map(self._at, range(len(self))[place]))
        return self._at(range(len(self))[place])

    def __iter__(self) -> Iterator[Rule]:
        return map(self._at, range(len(self)))

    def find(self, name: str) -> Rule:
        """The rule of that id.

        Raises:
            KeyError: there is none.
        """
        return self._at(self._by_name()[name])

    def has(self, name: str) -> bool:
        """Whether this is the id of one of them."""
        return name in self._by_name()

    def _by_name(self) -> dict[str, int]:
        if self._places is None:
            self._places = {table["id"]: place for place, (_, table) in enumerate(self._tables)}
        return self._places

    def that_may_hold(self, facts: Facts, known: Known, kept: dict[tuple[str, FactValue | None], int]) -> Iterator[Rule]:
        """All but those that need a package which is not there, or which is there in another version: they do not hold.

        ``kept`` remembers for the next situation what a version rules out; it is that of one list of releases, ``known``.
        """
        if self._needed is None:
            self._needed = self._needs()
        out = 0
        for package, needed in self._needed.items():
            fact = facts.by_name.get(f"packages.{package}")
            if fact is None and not facts.closed:
                continue
            key = (package, None if fact is None else fact.value)
            found = kept.get(key)
            if found is None:
                found = 0
                for place, text in needed:
                    if fact is None or _rules_out(package, text, fact.value, known):
                        found |= 1 << place
                kept[key] = found
            out |= found
        return (self._at(place) for place in range(len(self)) if not out >> place & 1)

    def _needs(self) -> dict[str, list[tuple[int, str]]]:
        """By package, the rules that need it and the versions of it that they are about."""
        found: dict[str, list[tuple[int, str]]] = {}
        for place, (_, table) in enumerate(self._tables):
            for package, text in needs(table):
                found.setdefault(package, []).append((place, text))
        return found

    def _at(self, place: int) -> Rule:
        found = self._made[place]
        if found is None:
            found = self._made[place] = _outlined(*self._tables[place])
        return found


def _rules_out(package: str, text: str, value: FactValue, known: Known) -> bool:
    """Whether a version is for certain none of those that a rule is about."""
    if isinstance(value, Exact):
        return not version_condition(text).admits(value)
    if isinstance(value, Ranged):
        return version_condition(text).relation(value, known(package)) is False
    return isinstance(value, Absent)


def _outlined(place: str, table: Mapping[str, Any]) -> Rule:
    """The outline of a rule; where the table is not what was compiled, the full reading says what is wrong with it.

    Raises:
        EnvdoctorError: with every error of the rule.
    """
    try:
        return outline(table)
    except (InvalidConditionError, KeyError, TypeError, ValueError, AttributeError):
        return parse_rule(table, place)


__all__ = ["Outlines"]
