"""For which Pythons and systems the releases of compiled packages have wheels, as the package index listed them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from envdoctor.records import dataclass
from envdoctor.world.spelling import by_shortest, entry_of

_TABLE = Path(__file__).parent.parent / "data" / "wheel_pythons.json"
SYSTEMS = {"linux": "l", "windows": "w", "macos": "m"}


@dataclass(frozen=True, slots=True)
class Wheels:
    """The second numbers of the Pythons that the wheels of a release are for, by system; ``since`` is the first of those that all suit."""

    minors: dict[str, frozenset[int]]
    since: dict[str, int]

    def suit(self, minor: int, system: str) -> bool:
        """Whether there is one for Python 3.``minor`` on a system."""
        return minor in self.minors.get(system, ()) or minor >= self.since.get(system, 10_000)

    def newest(self, system: str) -> int | None:
        """The newest Python that a wheel names; None where there is no wheel for the system, or one for all that are to come."""
        return None if system in self.since else max(self.minors.get(system, ()), default=None)


def wheels_of(name: str, release: str) -> Wheels | None:
    """The wheels of a release that has nothing else; None where an installer can build it, or nothing is known of it."""
    return _found("packages", name, release)


def is_hard_to_build(name: str) -> bool:
    """Whether a package is one of those whose source archive wants a compiler and more."""
    return name in _rows("compiled")


def wheels_beside_source(name: str, release: str) -> Wheels | None:
    """The wheels of a release that is compiled from its source archive where there is none; None of packages that are easily built."""
    return _found("compiled", name, release)


@lru_cache(maxsize=64)
def listed_releases(name: str) -> tuple[str, ...]:
    """The releases of a package whose wheels are known, the oldest first."""
    from packaging.version import Version

    known = {release for part in ("packages", "compiled") for release in _releases(part, name)}
    return tuple(sorted(known, key=Version))


def _found(part: str, name: str, release: str) -> Wheels | None:
    return entry_of(release, _releases(part, name), lambda: _shortly(part, name))


@lru_cache(maxsize=64)
def _shortly(part: str, name: str) -> dict[str, Wheels]:
    return by_shortest(_releases(part, name))


@lru_cache(maxsize=256)
def _releases(part: str, name: str) -> dict[str, Wheels]:
    rows = _rows(part).get(name, ())
    return {release: wheels for told, releases in rows for wheels in (_read(told),) for release in releases.split()}


def _rows(part: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = _table()[part]
    return found


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_bytes())
    return table


@lru_cache(maxsize=512)
def _read(told: str) -> Wheels:
    minors: dict[str, frozenset[int]] = {}
    since: dict[str, int] = {}
    for part in told.split():
        system = next(name for name, letter in SYSTEMS.items() if letter == part[0])
        numbers: set[int] = set()
        for one in part[1:].split(","):
            first, _, last = one.partition("-")
            if one.endswith("+"):
                since[system] = int(one[:-1])
            else:
                numbers |= set(range(int(first), int(last or first) + 1))
        minors[system] = frozenset(numbers)
    return Wheels(minors, since)


__all__ = ["SYSTEMS", "Wheels", "wheels_beside_source", "wheels_of"]
