"""The Python environments on an unpacked image filesystem, found by their files: nothing of it is run, no link leads out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.interpreter import Installed
from envdoctor.sources.layout import read_settings
from envdoctor.sources.metadata import read_bounded
from envdoctor.sources.site_packages import Distribution, SiteDir, read_site_dirs
from envdoctor.sources.torch_build import with_torch

_PREFIXES = ("usr/local", "usr")
# Where images keep virtual environments and conda: each is a directory whose lib has site-packages, or one whose children are such.
_HOMES = (
    "opt",
    "venv",
    ".venv",
    "env",
    "app",
    "workspace",
    "srv",
    "root",
    "home",
    "code",
    "data",
    "var/lang",
    "opt/conda/envs",
    "root/.pyenv/versions",
)
_DEPTH = 2
_MOST_ENTRIES = 2000
_LIBRARY = re.compile(r"python(\d+\.\d+)t?")
_PATCH = re.compile(rb'#define\s+PY_VERSION\s+"(\d+\.\d+\.\d+)')
_MACHINES = {
    "x86_64": ("lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"),
    "aarch64": ("lib/ld-linux-aarch64.so.1", "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"),
}
_STACK = frozenset(("torch", "transformers"))


@dataclass(slots=True)
class _Environment:
    """One Python prefix of the image, as the image calls it."""

    prefix: str
    python: str
    dirs: list[Path] = field(default_factory=list)
    sees_base: bool = False


def scan_root(root: Path, prefix: str | None = None) -> Installed:
    """What is installed in the environment of an image; ``prefix`` is its directory (or interpreter) inside, such as ``/opt/venv``.

    Without it, the only environment with torch or transformers in it is taken, else the only one.

    Raises:
        EnvdoctorError: no such directory, no Python environment in it, or several and none named.
    """
    if not root.is_dir():
        raise EnvdoctorError(f"--root {root}", found="no directory", expected="an unpacked filesystem", next_step="check the path")
    found = [_read(root, environment) for environment in _environments(root)]
    if prefix is not None:
        wanted = prefix.rstrip("/") or "/"
        inside = [one for one in found if wanted == one[0].prefix or wanted.startswith(f"{one[0].prefix}/bin/")]
    else:
        inside = [one for one in found if _STACK & {d.name for d in one[1].distributions}] or found
    if len(inside) != 1:
        listed = ", ".join(environment.prefix for environment, _ in found)
        told = "no Python environment" if not found else f"several Python environments: {listed}" if prefix is None else f"only {listed}"
        step = "name one: --python /opt/venv" if found else "unpack the image whole: docker export, or umoci unpack"
        place = f"--root {root}" if prefix is None else f"--python {prefix} in --root {root}"
        raise EnvdoctorError(place, found=told, expected="one environment", next_step=step)
    return inside[0][1]


def _read(root: Path, environment: _Environment) -> tuple[_Environment, Installed]:
    # Lines of .pth files name directories of the machine that the image runs on: what lies there on this one is another thing.
    contents = read_site_dirs([SiteDir(path, is_site=False) for path in environment.dirs])
    distributions, torch, defects = with_torch(contents.distributions, contents.site_dirs)
    installed = Installed(
        label=f"{environment.prefix} of {root}",
        python=environment.python,
        implementation="cpython",
        platform="linux",
        machine=_machine(root),
        site_dirs=contents.site_dirs,
        distributions=tuple(sorted(distributions, key=_name)),
        torch=torch,
        python_file=None,
        defects=contents.defects + defects,
        skips=contents.skips,
    )
    return environment, installed


def _name(distribution: Distribution) -> str:
    return distribution.name


def _environments(root: Path) -> list[_Environment]:
    found: dict[str, _Environment] = {}
    system = {_minor(environment.python): environment for environment in _system(root)}
    found |= {environment.prefix: environment for environment in system.values()}
    for directory in _directories(root):
        environment = _prefix(root, directory)
        if environment is not None and environment.prefix not in found:
            base = system.get(_minor(environment.python))
            if environment.sees_base and base is not None:
                environment.dirs += base.dirs
            found[environment.prefix] = environment
    return list(found.values())


def _system(root: Path) -> Iterator[_Environment]:
    """The Pythons of /usr/local and of the distribution; Debian's own packages lie in one directory for all its Pythons."""
    by_minor: dict[str, list[tuple[str, Path]]] = {}
    for prefix in _PREFIXES:
        for library in (f"{prefix}/lib", f"{prefix}/lib64"):
            for name in _names(root / library):
                python = _LIBRARY.fullmatch(name)
                for kind in ("site-packages", "dist-packages"):
                    path = _inside(root, f"{library}/{name}/{kind}")
                    if python and path is not None and path.is_dir():
                        by_minor.setdefault(python[1], []).append((prefix, path))
    debian = _inside(root, "usr/lib/python3/dist-packages")
    for minor, rows in by_minor.items():
        prefix = rows[0][0]
        dirs = [path for _, path in rows]
        if debian is not None and debian.is_dir() and any(one == "usr" for one, _ in rows):
            dirs.append(debian)
        yield _Environment(f"/{prefix}", _patched(root, f"{prefix}/include", minor), dirs)


