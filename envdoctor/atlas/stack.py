"""A stack as the atlas sees it: for every package the place of its release among those that were read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor.records import dataclass
from envdoctor.world.spelling import spelled_in

if TYPE_CHECKING:
    from envdoctor.atlas.volume import Volume


@dataclass(frozen=True, slots=True)
class Stack:
    """Releases by package; ``closed`` says that there are no others, ``scanned`` names those that were read in an environment.

    ``python`` and ``system`` are empty where they are not known. ``idle`` are packages that nobody imports.
    """

    releases: Mapping[str, str]
    closed: bool = False
    python: str = ""
    system: str = ""
    scanned: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()


# Releases of which only a source archive is there, whose package has no __init__ at its top: no module was found in them.
_NOTHING_READ = {
    "optimum": frozenset(
        ("1.0.0", "1.1.0", "1.1.1", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.3.0", "1.4.0", "1.4.1",
         "1.8.3", "1.8.4", "1.8.7", "1.8.8", "1.9.1", "1.10.0", "1.10.1", "1.13.2")
    )
}  # fmt: skip


def places(volume: Volume, release: str) -> tuple[int, ...]:
    """The position of a release; of one that was not read those of its neighbours, what both say holds of it. None known: nothing.

    Only the last release of each minor was read of many packages: what one lacks and the next has may have come with either.
    """
    if volume.standing is not None:
        return (volume.standing,)
    releases = volume.releases if isinstance(volume.releases, tuple) else tuple(volume.releases)
    return _places(releases, release, _NOTHING_READ.get(volume.name, frozenset()))


def standing(volume: Volume, release: str) -> tuple[int, ...]:
    """The same for what a release has, not for what it takes of others: between two of which one alone is of its own minor, that one
    stands for it. From 1.0 on a patch release takes no name away; what it imports of others may change with any (``leaning``)."""
    where = places(volume, release)
    if len(where) < 2:
        return where
    from packaging.version import Version

    wanted = Version(release.partition("+")[0])
    own = [place for place in where if Version(volume.releases[place]).release[:2] == wanted.release[:2]]
    return (own[0],) if len(own) == 1 and wanted.major and not wanted.is_prerelease else where


def neighbours(volume: Volume, release: str) -> tuple[int, ...]:
    """The positions of the releases on both sides of one that was not read; where an error says what such a release lacks, it is like one
    of them."""
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(release.partition("+")[0])
    except InvalidVersion:
        return ()
    below = sum(Version(one) <= wanted for one in volume.releases)
    return tuple(place for place in (below - 1, below) if 0 <= place < len(volume.releases))


@lru_cache(maxsize=4096)
def _places(releases: tuple[str, ...], release: str, empty: frozenset[str]) -> tuple[int, ...]:
    public = release.partition("+")[0]
    written = public if public in releases else spelled_in(public, releases)
    if written is not None and written not in empty:
        return (releases.index(written),)
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(public)
    except InvalidVersion:
        return ()
    read = [place for place, one in enumerate(releases) if one not in empty]
    below = [place for place in read if Version(releases[place]) < wanted]
    if not below and read and not wanted.is_prerelease:
        # Older than what was read: from 1.0 on the first release of its own minor stands for it. Below, patches change what they like.
        return (read[0],) if wanted.major and Version(releases[read[0]]).release[:2] == wanted.release[:2] else ()
    if not below:
        return ()
    after = next((place for place in read if place > below[-1]), len(releases))
    if wanted.is_devrelease and (after == len(releases) or Version(releases[after]) != Version(wanted.base_version)):
        return ()  # a state of the main branch: what it leads to has to be known
    if after == len(releases):
        # Newer than what was read: of its own minor the releases before it stand for it, of no other.
        return (below[-1],) if Version(releases[below[-1]]).release[:2] == wanted.release[:2] else ()
    return (below[-1], after)


def holds(mask: int, where: tuple[int, ...]) -> bool:
    """Whether a set of releases has one for certain."""
    if len(where) == 1:  # asked a hundred thousand times while pins are searched
        return bool(mask >> where[0] & 1)
    return bool(where) and all(mask >> place & 1 for place in where)
