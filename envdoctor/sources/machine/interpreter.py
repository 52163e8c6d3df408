"""Facts from the Python environment examined: what is installed in it, read without importing any of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Defect, Fact, NotUnderstood, Origin, Skip
from envdoctor.facts.versions import Exact, Ranged, exact
from envdoctor.files.paths import absolute, is_file
from envdoctor.records import dataclass
from envdoctor.sources.machine.asking import Answer, NoAnswerError, ask
from envdoctor.sources.machine.layout import Layout, library_dirs, read_layout
from envdoctor.sources.machine.patient import Patient, find_patient, is_environment, venv_of
from envdoctor.sources.machine.site_packages import Distribution, SiteDir, read_site_dirs
from envdoctor.sources.machine.torch_build import TorchBuild, with_torch

TIMEOUT_S = 15.0
_OLDEST = (3, 8)
_OS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_MACHINE = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Installed:
    """One environment as read; ``platform`` is its ``sys.platform``, ``machine`` what the system calls its processor."""

    label: str
    python: str | None
    implementation: str
    platform: str
    machine: str
    site_dirs: tuple[Path, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    torch: TorchBuild | None = None
    python_file: Path | None = None
    defects: tuple[Defect, ...] = ()
    skips: tuple[Skip, ...] = ()


@dataclass(slots=True)
class _Path:
    """The path of the patient as far as it is known."""

    python: str | None
    implementation: str
    platform: str
    dirs: list[SiteDir]
    skips: list[Skip]


def scan(patient: Patient, environ: Mapping[str, str] | None = None, *, timeout_s: float = TIMEOUT_S) -> Installed:
    """Read what is installed in an environment.

    A virtual environment or conda prefix is read from its files alone. Any other interpreter, and the base of an
    environment that sees its base's packages, is started once for its version and directories, without site and with
    nothing imported but the standard library. ``environ`` (default: this process's) gives PYTHONPATH, PYTHONNOUSERSITE
    and what the child runs with.

    Raises:
        EnvdoctorError: the interpreter does not answer and there are no files to read instead.
    """
    environ = os.environ if environ is None else environ
    path = _patient_path(patient, environ, timeout_s)
    entries = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    contents = read_site_dirs([SiteDir(Path(absolute(entry)), "PYTHONPATH", is_site=False) for entry in entries] + path.dirs)
    skips = [*path.skips, *contents.skips]
    if path.python is not None and _release(path.python) < _OLDEST:
        why = "older than 3.8: what is installed is read, but no probe can run in it"
        skips.append(Skip(f"Python {path.python} of {patient.label}", why))
    distributions, torch, defects = with_torch(contents.distributions, contents.site_dirs)
    return Installed(
        label=patient.label,
        python=path.python,
        implementation=path.implementation,
        platform=path.platform,
        machine=_machine(environ),
        site_dirs=contents.site_dirs,
        distributions=distributions,
        torch=torch,
        python_file=patient.interpreter or patient.prefix,
        defects=contents.defects + defects,
        skips=tuple(skips),
    )


def facts(installed: Installed, machine: str = "this machine") -> Collected:
    """The facts of an environment: Python, operating system, processor, packages, and the CUDA that torch was built for.

    ``machine`` is what is said of where it runs.
    A package whose release cannot be told is any release: present, and nothing about its version decided.
    """
    where = f"installed in {installed.label}"
    found: list[Fact] = []
    if installed.python is not None:
        found.append(Fact("python", exact(installed.python), Origin(where, str(installed.python_file) if installed.python_file else None)))
    here = Origin(machine)
    system = _OS.get(installed.platform.rstrip("23") if installed.platform.startswith("linux") else installed.platform)
    found.append(Fact("os", system or NotUnderstood(installed.platform), here))
    if installed.machine:
        found.append(Fact("machine", _MACHINE.get(installed.machine.lower()) or NotUnderstood(installed.machine), here))
    torch = installed.torch
    for distribution in installed.distributions:
        source = f"{where} ({distribution.via})" if distribution.via else where
        origin = Origin(source, str(distribution.path))
        if distribution.name == "torch" and torch is not None:
            origin = Origin(source, str(torch.file), torch.version_line)
        value: Exact | Ranged = Ranged("") if distribution.version is None else exact(distribution.version)
        found.append(Fact(f"packages.{distribution.name}", value, origin))
    if torch is not None and torch.cuda is not None:
        found.append(Fact("cuda", exact(torch.cuda), Origin(where, str(torch.file), torch.cuda_line)))
    return Collected(tuple(found), installed.defects, installed.skips)


def marker_environment(installed: Installed) -> dict[str, str]:
    """The variables of PEP 508 markers for the patient; those of an unknown Python are left out."""
    system = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
    platform = "linux" if installed.platform.startswith("linux") else installed.platform
    environment = {
        "os_name": "nt" if platform == "win32" else "posix",
        "sys_platform": installed.platform,
        "platform_machine": installed.machine,
        "platform_system": system.get(platform, platform),
        "implementation_name": installed.implementation,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(installed.implementation, installed.implementation),
    }
    if installed.python is not None:
        environment["python_version"] = ".".join(map(str, _release(installed.python)))
        environment["python_full_version"] = installed.python
        environment["implementation_version"] = installed.python
    return environment


def _patient_path(patient: Patient, environ: Mapping[str, str], timeout_s: float) -> _Path:
    layout = None if patient.prefix is None else read_layout(patient.prefix)
    if layout is not None:
        return _layout_path(patient, layout, environ, timeout_s)
    if patient.interpreter is None:
        return _files_only(patient, "no interpreter any more")
    try:
        answer = ask(patient.interpreter, environ, timeout_s)
    except NoAnswerError as error:
        return _files_only(patient, str(error))
    return _answered_path(patient, answer, environ, timeout_s)


def _layout_path(patient: Patient, layout: Layout, environ: Mapping[str, str], timeout_s: float) -> _Path:
    path = _Path(layout.python, layout.implementation, sys.platform, [], [])
    own = SiteDir(layout.site)
    if patient.interpreter is None or layout.base_gone:
        why = "the Python it was made from is gone: its packages were read from their files, but nothing can run in it"
        path.skips.append(Skip(f"interpreter of {patient.label}", why))
    if layout.kind == "conda":
        path.dirs = [*_user_dirs([_user_site(layout.library, environ)], environ), own]
    elif not layout.sees_base:
        path.dirs = [own]
    else:
        path.dirs = [own, *_base_dirs(patient, layout, environ, timeout_s, path)]
    return path


def _base_dirs(patient: Patient, layout: Layout, environ: Mapping[str, str], timeout_s: float, path: _Path) -> list[SiteDir]:
    """The user site and the base's directories, for a virtual environment that was made with --system-site-packages."""
    base = next((python for python in layout.base_pythons if is_file(python)), None)
    what = f"packages of the base Python that {patient.label} sees"
    if base is None:
        path.skips.append(Skip(what, f"{layout.base_pythons[0].parent if layout.base_pythons else 'pyvenv.cfg'} has no interpreter"))
        return []
    try:
        answer = ask(base, environ, timeout_s)
    except NoAnswerError as error:
        path.skips.append(Skip(what, f"{base}: {error}"))
        return []
    return [*_user_dirs(answer.user, environ), *(SiteDir(Path(entry), "base Python") for entry in answer.site)]


def _answered_path(patient: Patient, answer: Answer, environ: Mapping[str, str], timeout_s: float) -> _Path:
    prefix = patient.prefix if patient.prefix is not None and is_environment(patient.prefix) else None
    if prefix is None and answer.executable:
        # The command was a wrapper, as pyenv's and conda's are, around the interpreter of an environment.
        prefix = venv_of(Path(answer.executable))
        layout = None if prefix is None else read_layout(prefix)
        if layout is not None:
            return _layout_path(patient, layout, environ, timeout_s)
    path = _Path(answer.python, answer.implementation, answer.platform, [], [])
    dirs = [*_user_dirs(answer.user, environ), *(SiteDir(Path(entry)) for entry in answer.site)]
    if prefix is not None and is_file(prefix / "pyvenv.cfg"):
        dirs = _moved_venv(prefix, answer, path)
    path.dirs = [*(SiteDir(Path(entry), is_site=False) for entry in answer.path), *dirs]
    return path


def _moved_venv(prefix: Path, answer: Answer, path: _Path) -> list[SiteDir]:
    """The directory of a virtual environment whose files do not agree on its Python: the interpreter decides."""
    minor = ".".join(map(str, _release(answer.python)))
    libraries = library_dirs(prefix)
    sites = [site for name, site in libraries.items() if name.removesuffix("t").removeprefix("pypy").removeprefix("python") == minor]
    if not sites and answer.platform == "win32":
        sites = [prefix / "Lib" / "site-packages"]
    unseen = [str(site) for site in libraries.values() if site not in sites]
    if unseen:
        why = f"the environment's interpreter is Python {answer.python} now and does not see what lies there"
        path.skips.append(Skip(", ".join(unseen), why))
    return [SiteDir(site) for site in sites]


def _files_only(patient: Patient, why: str) -> _Path:
    """The environment by its files, where the interpreter gives no answer.

    Raises:
        EnvdoctorError: there is not exactly one site-packages directory where it should be.
    """
    prefix = patient.prefix
    if prefix is None and patient.interpreter is not None and patient.interpreter.name.startswith(("python", "pypy")):
        prefix = patient.interpreter.parent.parent
    libraries = {} if prefix is None else library_dirs(prefix)
    if len(libraries) != 1:
        place = f"{patient.interpreter or patient.label} ({patient.why})"
        raise EnvdoctorError(
            place, found=why, expected="a Python interpreter that answers", next_step="try it yourself, or name another with --python PATH"
        )
    [(library, site)] = libraries.items()
    number = library.removesuffix("t").removeprefix("pypy").removeprefix("python")
    skip = Skip(f"interpreter of {patient.label}", f"{why}: only {site} was read, and its Python's patch release is unknown")
    return _Path(number, "pypy" if library.startswith("pypy") else "cpython", sys.platform, [SiteDir(site)], [skip])


def _user_dirs(user: Sequence[str], environ: Mapping[str, str]) -> list[SiteDir]:
    return [] if environ.get("PYTHONNOUSERSITE") else [SiteDir(Path(entry), "user site") for entry in user]


def _user_site(library: str, environ: Mapping[str, str]) -> str:
    """The user site of a POSIX Python that is no macOS framework build."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.join(environ.get("PYTHONUSERBASE") or os.path.join(home, ".local"), "lib", library, "site-packages")


def _machine(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("PROCESSOR_ARCHITEW6432") or environ.get("PROCESSOR_ARCHITECTURE", "")
    return os.uname().machine


def _release(python: str) -> tuple[int, int]:
    major, minor = python.split(".")[:2]
    return int(major), int(minor)


__all__ = ["Installed", "Patient", "TorchBuild", "facts", "find_patient", "marker_environment", "scan"]
