"""Which releases of a package are read, and which of a release's files."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from envdoctor.records import dataclass
from envdoctor.refresh.pages import File

_SDIST = (".tar.gz", ".zip", ".tgz", ".tar.bz2")
# The smallest platform's wheel holds the same Python files: of torch the one for macOS has a tenth of the bytes of that for Linux.
_SMALL = ("macosx", "win_arm64", "win_amd64", "aarch64")


@dataclass(frozen=True, slots=True)
class Release:
    """One release to read: its files in the order in which to try them."""

    version: str
    day: str
    files: tuple[File, ...]


def choose(
    project: str,
    files: Iterable[File],
    *,
    since: str,
    every: bool,
    tens: bool = False,
    named: Collection[str] = (),
    newest: int = 10_000,
) -> list[Release]:
    """The final releases since a day (YYYY-MM-DD), oldest first; without ``every`` the last of each minor, or with ``tens`` of each ten
    of a minor, and those that are named."""
    found: dict[Version, list[File]] = {}
    for file in files:
        version = version_of(project, file.name)
        if version is not None and not (version.is_prerelease or version.local) and not file.yanked:
            found.setdefault(version, []).append(file)
    kept = []
    for version in sorted(found):
        days = [file.uploaded for file in found[version] if file.uploaded]
        day = min(days) if days else ""
        if day >= since or not day or str(version) in named:
            kept.append((version, day))
    if not every:
        step = 10 if tens else sys.maxsize
        last = {(version.release[:2], version.micro // step): version for version, _ in kept}
        chosen = {*last.values(), *(version for version, _ in kept if str(version) in named)}
        kept = [(version, day) for version, day in kept if version in chosen]
    return [Release(str(version), day, _ordered(found[version])) for version, day in kept[-newest:]]


def version_of(project: str, name: str) -> Version | None:
    """The release that a file is of, by its name; None for another project's, or for no release."""
    try:
        if name.endswith(".whl"):
            return parse_wheel_filename(name)[1]
        for suffix in _SDIST:
            if name.endswith(suffix):
                stem, _, version = name.removesuffix(suffix).rpartition("-")
                return Version(version) if canonicalize_name(stem) == project else None
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return None


def _ordered(files: Sequence[File]) -> tuple[File, ...]:
    wheels = [file for file in files if file.name.endswith(".whl")]
    sources = [file for file in files if not file.name.endswith(".whl")]
    return (*sorted(wheels, key=_cost), *sorted(sources, key=lambda file: not file.name.endswith(".tar.gz")))


def _cost(file: File) -> tuple[bool, int, int, int]:
    pure = file.name.endswith("-none-any.whl")
    python = re.search(r"-(?:cp|py)3(\d+)", file.name)
    platform = next((place for place, word in enumerate(_SMALL) if word in file.name), len(_SMALL))
    # Of wheels of about the same size, the one for a Python that this interpreter can read: an old one.
    return (not pure, file.size >> 22, platform, int(python[1]) if python else 0)
