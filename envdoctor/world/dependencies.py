"""What the releases of packages require of others: a bundled table, or a newer one that the user had made; read when it is asked for.

It holds what the wheels of each release declare, with and without a version, and what belongs to an extra.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from envdoctor.records import dataclass, replace
from envdoctor.world.spelling import by_shortest, entry_of
from envdoctor.world.tables import Table, table

_NAME = re.compile(r"[^\[=<>!~ ]+")


@dataclass(frozen=True, slots=True)
class Dependency:
    """One Requires-Dist of a release.

    The package by its normalised name, the specifier (PEP 440; empty where any release will do), the marker, if there is one, and the
    extras of the package that are asked for.
    """

    name: str
    specifier: str
    marker: str = ""
    extras: tuple[str, ...] = ()

    @property
    def of_another_build(self) -> Dependency:
        """As a build with a label declares it: the table has the package index's build, which may name the label of its own CUDA."""
        return replace(self, specifier=self.specifier.partition("+")[0]) if "+" in self.specifier else self


def as_of() -> str:
    """The day on which the table was made (YYYY-MM-DD)."""
    return _table().as_of


def releases_as_of() -> str:
    """The day on which the list of releases ended that the table was made from (YYYY-MM-DD)."""
    return str(_table().content.get("releases_as_of", as_of()))


def dependencies(name: str, version: str, *, unbound: bool = False) -> tuple[Dependency, ...] | None:
    """What a release of a package, by normalised name, requires of others; None for one that is not in the table.

    It is what binds a version, and with ``unbound`` everything; what belongs to an extra is never in it.
    ``version`` has no local label.
    """
    place = _place_of(name, version)
    if place is None:
        return None
    return _row(name, place, "") if unbound else _bound(name, place)


def dependencies_around(name: str, version: str) -> tuple[tuple[str, tuple[Dependency, ...]], ...]:
    """What the final releases before and after a development release or a pre-release require, each with its version.

    Empty for a version that is none, or is in the table itself, and where one of the two is missing.
    """
    return tuple((text, dependencies(name, text) or ()) for text in releases_around(name, version))


def releases_around(name: str, version: str) -> tuple[str, ...]:
    """The final releases before and after a development release or a pre-release of which the table says nothing; empty without both."""
    if version.replace(".", "").isdigit() or _place_of(name, version) is not None:
        return ()
    from packaging.version import InvalidVersion, Version

    try:
        asked = Version(version)
        known = [(Version(one), one) for one in versions(name)]
    except InvalidVersion:
        return ()
    if not asked.is_prerelease:
        return ()
    finals = [(one, text) for one, text in known if not one.is_prerelease]
    before = max((pair for pair in finals if pair[0] < asked), default=None)
    after = min((pair for pair in finals if pair[0] > asked), default=None)
    return () if before is None or after is None else (before[1], after[1])


def extra_dependencies(name: str, version: str, extra: str) -> tuple[Dependency, ...] | None:
    """What a release requires besides under an extra, by normalised name; None for a release that is not in the table.

    Empty for an extra that it does not have, and for one that the table leaves out: those for developing and testing the package.
    """
    place = _place_of(name, version)
    return None if place is None else _row(name, place, extra)


def of_extras(name: str, version: str) -> tuple[tuple[str, Dependency], ...]:
    """What a release requires under each of its extras, with the extra's name; nothing for a release that is not in the table."""
    place = _place_of(name, version)
    return () if place is None else _extras(name, place)


def rows(name: str) -> Iterator[tuple[tuple[Dependency, ...], tuple[str, ...]]]:
    """What binds a version in the releases of a package, each different row of the table once, with the releases that have it."""
    for place, (_, versions_) in enumerate(_rows(name)):
        yield _bound(name, place), versions_


def versions(name: str) -> Sequence[str]:
    """The releases of a package that are in the table, oldest first."""
    from envdoctor.world.releases import release_texts

    known = _places(name)
    return tuple(version for version in release_texts(name) if version in known)


