"""A stack as the atlas sees it: for every package the place of its release among those that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor.facts.versions import Key, final_key
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
    finals = _finals(release.partition("+")[0], [volume.releases[place] for place in where])
    if finals is not None:
        near = [place for place, key in zip(where, finals[1:], strict=True) if _minor(key) == _minor(finals[0])]
        return (near[0],) if len(near) == 1 and finals[0][0] else where
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
    read = [place for place, one in enumerate(releases) if one not in empty]
    finals = _finals(public, releases)
    if finals is not None:
        return _places_of_final(finals[0], finals[1:], read)
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(public)
    except InvalidVersion:
        return ()
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


def _finals(release: str, releases: Sequence[str]) -> tuple[Key, ...] | None:
    """The numbers of a release and of others, where all are final: packaging takes longer to import than most checks take."""
    keys = [final_key(one) for one in (release, *releases)]
    return None if None in keys else tuple(key for key in keys if key is not None)


def _places_of_final(wanted: Key, keys: Sequence[Key], read: Sequence[int]) -> tuple[int, ...]:
    """``_places`` of a final release among final ones that were read."""
    below = [place for place in read if keys[place] < wanted]
    if not below:
        return (read[0],) if read and wanted[0] and _minor(keys[read[0]]) == _minor(wanted) else ()
    after = next((place for place in read if place > below[-1]), len(keys))
    if after == len(keys):
        return (below[-1],) if _minor(keys[below[-1]]) == _minor(wanted) else ()
    return (below[-1], after)


def _minor(key: Key) -> Key:
    return (*key, 0, 0)[:2]


def holds(mask: int, where: tuple[int, ...]) -> bool:
    """Whether a set of releases has one for certain."""
    if len(where) == 1:  # asked a hundred thousand times while pins are searched
        return bool(mask >> where[0] & 1)
    return bool(where) and all(mask >> place & 1 for place in where)
