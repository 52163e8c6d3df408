"""The Python environments on an unpacked image filesystem, found by their files: nothing of it is run, no link leads out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.files.paths import is_dir, is_file, real_path
from envdoctor.records import dataclass, field
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.layout import read_settings
from envdoctor.sources.machine.metadata import read_bounded
from envdoctor.sources.machine.site_packages import Distribution, SiteDir, read_site_dirs
from envdoctor.sources.machine.torch_build import with_torch

# Directories of the image's root in which nobody makes an environment, and those below others that are worth a look.
_SYSTEM = frozenset(("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr"))
_FURTHER = ("usr/src", "var/lang", "root/.pyenv/versions", "root/.local/share/uv/python")
# What an environment is called inside of a project.
_CALLED = (".venv", "venv", "env")
_DEPTH = 2
_MOST_DIRECTORIES = 4000
_MOST_LINKS = 40
_MOST_PTH_LINES = 1000
_LIBRARY = re.compile(r"python(\d+\.\d+)t?")
_PATCH = re.compile(rb'#define\s+PY_VERSION\s+"(\d+\.\d+\.\d+)')
_MACHINES = {
    "x86_64": ("lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib/ld-musl-x86_64.so.1"),
    "aarch64": ("lib/ld-linux-aarch64.so.1", "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib/ld-musl-aarch64.so.1"),
}
_STACK = frozenset(("torch", "transformers"))


@dataclass(slots=True)
class _Environment:
    """One Python prefix of the image, as the image calls it; ``others`` are further names of it."""

    prefix: str
    python: str
    dirs: list[Path] = field(default_factory=list)
    sees_base: bool = False
    others: list[str] = field(default_factory=list)

    @property
    def minor(self) -> str:
        return ".".join(self.python.split(".")[:2])


@dataclass(slots=True)
class _Image:
    """The filesystem, its environments, and what of it could not be read."""

    root: Path
    found: list[_Environment] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)

    def inside(self, relative: str) -> Path | None:
        return _inside(self.root, relative)

    def names(self, relative: str, *, directories: bool = False) -> list[str]:
        """What lies in a directory of the image, sorted; said where it cannot be listed."""
        path = self.inside(relative)
        if path is None:
            return []
        try:
            with os.scandir(path) as entries:
                return sorted(one.name for one in entries if not directories or one.is_symlink() or one.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            why = f"the directory cannot be read ({error.strerror}): environments in it are not seen"
            self.skips.append(Skip(f"/{relative} of {self.root}", why))
            return []

    def directory(self, relative: str) -> Path | None:
        path = self.inside(relative)
        return path if path is not None and is_dir(path) else None

    def add(self, environment: _Environment) -> None:
        """One more environment, or one more name of one that is known: images have links to their environments."""
        own = real_path(environment.dirs[0])
        known = next((one for one in self.found if any(own == real_path(path) for path in one.dirs)), None)
        if known is None:
            self.found.append(environment)
        elif environment.prefix != known.prefix:
            known.others.append(environment.prefix)


def scan_root(root: Path, prefix: str | None = None) -> Installed:
    """What is installed in the environment of an image; ``prefix`` is its directory (or interpreter) inside, such as ``/opt/venv``.

    Without it, the only environment with torch or transformers in it is taken, else the only one.

    Raises:
        EnvdoctorError: no such directory, no Python environment in it, or several and none named.
    """
    if not is_dir(root):
        raise EnvdoctorError(f"--root {root}", found="no directory", expected="an unpacked filesystem", next_step="check the path")
    image = _Image(root)
    for environment in _system(image):
        image.add(environment)
    system = {environment.minor: environment for environment in image.found[::-1]}
    for directory in _directories(image, prefix):
        for one in _prefixes(image, directory):
            base = system.get(one.minor)
            if one.sees_base and base is not None:
                one.dirs += base.dirs
            image.add(one)
    if prefix is not None:
        inside = [_read(image, one) for one in _named(image, prefix)]
    else:
        read = [_read(image, one) for one in image.found]
        inside = [one for one in read if _STACK & {d.name for d in one.distributions}] or read
    if len(inside) != 1:
        listed = ", ".join(_called(image, one) for one in image.found)
        told = "no Python environment" if not listed else f"several Python environments: {listed}" if len(inside) > 1 else f"only {listed}"
        step = "name one: --python /opt/venv" if listed else "unpack the image whole: docker export, or umoci unpack"
        place = f"--root {root}" if prefix is None else f"--python {prefix} in --root {root}"
        raise EnvdoctorError(place, found=told, expected="one environment", next_step=step)
    return inside[0]


def _called(image: _Image, environment: _Environment) -> str:
    """An environment as it can be named: by its interpreter where several share a prefix."""
    shared = sum(one.prefix == environment.prefix for one in image.found) > 1
    return f"{environment.prefix}/bin/python{environment.minor}" if shared else environment.prefix


def _named(image: _Image, text: str) -> list[_Environment]:
    """The environments that are meant by a prefix or an interpreter, as the image calls it."""
    wanted = _normal(text)
    home, _, program = wanted.rpartition("/")
    minor = None
    if home.endswith("/bin"):
        link = image.inside(wanted[1:])
        versions = (re.fullmatch(r"python(\d+\.\d+)t?", name) for name in (program, link.name if link is not None else ""))
        minor = next((version[1] for version in versions if version), None)
        wanted = home.removesuffix("/bin") or "/"
    fitting = [one for one in image.found if minor in (None, one.minor)]
    return [one for one in fitting if wanted == one.prefix] or [one for one in fitting if wanted in one.others]


def _normal(text: str) -> str:
    return "/" + "/".join(part for part in text.split("/") if part not in ("", "."))


def _read(image: _Image, environment: _Environment) -> Installed:
    dirs = [SiteDir(path, is_site=False) for path in environment.dirs]
    # Lines of .pth files name directories of the machine that the image runs on: they are looked for in the image.
    dirs += [SiteDir(added, ".pth", is_site=False) for path in environment.dirs for added in _added(image, path)]
    contents = read_site_dirs(dirs)
    real = real_path(image.root)
    own = tuple(one for one in contents.distributions if real_path(one.path / "METADATA").is_relative_to(real))
    outside = [one for one in contents.distributions if one not in own]
    strange = tuple(Skip(str(one.path), "a link that leads out of the image: the package is not read") for one in outside)
    places = tuple(path for path in contents.site_dirs if real_path(path / "torch" / "version.py").is_relative_to(real))
    distributions, torch, defects = with_torch(own, places) if _is_own_torch(own, real) else (own, None, ())
    return Installed(
        label=f"{_called(image, environment)} of {image.root}",
        python=environment.python,
        implementation="cpython",
        platform="linux",
        machine=_machine(image),
        site_dirs=contents.site_dirs,
        distributions=tuple(sorted(distributions, key=lambda one: one.name)),
        torch=torch,
        python_file=None,
        defects=contents.defects + defects,
        skips=(*contents.skips, *strange, *image.skips),
    )


def _is_own_torch(distributions: tuple[Distribution, ...], real: Path) -> bool:
    torch = next((one for one in distributions if one.name == "torch"), None)
    return torch is None or real_path(torch.path.parent / "torch" / "version.py").is_relative_to(real)


def _added(image: _Image, site: Path) -> Iterator[Path]:
    """The directories of the image that path lines of ``.pth`` and ``.egg-link`` files name."""
    relative = str(site.relative_to(image.root))
    for name in image.names(relative):
        if not name.endswith((".pth", ".egg-link")) or name.startswith("."):
            continue
        file = image.inside(f"{relative}/{name}")
        try:
            data, _ = read_bounded(str(file), 1 << 16)
        except OSError:
            continue
        lines = os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).splitlines()
        for line in lines[: 1 if name.endswith(".egg-link") else _MOST_PTH_LINES]:
            text = line.strip()
            if text and "\0" not in text and not text.startswith(("#", "import ", "import\t")):
                added = image.directory(text if text.startswith("/") else f"{relative}/{text}")
                if added is not None and added != image.root and added != site:
                    yield added


def _system(image: _Image) -> Iterator[_Environment]:
    """The Pythons of /usr/local and of the distribution.

    Debian's Python reads /usr/local/lib/python3.11/dist-packages and one directory of the distribution for all its Pythons; that of
        others reads site-packages below /usr/lib, /usr/lib64 and /usr/local. A Python of its own in /usr/local, as the images
    called python:3.11 have it, reads none of these.
    """
    minors: dict[str, list[str]] = {}
    for library in ("usr/local/lib", "usr/local/lib64", "usr/lib", "usr/lib64"):
        for name in image.names(library, directories=True):
            python = _LIBRARY.fullmatch(name)
            if python:
                minors.setdefault(python[1], []).append(f"{library}/{name}")
    for minor, libraries in minors.items():
        theirs = [one for one in libraries if not one.startswith("usr/local/") and image.directory(one) is not None]
        ours = [one for one in libraries if one.startswith("usr/local/")]
        own = [path for one in ours if (path := image.directory(f"{one}/site-packages")) is not None]
        if own and (not theirs or any(_is_file(image.inside(f"{one}/os.py")) for one in ours)):
            yield _Environment("/usr/local", _patched(image, "usr/local/include", minor), own)
            own = []
        debian = [path for one in ours if (path := image.directory(f"{one}/dist-packages")) is not None]
        dirs = debian + own
        dirs += [path for one in theirs for kind in ("site", "dist") if (path := image.directory(f"{one}/{kind}-packages")) is not None]
        shared = image.directory("usr/lib/python3/dist-packages")
        dirs += [shared] if shared is not None and (theirs or debian) else []
        if dirs:
            yield _Environment("/usr", _patched(image, "usr/include", minor), dirs, others=["/usr/local"])


def _directories(image: _Image, prefix: str | None) -> Iterator[str]:
    """The directories, relative to the root, in which an environment may be: those nearest to the root first."""
    if prefix is not None:
        named = _normal(prefix)[1:]
        yield from (named, named.rpartition("/bin/")[0]) if "/bin/" in named else (named,)
    level = [*(name for name in image.names("", directories=True) if name not in _SYSTEM), *_FURTHER]
    count = 0
    for depth in range(_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            count += 1
            if count > _MOST_DIRECTORIES:
                why = f"more than {_MOST_DIRECTORIES} directories: environments further down are not looked for; --python names one"
                image.skips.append(Skip(str(image.root), why))
                return
            yield directory
            yield from (f"{directory}/{name}" for name in _CALLED)
            if image.directory(f"{directory}/conda-meta") is not None:
                yield from (f"{directory}/envs/{name}" for name in image.names(f"{directory}/envs", directories=True))
            elif depth < _DEPTH and not _is_file(image.inside(f"{directory}/pyvenv.cfg")):
                below += [f"{directory}/{name}" for name in image.names(directory, directories=True)]
        level = below


def _prefixes(image: _Image, directory: str) -> Iterator[_Environment]:
    """A virtual environment, a conda prefix or a Python of its own at a directory of the image."""
    for name in image.names(f"{directory}/lib", directories=True):
        minor = _LIBRARY.fullmatch(name)
        site = image.directory(f"{directory}/lib/{name}/site-packages") if minor else None
        if minor is None or site is None:
            continue
        config = image.inside(f"{directory}/pyvenv.cfg")
        settings = read_settings(config.parent) if config is not None and is_file(config) else {}
        told = settings.get("version_info") or settings.get("version", "")
        version = re.match(r"\d+\.\d+\.\d+", told)
        patched = version is not None and version[0].startswith(f"{minor[1]}.")
        python = version[0] if version is not None and patched else _patched(image, f"{directory}/include", minor[1])
        # What `pip install --user` wrote lies before what all users see.
        sees_base = settings.get("include-system-site-packages", "").lower() == "true" or directory.endswith("/.local")
        yield _Environment(f"/{directory}", python, [site], sees_base)


def _patched(image: _Image, include: str, minor: str) -> str:
    """The Python's version: by its header where the image has it, else only the minor release."""
    header = image.inside(f"{include}/python{minor}/patchlevel.h")
    try:
        data, _ = read_bounded(str(header), 1 << 16) if header is not None else (b"", False)
    except OSError:
        return minor
    version = _PATCH.search(data)
    return version[1].decode() if version else minor


def _machine(image: _Image) -> str:
    told = [machine for machine, marks in _MACHINES.items() if any(_is_there(image, mark) for mark in marks)]
    return told[0] if len(told) == 1 else ""


def _is_there(image: _Image, mark: str) -> bool:
    """Whether a name is there, be it a link to nowhere."""
    directory, _, name = mark.rpartition("/")
    parent = image.inside(directory)
    return parent is not None and os.path.lexists(parent / name)


def _is_file(path: Path | None) -> bool:
    return path is not None and is_file(path)


def _inside(root: Path, relative: str) -> Path | None:
    """A path of the image with its links followed as they would be inside of it; None where they go round in circles."""
    parts = relative.split("/")[::-1]
    done: list[str] = []
    links = 0
    while parts:
        part = parts.pop()
        if part in (".", ""):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = root.joinpath(*done, part)
        try:
            target = os.readlink(here)
        except (OSError, ValueError):  # no link, nothing there, no name that a file system knows
            done.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        done = [] if target.startswith("/") else done
        parts += target.split("/")[::-1]
    return root.joinpath(*done)
