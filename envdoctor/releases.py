"""The releases that the package index had on a day: a bundled list, never asked for at run time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from packaging.version import Version

_NEVER = "9999-12-31"
_last_day: str | None = None
_BUNDLE = Path(__file__).with_name("data") / "releases.json"


class _Bundle(TypedDict):
    as_of: str
    packages: dict[str, list[list[str | None]]]


@dataclass(frozen=True, slots=True)
class Release:
    """One final or post-release; ``date`` is the day of its first upload (YYYY-MM-DD, UTC).

    ``yanked`` is said of a release whose every file is; ``wheel`` that any file is a wheel.
    """

    version: str
    date: str | None
    yanked: bool
    requires_python: str | None
    wheel: bool


def as_of() -> str:
    """The day on which the list ends (YYYY-MM-DD): the one it was made on, or an earlier one that was asked for."""
    return min(_bundle()["as_of"], _last_day or _NEVER)


@contextmanager
def known_until(day: str | None) -> Iterator[None]:
    """Within this block, in this process, nothing is known of releases after a day (YYYY-MM-DD); None knows them all.

    A release whose day is not known is taken as old.
    """
    before = _last_day
    _use(day)
    try:
        yield
    finally:
        _use(before)


def _use(day: str | None) -> None:
    global _last_day
    if day != _last_day:
        _last_day = day
        for cached in (_releases, _texts, _versions):
            cached.cache_clear()


def tracked() -> frozenset[str]:
    """The packages in the list, by normalised name."""
    return frozenset(_bundle()["packages"])


def releases(name: str) -> tuple[Release, ...]:
    """All releases of a package, oldest version first; none for a package that is not tracked."""
    return _releases(_normalised(name))


def release_texts(name: str) -> tuple[str, ...]:
    """The versions of all releases of a package, yanked ones too, oldest first; none for a package that is not tracked."""
    return _texts(_normalised(name))


def newest(name: str) -> str | None:
    """The newest version that is not yanked; None for a package that is not tracked."""
    return next((release.version for release in reversed(releases(name)) if not release.yanked), None)


def exists(name: str, version: str) -> bool | None:
    """Whether the index has this release; a local label (``+cu118``) is not looked at.

    None for a package that is not tracked, and for a pre- or development release: those are not
    listed, and many of them (nightlies, source checkouts, containers) were never on the index.
    False for a version above ``newest`` may only mean that it came out after ``as_of``.

    Raises:
        InvalidVersion: the version is no PEP 440 version.
    """
    package = _normalised(name)
    if version in _texts(package):
        return True
    from packaging.version import Version

    wanted = Version(version)
    if wanted.is_prerelease or not _texts(package):
        return None
    return Version(wanted.public) in _versions(package)


@lru_cache(maxsize=1)
def _bundle() -> _Bundle:
    bundle: _Bundle = json.loads(_BUNDLE.read_bytes())
    return bundle


@lru_cache(maxsize=256)
def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=256)
def _releases(package: str) -> tuple[Release, ...]:
    return tuple(Release(str(row[0]), row[1], "yanked" in row[3:], row[2], "no-wheel" not in row[3:]) for row in _rows(package))


def _rows(package: str) -> list[list[str | None]]:
    rows = _bundle()["packages"].get(package, [])
    return rows if _last_day is None else [row for row in rows if (row[1] or "") <= _last_day]


@lru_cache(maxsize=256)
def _texts(package: str) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in _rows(package))


@lru_cache(maxsize=256)
def _versions(package: str) -> frozenset[Version]:
    from packaging.version import Version

    return frozenset(map(Version, _texts(package)))


__all__ = ["Release", "as_of", "exists", "known_until", "newest", "release_texts", "releases", "tracked"]
