"""What is installed, read from the directories on a Python's path without starting or importing anything.

The layouts are those of https://packaging.python.org/en/latest/specifications/recording-installed-packages/
and, for older installs, setuptools' and distutils' ``.egg-info``, ``.egg`` and ``.egg-link``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.facts.fact import Defect, Skip
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import exact, final_key
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.machine.metadata import HEADER_LIMIT, Metadata, parse_headers, parse_requires_txt, read_bounded

BROKEN = "installed-metadata-broken"
DUPLICATE = "installed-duplicate-distribution"
LEFTOVER = "installed-leftover-distribution"

_SMALL_FILE = 1 << 16
_LONGEST_VERSION = 200


@dataclass(frozen=True, slots=True)
class SiteDir:
    """One directory on the path of a Python.

    ``via`` says how it comes to be there: ``PYTHONPATH``, ``user site``, ``.pth``, ``base Python`` (of a
    virtual environment that sees it), or nothing for the installation's own. ``.pth`` files count in site
    directories only (``is_site``), which those of PYTHONPATH and of other ``.pth`` files are not.
    """

    path: Path
    via: str = ""
    is_site: bool = True


@dataclass(frozen=True, slots=True)
class Distribution:
    """One installed package; ``name`` is normalised (PEP 503), ``requires`` are its Requires-Dist lines as written.

    A ``version`` of None means that it cannot be told: the package is there, its release unknown.
    ``path`` is the ``.dist-info`` or ``.egg-info``; ``via`` is that of the directory it lies in.
    """

    name: str
    version: str | None
    requires: tuple[str, ...]
    path: Path
    editable: bool = False
    requires_python: str | None = None
    via: str = ""


@dataclass(frozen=True, slots=True)
class SiteContents:
    """What the directories hold; of each name the one distribution that Python would find first."""

    site_dirs: tuple[Path, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    defects: tuple[Defect, ...] = ()
    skips: tuple[Skip, ...] = ()


@dataclass(slots=True)
class _Reading:
    """What has been read so far; ``found`` keeps the order of the path."""

    site_dirs: list[SiteDir] = field(default_factory=list)
    found: dict[str, list[tuple[int, Distribution]]] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    listed: set[tuple[int, int]] = field(default_factory=set)
    followed: set[tuple[int, int]] = field(default_factory=set)


def read_site_dirs(dirs: Sequence[SiteDir]) -> SiteContents:
    """Read the distributions in the directories of a path, in its order, and in those that their ``.pth`` files add.

    Of the ``.pth`` files only the lines that name a directory count: ``import`` lines are code, and no code is run.
    A directory that does not exist is no defect: Python passes over it too.
    """
    reading = _Reading()
    for directory in dirs:
        _read_directory(directory, reading)
    distributions = tuple(_first_on_path(name, reading) for name in sorted(reading.found))
    return SiteContents(tuple(site.path for site in reading.site_dirs), distributions, tuple(reading.defects), tuple(reading.skips))


def _read_directory(site: SiteDir, reading: _Reading) -> None:
    base = str(site.path)
    try:
        status = os.stat(base)
        if stat.S_ISREG(status.st_mode):
            if base.lower().endswith((".egg", ".zip", ".whl")):
                reading.skips.append(Skip(base, "a zipped package on the path: what is inside archives is not read"))
            return
        names = sorted(os.listdir(base))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        reading.skips.append(Skip(base, f"the directory cannot be read ({error.strerror}): what is installed in it is unknown", lost=True))
        return
    # lib64 is often a link to lib, and PYTHONPATH may name what is on the path anyway.
    identity = (status.st_dev, status.st_ino)
    if identity not in reading.listed:
        reading.listed.add(identity)
        _read_distributions(site, base, names, reading)
    if site.is_site and identity not in reading.followed:
        reading.followed.add(identity)
        for added in _added_dirs(base, names, reading):
            _read_directory(SiteDir(added, ".pth", is_site=False), reading)


def _read_distributions(site: SiteDir, base: str, names: Sequence[str], reading: _Reading) -> None:
    position = len(reading.site_dirs)
    reading.site_dirs.append(site)
    leftovers = [name for name in names if name.startswith("~")]
    if leftovers:
        reading.defects.append(_leftover(base, leftovers))
    if base.lower().endswith(".egg"):
        _add(_read_egg_info(f"{base}/EGG-INFO", site, reading), position, reading)
    for name in names:
        lowered = name.lower()
        if name.startswith("~"):
            continue
        if lowered.endswith(".dist-info"):
            _add(_read_dist_info(f"{base}/{name}", site, reading), position, reading)
        elif lowered.endswith(".egg-info"):
            _add(_read_egg_info(f"{base}/{name}", site, reading), position, reading)


def _leftover(base: str, names: list[str]) -> Defect:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return Defect(LEFTOVER, f"{shown}: set aside by pip while it replaced or removed a package, and never cleared away", base)


def _add(distribution: Distribution | None, position: int, reading: _Reading) -> None:
    if distribution is not None:
        reading.found.setdefault(distribution.name, []).append((position, distribution))


def _added_dirs(base: str, names: Sequence[str], reading: _Reading) -> Iterator[Path]:
    """The directories that path lines of ``.pth`` files, and setuptools' older ``.egg-link`` files, name."""
    for name in names:
        if name.endswith(".pth") and not name.startswith("."):
            lines = _small_text(f"{base}/{name}", reading)
            for line in lines:
                if line.strip() and not line.startswith(("#", "import ", "import\t")):
                    path = os.path.join(base, line.rstrip())
                    if "\0" not in path and os.path.exists(path):
                        yield Path(os.path.normpath(path))
        elif name.endswith(".egg-link"):
            target = next((line.strip() for line in _small_text(f"{base}/{name}", reading)), "")
            path = os.path.join(base, target)
            if target and "\0" not in path and os.path.isdir(path):
                yield Path(os.path.normpath(path))
            else:
                why = f"an editable install of a directory that is not there: {target or 'no path in it'}"
                reading.skips.append(Skip(f"{base}/{name}", why))


