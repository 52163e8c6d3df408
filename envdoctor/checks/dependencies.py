"""What the releases of the tracked packages require of others: a bundled table, read when two pins are to be compared.

It holds what binds the version of another package and belongs to no extra, as the wheels of each release declare it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

_BUNDLE = Path(__file__).parent.parent / "data" / "dependencies.json"
_OPERATORS = "=<>!~"


class _Bundle(TypedDict):
    as_of: str
    releases_as_of: str
    requirements: list[str]
    packages: dict[str, list[tuple[list[int], str]]]


@dataclass(frozen=True, slots=True)
class Dependency:
    """One Requires-Dist of a release: the package by its normalised name, the specifier (PEP 440), and the marker, if there is one."""

    name: str
    specifier: str
    marker: str = ""


def as_of() -> str:
    """The day on which the table was made (YYYY-MM-DD)."""
    return _bundle()["as_of"]


def releases_as_of() -> str:
    """The day on which the list of releases ended that the table was made from (YYYY-MM-DD)."""
    return _bundle()["releases_as_of"]


def dependencies(name: str, version: str) -> tuple[Dependency, ...] | None:
    """What a release of a package, by normalised name, requires of others; None for one that is not in the table.

    ``version`` is written as the list of releases has it, without a local label.
    """
    place = _places(name).get(version)
    return None if place is None else _row(name, place)


def rows(name: str) -> Iterator[tuple[tuple[Dependency, ...], tuple[str, ...]]]:
    """What the releases of a package require, each different list once, with the releases that require just this."""
    for place, (_, versions_) in enumerate(_bundle()["packages"].get(name, [])):
        yield _row(name, place), tuple(versions_.split())


def versions(name: str) -> Sequence[str]:
    """The releases of a package that are in the table, oldest first."""
    from envdoctor.releases import release_texts

    known = _places(name)
    return tuple(version for version in release_texts(name) if version in known)


@lru_cache(maxsize=1)
def _bundle() -> _Bundle:
    bundle: _Bundle = json.loads(_BUNDLE.read_bytes())
    return bundle


@lru_cache(maxsize=256)
def _places(name: str) -> Mapping[str, int]:
    """The row of every release of a package."""
    rows = _bundle()["packages"].get(name, [])
    return {version: place for place, (_, versions) in enumerate(rows) for version in versions.split()}


@lru_cache(maxsize=4096)
def _row(name: str, place: int) -> tuple[Dependency, ...]:
    bundle = _bundle()
    return tuple(_dependency(bundle["requirements"][number]) for number in bundle["packages"][name][place][0])


def _dependency(text: str) -> Dependency:
    requirement, _, marker = text.partition(" ; ")
    end = min(place for place in map(requirement.find, _OPERATORS) if place >= 0)
    return Dependency(requirement[:end], requirement[end:], marker)


__all__ = ["Dependency", "as_of", "dependencies", "releases_as_of", "rows", "versions"]
