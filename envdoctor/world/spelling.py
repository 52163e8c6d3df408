"""How a version is written: 2.9, 2.9.0 and 2.9.0.0 are one release, whatever a list or a report calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

_T = TypeVar("_T")
_ZEROS = re.compile(r"(?:\.0)+$")


@lru_cache(maxsize=16_384)
def shortest(version: str) -> str:
    """A version without the zeros at its end, which say nothing."""
    return _ZEROS.sub("", version)


def entry_of(version: str, by_version: Mapping[str, _T], shortly: Callable[[], Mapping[str, _T]]) -> _T | None:
    """What a mapping has of a release; ``shortly`` is asked for the same mapping by the shortest spellings where it has not this one."""
    found = by_version.get(version)
    return shortly().get(shortest(version)) if found is None else found


def by_shortest(by_version: Mapping[str, _T]) -> dict[str, _T]:
    """A mapping by the shortest spelling of every version."""
    return {shortest(version): value for version, value in by_version.items()}


def spelled_in(version: str, versions: Iterable[str]) -> str | None:
    """How a list writes a version; None for one that it does not have."""
    wanted = shortest(version)
    return next((one for one in versions if shortest(one) == wanted), None)


__all__ = ["by_shortest", "entry_of", "shortest", "spelled_in"]