def _small_text(path: str, reading: _Reading) -> list[str]:
    try:
        data, complete = read_bounded(path, _SMALL_FILE)
    except OSError as error:
        reading.skips.append(Skip(path, f"cannot be read ({error.strerror})"))
        return []
    if not complete:
        reading.skips.append(Skip(path, "longer than 64 KiB: only its first lines were read"))
    return os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).splitlines()


def _read_dist_info(path: str, site: SiteDir, reading: _Reading) -> Distribution | None:
    metadata = _read_metadata(f"{path}/METADATA", path, reading)
    return None if metadata is None else _distribution(metadata, path, site, _is_editable(f"{path}/direct_url.json", reading), reading)


def _read_egg_info(path: str, site: SiteDir, reading: _Reading) -> Distribution | None:
    is_directory = os.path.isdir(path)
    if not is_directory and path.endswith("/EGG-INFO"):
        return None
    metadata = _read_metadata(f"{path}/PKG-INFO" if is_directory else path, path, reading)
    if metadata is None:
        return None
    if is_directory and not metadata.requires:
        try:
            data, complete = read_bounded(f"{path}/requires.txt", HEADER_LIMIT)
        except FileNotFoundError:
            pass
        except OSError as error:
            reading.skips.append(Skip(f"{path}/requires.txt", f"cannot be read ({error.strerror}): what the package requires is unknown"))
        else:
            metadata = replace(metadata, requires=parse_requires_txt(data))
            if not complete:
                reading.skips.append(Skip(f"{path}/requires.txt", "longer than 1 MiB: only its first lines were read"))
    # An .egg-info that is reached over a .pth or .egg-link lies in the sources: a development install.
    return _distribution(metadata, path, site, site.via == ".pth" and not path.endswith("EGG-INFO"), reading)


def _read_metadata(file: str, path: str, reading: _Reading) -> Metadata | None:
    """The headers of one distribution, empty where the file is missing or bad; None for a directory that names no package."""
    name, version = _named_by(path)
    try:
        data, complete = read_bounded(file, HEADER_LIMIT, headers_only=True)
    except OSError as error:
        if name is None:
            reading.skips.append(Skip(path, f"{os.path.basename(file)} cannot be read ({error.strerror}), and the name tells no package"))
            return None
        detail = f"{os.path.basename(path)} has no readable {os.path.basename(file)} ({error.strerror}): the installed release is unknown"
        reading.defects.append(Defect(BROKEN, detail, path, packages=(canonical(name),)))
        return Metadata(name)
    metadata = parse_headers(data)
    if not complete:
        reading.skips.append(Skip(file, "headers of more than 1 MiB: the rest was not read"))
    if metadata.name is None:
        metadata = replace(metadata, name=name)
    if metadata.name is None:
        reading.skips.append(Skip(file, "no Name in it: which package it describes is unknown"))
        return None
    if "Requires-Dist" in metadata.undecodable:
        reading.skips.append(Skip(file, "a Requires-Dist line that is not UTF-8 was left out"))
    problem = _version_problem(metadata)
    if problem:
        hint = f"; its directory says {version}" if version and version != metadata.version else ""
        detail = f"{metadata.name}: {problem}{hint}: the installed release is unknown"
        reading.defects.append(Defect(BROKEN, detail, file, packages=(canonical(metadata.name),)))
        metadata = replace(metadata, version=None)
    return metadata


