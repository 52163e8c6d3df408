"""The releases that the package index had on a day: a bundled list, or a newer one that the user had made; never asked for at run time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor.records import dataclass
from envdoctor.world.spelling import by_shortest, entry_of
from envdoctor.world.tables import Table, table

if TYPE_CHECKING:
    from packaging.version import Version

_NEVER = "9999-12-31"
_last_day: str | None = None

# Their development builds are on indexes of their own (PyTorch's, NVIDIA's, Anaconda's nightly channels, a project's): no list knows all.
_BUILT_ELSEWHERE = frozenset(
    (
        "flashinfer-python", "jax", "jaxlib", "matplotlib", "numpy", "onnxruntime", "onnxruntime-gpu", "pandas", "pyarrow", "ray",
        "scikit-learn", "scipy", "sglang", "tensorflow", "torch", "torchao", "torchaudio", "torchcodec", "torchdata", "torchtext",
        "torchtune", "torchvision", "triton", "vllm", "xformers",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Release:
    """One final or post-release; ``date`` is the day of its first upload (YYYY-MM-DD, UTC).

    ``yanked`` is said of a release whose every file is, and ``reason`` is what its maintainers said of it, if anything; ``wheel`` that any
    file is a wheel.
    """

    version: str
    date: str | None
    yanked: bool
    requires_python: str | None
    wheel: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the list comes from: ``kind`` is ``bundled`` or ``refreshed``, ``day`` the one it was made on (YYYY-MM-DD).

    ``passed_over`` is why a list that the user had made is not used; empty where there is none, or where it is.
    """

    kind: str
    day: str
    path: str
    passed_over: str = ""


def source() -> Source:
    """Where the list comes from."""
    used = _table()
    return Source("refreshed" if used.refreshed else "bundled", used.as_of, str(used.path), used.passed_over)


def age(today: date) -> int:
    """How many days ago the list was made; 0 where the clock says that it is yet to be made."""
    return max((today - date.fromisoformat(_table().as_of)).days, 0)


def as_of() -> str:
    """The day on which the list ends (YYYY-MM-DD): the one it was made on, or an earlier one that was asked for."""
    return min(_table().as_of, _last_day or _NEVER)


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
        _forget()


def _forget() -> None:
    for cached in (_releases, _rows_by_version, _rows_shortly, _requires_python, _texts, _versions):
        cached.cache_clear()


@lru_cache(maxsize=1)
def tracked() -> frozenset[str]:
    """The packages of a training stack, by normalised name: what envdoctor is about."""
    core = _table().content.get("core")
    return frozenset(core if isinstance(core, list) else ())


@lru_cache(maxsize=1)
def listed() -> frozenset[str]:
    """All packages whose releases are known, by normalised name: the tracked ones, and what is pinned beside them."""
    return frozenset(_table().packages)


def releases(name: str) -> tuple[Release, ...]:
    """All releases of a package, oldest version first; none for a package that is not listed."""
    return _releases(_normalised(name))


def day_of(name: str, version: str) -> str | None:
    """The day of a release (YYYY-MM-DD); None where there is no such release, or nobody knows its day."""
    row = _row_of(_normalised(name), version)
    day = row.split(" ", 2)[1] if row else "-"
    return None if day == "-" else day


def requires_python(name: str, version: str) -> str:
    """The Pythons that a release says that it runs on; empty where it says nothing or is not listed."""
    package = _normalised(name)
    return _requires_python(package).get(_row_of(package, version).partition(" ")[0], "")


def yanked(name: str, version: str) -> str | None:
    """Why a release was yanked: its maintainers' words, empty where they gave none; None for any other."""
    package = _normalised(name)
    row = _row_of(package, version)
    return _reasons(package).get(row.partition(" ")[0], "") if "yanked" in row.split(" ")[3:] else None


def release_texts(name: str) -> tuple[str, ...]:
    """The versions of all releases of a package, yanked ones too, oldest first; none for a package that is not listed."""
    return _texts(_normalised(name))


def prereleases(name: str) -> tuple[str, ...] | None:
    """The pre- and development releases that the index has of a package, oldest version first, whatever day is asked about.

    None for a package that is not listed.
    """
    told = _entry(_normalised(name)).get("pre")
    return tuple(told.split()) if isinstance(told, str) else None


