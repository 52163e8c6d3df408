"""Caps that were learned later: what an old release would require had its authors known what the next ones ran into.

scipy 1.7.3 asks for numpy below 1.23; 1.6.1 names no end, and does not run with a later numpy for it. Whether a file contradicts itself is
judged by what releases do say. A release that is to be proposed is judged by this as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from envdoctor.facts.histories import satisfiable
from envdoctor.world.dependencies import Dependency, dependencies, versions
from envdoctor.world.releases import as_of as releases_until
from envdoctor.world.releases import release_texts

_PIN = re.compile(r"==\s*(\d+(?:\.\d+)*)")
_UPPER = re.compile(r"\s*(?:<=?|==|~=|===)\s*[^,]+")


def cautious(name: str, version: str) -> tuple[Dependency, ...] | None:
    """What a release requires, with the caps of the next release after it that has one, where it names no end itself.

    None for a release that is not in the table.
    """
    return _cautious(name, version, releases_until())


@lru_cache(maxsize=4096)
def learned(name: str, version: str) -> tuple[tuple[Dependency, str], ...]:
    """The caps that a release goes without and a later one has, each with the first release after it that has it."""
    own = dependencies(name, version)
    known = versions(name)
    if own is None or version not in known:
        return ()
    later = known[known.index(version) + 1 :]
    found = []
    for cap in cautious(name, version) or ():
        by = next((one for one in later if _has(name, one, cap)), None) if cap not in own else None
        if by is not None:
            found.append((cap, by))
    return tuple(found)


def _has(name: str, version: str, cap: Dependency) -> bool:
    return any(
        one.name == cap.name and one.marker == cap.marker and _cap(one.specifier) == cap.specifier
        for one in dependencies(name, version) or ()
    )


# What is kept is told apart by the day up to which releases are known.
@lru_cache(maxsize=4096)
def _cautious(name: str, version: str, until: str) -> tuple[Dependency, ...] | None:
    own = dependencies(name, version)
    if own is None:
        return None
    every, later = dependencies(name, version, unbound=True) or (), _caps(name, until).get(version, ())
    # By identity: many releases have one row, and between two that name caps all have the same ones. What is kept stays alive.
    key = id(own), id(every), id(later), until
    kept = _JOINED.get(key)
    if kept is None:
        open_ = {one.name for one in every} - {one.name for one in own if _cap(one.specifier)}
        joined = (*own, *(one for one in later if one.name in open_ and _admits(own, one)))
        kept = _JOINED[key] = (joined, own, every, later)
    return kept[0]


_Row: TypeAlias = "tuple[Dependency, ...]"
_JOINED: dict[tuple[int, int, int, str], tuple[_Row, _Row, _Row, _Row]] = {}


def _admits(own: Iterable[Dependency], cap: Dependency) -> bool:
    """Whether a cap leaves something of what a release asks for: one that was followed by an older line does not."""
    asked = [one.specifier for one in own if one.name == cap.name]
    return _leaves(cap.name, ",".join((*asked, cap.specifier)), releases_until())


# Few ranges are asked for by many releases.
@lru_cache(maxsize=4096)
def _leaves(name: str, specifier: str, until: str) -> bool:
    return satisfiable(specifier, release_texts(name))


@lru_cache(maxsize=4096)
def _cap(specifier: str) -> str:
    """The clauses of a specifier that name an end; a pin and a compatible release are ones."""
    return ",".join(clause.strip() for clause in specifier.split(",") if _UPPER.fullmatch(clause))


@lru_cache(maxsize=256)
def _caps(name: str, until: str) -> dict[str, tuple[Dependency, ...]]:
    """The caps of the releases after each release, of the nearest one that has any for a package."""
    nearest: dict[str, _Row] = {}
    found = {}
    told: _Row = ()
    before: _Row | None = None
    for version in reversed(versions(name)):
        found[version] = told
        row = dependencies(name, version)
        if row is None or row is before:
            continue
        before = row
        own: dict[str, list[Dependency]] = {}
        for one in row:
            cap = _cap(one.specifier)
            # What is pinned, or compatible with one minor release, belongs to just that release; a torch says until when one compiled.
            if cap.startswith("<"):
                own.setdefault(one.name, []).append(Dependency(one.name, cap, one.marker))
            elif one.name == "torch" and (pinned := _PIN.fullmatch(cap)):
                own.setdefault(one.name, []).append(Dependency(one.name, f"<={pinned[1]}", one.marker))
        if own:
            nearest |= {package: tuple(some) for package, some in own.items()}
            told = tuple(one for some in nearest.values() for one in some)
    return found


__all__ = ["cautious", "learned"]