def may_require(name: str, other: str) -> bool:
    """Whether some release of a package requires another one, with an extra or without; also where nobody knows what it requires."""
    texts = _table().packages.get(name, {}).get("requires")
    if not isinstance(texts, list):
        return True
    pattern = re.compile(rf"(?:\[[^\]]*\] )?{re.escape(other)}(?:[\[=<>!~; ]|$)")
    return any(pattern.match(text) for text in texts)


def requires_ever(name: str, other: str) -> bool:
    """The same, and nothing of what nobody knows."""
    return isinstance(_table().packages.get(name, {}).get("requires"), list) and may_require(name, other)


def is_required(name: str) -> bool:
    """Whether some release of some package in the table requires a package by this name, so that the index has it."""
    pattern = re.compile(rf"(?:\[[^\]]*\] )?{re.escape(name)}(?:[\[=<>!~; ]|$)")
    told = (one.get("requires") for one in _table().packages.values())
    return any(pattern.match(text) for texts in told if isinstance(texts, list) for text in texts)


def _table() -> Table:
    return table("dependencies")


@lru_cache(maxsize=2048)  # a freeze of three hundred packages is judged by the thousand while pins are searched
def _rows(name: str) -> tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]:
    """The places of the requirements, and the releases that have just these."""
    told = _table().packages.get(name, {}).get("rows")
    found = []
    for row in told if isinstance(told, list) else ():
        places, _, releases = row.partition(":")
        found.append((tuple(_numbers(places)), tuple(releases.split())))
    return tuple(found)


def _numbers(runs: str) -> Iterator[int]:
    """``0-2 5`` as 0, 1, 2, 5."""
    for run in runs.split():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _place_of(name: str, version: str) -> int | None:
    """The row of a release, however it is written."""
    return entry_of(version, _places(name), lambda: _shortly(name))


@lru_cache(maxsize=512)
def _shortly(name: str) -> Mapping[str, int]:
    return by_shortest(_places(name))


@lru_cache(maxsize=2048)
def _places(name: str) -> Mapping[str, int]:
    """The row of every release of a package."""
    return {version: place for place, (_, releases) in enumerate(_rows(name)) for version in releases}


@lru_cache(maxsize=4096)
def _bound(name: str, place: int) -> tuple[Dependency, ...]:
    return tuple(one for one in _row(name, place, "") if one.specifier)


@lru_cache(maxsize=4096)
def _row(name: str, place: int, extra: str) -> tuple[Dependency, ...]:
    texts = _table().packages[name]["requires"]
    chosen = [_parsed(texts[number]) for number in _rows(name)[place][0]] if isinstance(texts, list) else []
    return tuple(dependency for dependency, of in chosen if of == extra)


@lru_cache(maxsize=1024)
def _extras(name: str, place: int) -> tuple[tuple[str, Dependency], ...]:
    texts = _table().packages[name]["requires"]
    chosen = [_parsed(texts[number]) for number in _rows(name)[place][0]] if isinstance(texts, list) else []
    return tuple((extra, dependency) for dependency, extra in chosen if extra)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> tuple[Dependency, str]:
    """A requirement, and the extra that it belongs to; empty for one of no extra."""
    extra = ""
    if text.startswith("["):
        extra, _, text = text[1:].partition("] ")
    requirement, _, marker = text.partition(" ; ")
    found = _NAME.match(requirement)
    name = found[0] if found else requirement
    specifier, extras = requirement[len(name) :], ""
    if specifier.startswith("["):
        extras, _, specifier = specifier[1:].partition("]")
    return Dependency(name, specifier, marker, tuple(extras.split(",")) if extras else ()), extra


__all__ = [
    "Dependency",
    "as_of",
    "dependencies",
    "dependencies_around",
    "extra_dependencies",
    "is_required",
    "of_extras",
    "releases_around",
    "releases_as_of",
    "rows",
    "versions",
]
