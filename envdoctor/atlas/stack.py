"""A stack as the atlas sees it: for every package the place of its release among those that were read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from envdoctor.atlas.guards import BRANCH, NEVER, UNKNOWN
from envdoctor.atlas.volume import Volume
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import dataclass

_ATOM = re.compile(r"(!?)([a-z0-9-]+)(?:([<>=!]=?)(.+))?")
_MODULE_ONLY = "~module"


@dataclass(frozen=True, slots=True)
class Stack:
    """Releases by package; ``closed`` says that there are no others, ``scanned`` names those that were read in an environment.

    ``python`` and ``system`` are empty where they are not known.
    """

    releases: Mapping[str, str]
    closed: bool = False
    python: str = ""
    system: str = ""
    scanned: frozenset[str] = frozenset()


def places(volume: Volume, release: str) -> tuple[int, ...]:
    """The position of a release; of one that was not read those of its neighbours, what both say holds of it. None known: nothing.

    Only the last release of each minor was read of many packages: what one lacks and the next has may have come with either.
    """
    return _places(volume.releases if isinstance(volume.releases, tuple) else tuple(volume.releases), release)


@lru_cache(maxsize=4096)
def _places(releases: tuple[str, ...], release: str) -> tuple[int, ...]:
    public = release.partition("+")[0]
    if public in releases:
        return (releases.index(public),)
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(public)
    except InvalidVersion:
        return ()
    below = [place for place, one in enumerate(releases) if Version(one) < wanted]
    if wanted.is_devrelease or not below:
        return ()
    after = below[-1] + 1
    if after == len(releases):
        # Newer than what was read: of its own minor the releases before it stand for it, of no other.
        return (below[-1],) if Version(releases[below[-1]]).release[:2] == wanted.release[:2] else ()
    return (below[-1], after)


def holds(mask: int, where: tuple[int, ...]) -> bool:
    """Whether a set of releases has one for certain."""
    return bool(where) and all(mask >> place & 1 for place in where)


def decide(guard: str, stack: Stack, *, moduleless: bool = False) -> bool | None:
    """Whether a condition holds of a stack; None where that is not known."""
    outcome: bool | None = True
    for atom in guard.split(" & ") if guard else ():
        told = _atom(atom, stack, moduleless=moduleless)
        if told is False:
            return False
        outcome = None if told is None else outcome
    return outcome


def _atom(atom: str, stack: Stack, *, moduleless: bool) -> bool | None:
    if atom == NEVER:
        return False
    if atom in (UNKNOWN, BRANCH):
        return None
    if atom == _MODULE_ONLY:
        return not moduleless
    if atom.lstrip("!").startswith("system:"):
        return None if not stack.system else (stack.system == atom.rpartition(":")[2]) != atom.startswith("!")
    match = _ATOM.fullmatch(atom)
    if match is None:
        return None
    denied, name, sign, version = match.groups()
    release = stack.python if name == "python" else stack.releases.get(name)
    if release is None and name == "torch" and stack.closed:
        return bool(denied)
    if not release:
        return bool(denied) if stack.closed and name != "python" and not sign else None
    if not sign:
        return not denied
    try:
        met = version_condition(f"{sign}{version}").admits(exact(release.partition("+")[0]))
    except ValueError:
        return None
    return met != bool(denied)