def _version_problem(metadata: Metadata) -> str:
    if metadata.version is None:
        return "a Version that is not UTF-8" if "Version" in metadata.undecodable else "metadata without a Version"
    if len(metadata.version) <= _LONGEST_VERSION:
        if final_key(metadata.version) is not None:
            return ""
        try:
            exact(metadata.version)
        except ValueError:
            pass
        else:
            return ""
    return f"a Version that is none, {metadata.version[:60]!r}"


def _named_by(path: str) -> tuple[str | None, str | None]:
    """The name and version in ``name-version.dist-info``, ``name-version-py3.8.egg-info`` or ``.../name-version.egg/EGG-INFO``."""
    if path.endswith("/EGG-INFO"):
        path = os.path.dirname(path)
    parts = os.path.basename(path).rpartition(".")[0].split("-")
    return parts[0] or None, parts[1] if len(parts) > 1 else None


def _distribution(metadata: Metadata, path: str, site: SiteDir, editable: bool, reading: _Reading) -> Distribution:
    name = canonical(metadata.name or "")
    return Distribution(name, metadata.version, metadata.requires, Path(path), editable, metadata.requires_python, site.via)


def _is_editable(file: str, reading: _Reading) -> bool:
    """Whether ``direct_url.json`` records an editable install (PEP 610, PEP 660)."""
    try:
        data, complete = read_bounded(file, _SMALL_FILE)
    except FileNotFoundError:
        return False
    except OSError as error:
        reading.skips.append(Skip(file, f"cannot be read ({error.strerror})"))
        return False
    import json

    try:
        record = json.loads(data) if complete else None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        reading.skips.append(Skip(file, "no JSON object: whether the install is editable is unknown"))
        return False
    info = record.get("dir_info")
    return isinstance(info, dict) and info.get("editable") is True


def _first_on_path(name: str, reading: _Reading) -> Distribution:
    """The distribution of that name that Python finds; where several of one directory compete, its version is None."""
    found = reading.found[name]
    first_position = found[0][0]
    # Debian leaves an .egg-info beside the .dist-info of the same release; the newer form says more.
    same_dir = [d for position, d in found if position == first_position]
    same_dir.sort(key=lambda d: (d.version is None, d.path.suffix != ".dist-info"))
    first = same_dir[0]
    versions = _distinct(same_dir)
    if len(versions) > 1:
        detail = f"{name} {' and '.join(versions)} are both recorded in one directory: which of them is installed cannot be told"
        reading.defects.append(Defect(DUPLICATE, detail, str(first.path), packages=(name,)))
        return replace(first, version=None, requires=(), requires_python=None)
    shadowed = next((d for position, d in found if position != first_position and len(_distinct([first, d])) > 1), None)
    if shadowed is not None and not _by_design(first, shadowed):
        hidden = f"{shadowed.version} in {_place(shadowed)}"
        detail = f"{name} {first.version} in {_place(first)} comes first on the path and hides {hidden}"
        reading.defects.append(Defect(DUPLICATE, detail, str(first.path), packages=(name,)))
    return first


def _distinct(distributions: Sequence[Distribution]) -> list[str]:
    versions = [d.version for d in distributions if d.version is not None]
    return list({(final_key(text) or text, text.partition("+")[2]): text for text in versions}.values())


def _by_design(first: Distribution, hidden: Distribution) -> bool:
    """A virtual environment hides what its base has, a distribution's local packages hide those of the system."""
    return (first.via in ("", "base Python") and hidden.via in ("", "base Python", "user site")) or first.editable


def _place(distribution: Distribution) -> str:
    directory = str(distribution.path.parent)
    return f"{directory} ({distribution.via})" if distribution.via else directory
