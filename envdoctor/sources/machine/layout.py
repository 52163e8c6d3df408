"""What the files of a virtual environment or conda prefix tell about it, so that its interpreter need not be started."""

from __future__ import annotations

import os
import re
from pathlib import Path

from envdoctor.files.paths import is_dir, is_file, real_path
from envdoctor.records import dataclass
from envdoctor.sources.machine.metadata import read_bounded

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:(a|b|rc)(\d{1,3})|\.(alpha|beta|candidate|final)\.(\d{1,3}))?")
_LEVELS = {"alpha": "a", "beta": "b", "candidate": "rc"}
_LIBRARY = re.compile(r"(python|pypy)(\d+\.\d+)t?")
_NAMED_VERSION = re.compile(r"(?:python|pypy)(\d+\.\d+)t?(?:\.exe)?")
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Layout:
    """An environment whose files agree on what it is.

    ``library`` is the name of its directory under ``lib`` (``python3.11``, ``python3.13t``), which a user site shares.
    ``base_pythons`` are where its base interpreter may be, of a virtual environment that sees the base's packages
    (``sees_base``); ``base_gone`` says that the directory it was made from does not exist any more.
    """

    kind: str
    python: str
    implementation: str
    library: str
    site: Path
    sees_base: bool = False
    base_pythons: tuple[Path, ...] = ()
    base_gone: bool = False


def read_layout(prefix: Path) -> Layout | None:
    """The layout of a virtual environment or conda prefix; None where the files do not tell it reliably."""
    if is_file(prefix / "pyvenv.cfg"):
        return _venv(prefix)
    if is_dir(prefix / "conda-meta"):
        return _conda(prefix)
    return None


def library_dirs(prefix: Path) -> dict[str, Path]:
    """The site-packages directories under a prefix, by the name of the library directory that they lie in."""
    found: dict[str, Path] = {}
    try:
        names = sorted(os.listdir(prefix / "lib"))
    except OSError:
        names = []
    for name in names:
        site = prefix / "lib" / name / "site-packages"
        if _LIBRARY.fullmatch(name) and is_dir(site):
            found[name] = site
    return found


def read_settings(prefix: Path) -> dict[str, str]:
    """The settings of ``pyvenv.cfg``, keys in lower case; empty where it cannot be read."""
    try:
        data, _ = read_bounded(str(prefix / "pyvenv.cfg"), _MOST_BYTES)
    except OSError:
        return {}
    pairs = (line.partition("=") for line in data.decode("utf-8", "surrogateescape").splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _venv(prefix: Path) -> Layout | None:
    settings = read_settings(prefix)
    python = _version(settings.get("version_info", "")) or _version(settings.get("version", ""))
    if python is None:
        return None
    minor = _minor(python)
    libraries = {name: site for name, site in library_dirs(prefix).items() if _LIBRARY.sub(r"\2", name) == minor}
    windows_site = prefix / "Lib" / "site-packages"
    if not libraries and is_dir(prefix / "Scripts") and is_dir(windows_site):
        libraries[f"python{minor}"] = windows_site
    if len(libraries) != 1 or _points_elsewhere(prefix, minor):
        return None
    [(library, site)] = libraries.items()
    home = settings.get("home", "")
    names = (library, "python3", "python", "python.exe")
    return Layout(
        kind="venv",
        python=_patched(home, library) or python,
        implementation=settings.get("implementation", "PyPy" if library.startswith("pypy") else "CPython").lower(),
        library=library,
        site=site,
        sees_base=settings.get("include-system-site-packages", "").lower() == "true",
        base_pythons=tuple(Path(home, name) for name in names if home),
        base_gone=bool(home) and not os.path.isdir(home),
    )


def _points_elsewhere(prefix: Path, minor: str) -> bool:
    """Whether the interpreter has become another Python than the one the environment was made with, e.g. by an upgrade."""
    match = _NAMED_VERSION.fullmatch(os.path.basename(str(real_path(prefix / "bin" / "python"))))
    return match is not None and match[1] != minor


def _patched(home: str, library: str) -> str | None:
    """The version of the base Python by its own header: a base that was upgraded in place has moved on from pyvenv.cfg."""
    try:
        data, _ = read_bounded(os.path.join(os.path.dirname(home), "include", library, "patchlevel.h"), _MOST_BYTES)
    except OSError:
        return None
    line = next((line for line in data.splitlines() if line.startswith(b"#define PY_VERSION ")), b"")
    found = _version(line.decode("ascii", "replace").partition('"')[2].rstrip('+" \t\r'))
    return found if found is not None and f"python{_minor(found)}" == library.rstrip("t") else None


def _conda(prefix: Path) -> Layout | None:
    """A conda prefix records its Python as ``conda-meta/python-3.11.7-h955ad1f_0.json``."""
    try:
        names = os.listdir(prefix / "conda-meta")
    except OSError:
        return None
    parts = [name.split("-") for name in names if name.startswith("python-") and name.endswith(".json")]
    versions = [version for part in parts if len(part) == 3 and (version := _version(part[1])) is not None]
    libraries = library_dirs(prefix)
    if len(versions) != 1 or len(libraries) != 1:
        return None
    [(library, site)] = libraries.items()
    if _LIBRARY.sub(r"\2", library) != _minor(versions[0]):
        return None
    return Layout("conda", versions[0], "pypy" if library.startswith("pypy") else "cpython", library, site)


def _version(text: str) -> str | None:
    """``3.11.7``, ``3.13.0rc2``, virtualenv's ``3.11.7.final.0``; None for anything else, such as a version without a patch level."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    level, serial = (match[4], match[5]) if match[4] else (_LEVELS.get(match[6] or ""), match[7])
    return ".".join(match.group(1, 2, 3)) + (f"{level}{serial}" if level else "")


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