def newest(name: str) -> str | None:
    """The newest version that is not yanked; None for a package that is not listed."""
    rows = reversed(_rows(_normalised(name)))
    return next((row.partition(" ")[0] for row in rows if "yanked" not in row.split(" ")[3:]), None)


def exists(name: str, version: str) -> bool | None:
    """Whether the index has this release; a local label (``+cu118``) is not looked at.

    None for a package that is not listed; and for a pre- or development release with a label of its own (a container's, a source
    checkout's), or of a package whose development builds are on other indexes as well.
    False for a version above ``newest`` may only mean that it came out after ``as_of``. A pre-release that is not on the index
    may be installed all the same, from a source checkout: False says only that no index can give it.

    Raises:
        InvalidVersion: the version is no PEP 440 version.
    """
    package = _normalised(name)
    if version in _texts(package):
        return True
    from packaging.version import Version

    wanted = Version(version)
    if not _texts(package):
        return None
    if not wanted.is_prerelease:
        return Version(wanted.public) in _versions(package)
    known = _prereleases(package)
    if known is not None and wanted in known:
        return True
    return None if known is None or wanted.local or package in _BUILT_ELSEWHERE else False


def _table() -> Table:
    return table("releases")


@lru_cache(maxsize=512)
def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry(package: str) -> Mapping[str, object]:
    return _table().packages.get(package, {})


@lru_cache(maxsize=512)
def _releases(package: str) -> tuple[Release, ...]:
    told = _entry(package).get("python")
    pythons = [str(text) for text in told] if isinstance(told, list) else []
    reasons = _reasons(package)
    found = []
    for row in _rows(package):
        version, day, python, *marks = row.split(" ")
        requires = None if python == "-" else pythons[int(python)]
        reason = reasons.get(version, "")
        found.append(Release(version, None if day == "-" else day, "yanked" in marks, requires, "no-wheel" not in marks, reason))
    return tuple(found)


def _reasons(package: str) -> Mapping[str, str]:
    reasons = _entry(package).get("yanked")
    return {version: str(reason) for version, reason in reasons.items()} if isinstance(reasons, dict) else {}


def _rows(package: str) -> Sequence[str]:
    """A release a row: version, day, place of its Python among those of the package, marks; ``-`` is what nobody said."""
    rows = _entry(package).get("releases")
    if not isinstance(rows, list):
        return ()
    return rows if _last_day is None else [row for row in rows if row.split(" ", 2)[1] <= _last_day]


def _row_of(package: str, version: str) -> str:
    """The row of a release, however it is written; empty for one that is not listed."""
    return entry_of(version, _rows_by_version(package), lambda: _rows_shortly(package)) or ""


@lru_cache(maxsize=512)
def _rows_shortly(package: str) -> Mapping[str, str]:
    return by_shortest(_rows_by_version(package))


@lru_cache(maxsize=512)
def _rows_by_version(package: str) -> Mapping[str, str]:
    return {row.partition(" ")[0]: row for row in reversed(_rows(package))}


@lru_cache(maxsize=512)
def _requires_python(package: str) -> Mapping[str, str]:
    return {one.version: one.requires_python for one in reversed(_releases(package)) if one.requires_python}


@lru_cache(maxsize=512)
def _texts(package: str) -> tuple[str, ...]:
    return tuple(row.partition(" ")[0] for row in _rows(package))


@lru_cache(maxsize=512)
def _versions(package: str) -> frozenset[Version]:
    from packaging.version import Version

    return frozenset(map(Version, _texts(package)))


@lru_cache(maxsize=512)
def _prereleases(package: str) -> frozenset[Version] | None:
    from packaging.version import Version

    known = prereleases(package)
    return None if known is None else frozenset(map(Version, known))


__all__ = [
    "Release",
    "Source",
    "age",
    "as_of",
    "day_of",
    "exists",
    "known_until",
    "listed",
    "newest",
    "prereleases",
    "release_texts",
    "releases",
    "requires_python",
    "source",
    "tracked",
    "yanked",
]
