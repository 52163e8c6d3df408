"""The versions at which what a range admits may change, whether a list has them or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor.facts.versions import MAX_LENGTH, OPERATORS, Exact, Key, exact, parse_specifiers, parse_version, plain_key, strip_zeros

if TYPE_CHECKING:
    from packaging.version import Version


# A release has few numbers, and what lies just above it eight more and one. One of a thousand makes a thousand points of as many: not kept.
_USUAL = 12
_MOST_NUMBERS = _USUAL + 9


def points_beyond(parts: Sequence[str], newest: Exact | None) -> list[Exact]:
    """The versions that specifier sets name, and the final releases above the newest known one at which their outcome may change."""
    # Most name final releases alone, and packaging takes longer to import than all else that is asked of them.
    finals = _final_points(parts, newest)
    return _all_points(parts, newest) if finals is None else finals


def _final_points(parts: Sequence[str], newest: Exact | None) -> list[Exact] | None:
    """The points of `_all_points` where all of them are final releases; None where packaging has to be asked."""
    if newest is not None and (newest.key is None or "+" in newest.text):
        return None
    points: dict[Key, None] = {} if newest is not None else {(0,): None}
    for part in parts:
        named = _named_finals(part)
        if named is None:
            return None
        for numbers in named:
            points[strip_zeros(numbers)] = None
            for key in _next_keys(numbers):
                if newest is None or newest.key is None or key > newest.key:
                    points[key] = None
    return [_of_key(key) for key in points]


@lru_cache(maxsize=16384)
def _named_finals(part: str) -> tuple[Key, ...] | None:
    """The release numbers that a specifier set names, with their last zeros; None where one of its clauses names anything else."""
    named = []
    for piece in filter(None, map(str.strip, part.split(","))):
        operator = next(filter(piece.startswith, OPERATORS), "===")
        text = piece[len(operator) :].strip().removesuffix(".*")
        if operator == "===" or len(part) > MAX_LENGTH or plain_key(text) is None:
            return None
        named.append(tuple(map(int, text.split("."))))
    return tuple(named)


def _next_keys(numbers: Key) -> tuple[Key, ...]:
    return _kept_next_keys(numbers) if len(numbers) <= _USUAL else tuple(map(strip_zeros, _next_numbers(numbers)))


@lru_cache(maxsize=16384)
def _kept_next_keys(numbers: Key) -> tuple[Key, ...]:
    return tuple(map(strip_zeros, _next_numbers(numbers)))


def _of_key(key: Key) -> Exact:
    return _kept_of_key(key) if len(key) <= _MOST_NUMBERS else Exact(".".join(map(str, key)), key)


@lru_cache(maxsize=16384)
def _kept_of_key(key: Key) -> Exact:
    return Exact(".".join(map(str, key)), key)


def _next_numbers(numbers: Key) -> Iterator[Key]:
    """The final releases at which the outcome of a specifier that names this one may change.

    These are itself, one just above it, and those with which the prefixes of ``==1.5.*`` and ``~=1.5.1`` end.
    """
    yield numbers
    yield (*numbers, *(0,) * 8, 1)
    for end in range(1, len(numbers) + 1):
        yield (*numbers[: end - 1], numbers[end - 1] + 1)


def _all_points(parts: Sequence[str], newest: Exact | None) -> list[Exact]:
    """The versions that specifier sets name, and the final releases above what is known at which their outcome may change."""
    last = None if newest is None else parse_version(newest.text)
    points = {parse_version("0")} if last is None else set()
    named = {version for part in parts for version in _named(part)}
    for version in named:
        points.update(_next_finals(version))
    points = {point for point in points if last is None or point > last}
    return list(map(exact, map(str, sorted(named | points))))


@lru_cache(maxsize=16384)
def _named(part: str) -> tuple[Version, ...]:
    """The versions that a specifier set names."""
    named = []
    for specifier in parse_specifiers(part):
        try:
            named.append(parse_version(specifier.version.removesuffix(".*")))
        except ValueError:  # the text of === may be anything; no version is equal to it
            continue
    return tuple(named)


@lru_cache(maxsize=16384)
def _next_finals(version: Version) -> tuple[Version, ...]:
    return tuple(parse_version(f"{version.epoch}!" + ".".join(map(str, release))) for release in _next_numbers(version.release))


__all__ = ["points_beyond"]