def _directories(root: Path) -> Iterator[str]:
    """The directories, relative to the root, in which an environment may be."""
    count = 0
    for home in _HOMES:
        level = [home]
        for _ in range(_DEPTH + 1):
            below: list[str] = []
            for directory in level:
                yield directory
                path = _inside(root, directory)
                for name in _names(path) if path is not None else ():
                    count += 1
                    if count > _MOST_ENTRIES:
                        return
                    below.append(f"{directory}/{name}")
            level = below


def _prefix(root: Path, directory: str) -> _Environment | None:
    """A virtual environment, a conda prefix or a Python of its own at a directory of the image."""
    path = _inside(root, directory)
    if path is None:
        return None
    for name in _names(path / "lib"):
        minor = _LIBRARY.fullmatch(name)
        site = _inside(root, f"{directory}/lib/{name}/site-packages")
        if not minor or site is None or not site.is_dir():
            continue
        settings = read_settings(path) if (path / "pyvenv.cfg").is_file() else {}
        told = settings.get("version_info") or settings.get("version", "")
        version = re.match(r"\d+\.\d+\.\d+", told)
        python = version[0] if version and version[0].startswith(f"{minor[1]}.") else _patched(root, f"{directory}/include", minor[1])
        return _Environment(f"/{directory}", python, [site], settings.get("include-system-site-packages", "").lower() == "true")
    return None


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])


def _patched(root: Path, include: str, minor: str) -> str:
    """The Python's version: by its header where the image has it, else only the minor release."""
    header = _inside(root, f"{include}/python{minor}/patchlevel.h")
    try:
        data, _ = read_bounded(str(header), 1 << 16) if header is not None else (b"", False)
    except OSError:
        return minor
    version = _PATCH.search(data)
    return version[1].decode() if version else minor


def _machine(root: Path) -> str:
    told = [machine for machine, marks in _MACHINES.items() if any(os.path.lexists(root / mark) for mark in marks)]
    return told[0] if len(told) == 1 else ""


def _names(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def _inside(root: Path, relative: str) -> Path | None:
    """A path of the image with its links followed as they would be inside of it; None where they go round in circles."""
    parts = relative.split("/")
    done: list[str] = []
    links = 0
    while parts:
        part = parts.pop(0)
        if part in (".", ""):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = root.joinpath(*done, part)
        try:
            target = os.readlink(here)
        except OSError:
            done.append(part)
            continue
        links += 1
        if links > 40:
            return None
        done = [] if target.startswith("/") else done
        parts = [*target.split("/"), *parts]
    return root.joinpath(*done)
