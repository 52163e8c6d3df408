"""What conditions come to over all releases of a package: few texts make many pairs, so each is judged once for a list of releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from envdoctor.facts.versions import Exact, VersionCondition, exact, parse_version, version_condition

_MOST_KEPT = 1024
# Of one list so many answers are kept, and none of a text that was written to be long.
_MOST_ANSWERS, _LONGEST_KEPT = 8192, 600


def satisfiable(admitted: str, known: Sequence[str]) -> bool:
    """Whether any known release, or one still to come, satisfies the specifier set."""
    return history(known).has_any(version_condition(admitted))


class History:
    """The final releases of one list, and what conditions come to over them, kept as the bits of numbers: few texts make many pairs."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = known
        every = map(exact, known)
        self._finals = tuple(version for version in every if version.key is not None or not _is_prerelease(version.text))
        self._admitted: dict[str, int] = {}
        self._relations: dict[tuple[str, str], bool | None] = {}

    def relation(self, condition: VersionCondition, admitted: str) -> bool | None:
        """As `VersionCondition.relation`, of the range that a text admits."""
        asked = condition.text, admitted
        if asked in self._relations:
            return self._relations[asked]
        found = self._relation(condition, version_condition(admitted))
        if len(condition.text) + len(admitted) <= _LONGEST_KEPT:
            _make_room(self._relations)
            self._relations[asked] = found
        return found

    def _relation(self, condition: VersionCondition, admitted: VersionCondition) -> bool | None:
        among = self._admits(admitted)
        held = among & self._admits(condition)
        if held not in (0, among):
            return None
        # Where the known releases are all seen alike, others may be seen otherwise.
        outcome = bool(held) if among else None
        for version in self._points((*condition.text.split("||"), admitted.text), admitted):
            also = condition.admits(version)
            if outcome is not None and also is not outcome:
                return None
            outcome = also
        return outcome

    def has_any(self, admitted: VersionCondition) -> bool:
        """As `satisfiable`."""
        return bool(self._admits(admitted)) or any(True for _ in self._points((admitted.text,), admitted))

    def _admits(self, condition: VersionCondition) -> int:
        found = self._admitted.get(condition.text)
        if found is None:
            found = sum(1 << place for place, version in enumerate(self._finals) if condition.admits(version))
            if len(condition.text) <= _LONGEST_KEPT:
                _make_room(self._admitted)
                self._admitted[condition.text] = found
        return found

    def _points(self, parts: Sequence[str], admitted: VersionCondition) -> Iterator[Exact]:
        """Versions that no list need hold: those named, and one final release within every gap where any may exist."""
        from envdoctor.facts.points import points_beyond

        return (version for version in points_beyond(parts, self._finals[-1] if self._finals else None) if admitted.admits(version))


# By identity: to hash two hundred releases costs more than to look one up. What is kept stays alive.
_HISTORIES: dict[int, History] = {}


def history(known: Sequence[str]) -> History:
    """What is kept of a list of releases, oldest first."""
    if not isinstance(known, tuple):  # it may change
        return History(tuple(known))
    found = _HISTORIES.get(id(known))
    if found is None or found.known is not known:
        if len(_HISTORIES) > _MOST_KEPT:
            _HISTORIES.clear()
        found = _HISTORIES[id(known)] = History(known)
    return found


def _make_room(answers: dict[Any, Any]) -> None:
    if len(answers) >= _MOST_ANSWERS:
        answers.clear()


def _is_prerelease(text: str) -> bool:
    from envdoctor.facts.unfinished import is_prerelease

    told = is_prerelease(text)
    return parse_version(text).is_prerelease if told is None else told
