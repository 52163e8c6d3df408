"""Whom to examine: the Python environment that was named, or the one that a command in this shell would use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import absolute, is_dir, is_file, real_path, working_directory
from envdoctor.records import dataclass
from envdoctor.sources.machine.project_environment import project_environments

_EXPECTED = "a Python interpreter, a virtual environment or a conda prefix"
_INTERPRETERS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe", "bin/python.exe", "bin/pypy3")
_OWN_STACK = ("torch", "transformers")


@dataclass(frozen=True, slots=True)
class Patient:
    """The environment examined.

    ``label`` is what a report calls it. ``interpreter`` is None where it is gone and only files are left to read;
    ``prefix`` is set for a virtual environment, a conda prefix or an installation that was named by its directory.
    ``why`` says how it was chosen.
    """

    label: str
    interpreter: Path | None
    prefix: Path | None
    why: str


def find_patient(python: str | None, environ: Mapping[str, str]) -> Patient:
    """The environment that ``--python`` names; without it ``$VIRTUAL_ENV``, ``$CONDA_PREFIX``, the project's own, then python on the PATH.

    The project's own is the one that uv, pixi or poetry run it in, here or in the directory above that has the project's settings.

    The environment that envdoctor itself runs in is taken only where torch or transformers is in it, or when it is named.

    Raises:
        EnvdoctorError: the path named does not exist or is none of these, or there is no environment to examine.
    """
    if python is not None:
        return _named(python, environ)
    passed_over: list[str] = []
    for patient in _candidates(environ, passed_over):
        if not _is_own(patient) or _own_stack():
            return _with_reason(patient, passed_over)
        passed_over.append(f"{patient.why} is envdoctor's own environment, without torch and transformers")
    if _own_stack():
        why = f"envdoctor's own environment: {' and '.join(_own_stack())} in it"
        return _with_reason(Patient(_label(Path(sys.prefix)), Path(sys.executable), Path(sys.prefix), why), passed_over)
    raise EnvdoctorError(
        "the environment to examine",
        found="; ".join(dict.fromkeys(passed_over)) or "no $VIRTUAL_ENV, no $CONDA_PREFIX, no python on the PATH",
        expected=_EXPECTED,
        next_step="activate it, or name it with --python PATH",
    )


def venv_of(interpreter: Path) -> Path | None:
    """The virtual environment or conda prefix that an interpreter belongs to by where it lies (links are not followed)."""
    for directory in (interpreter.parent.parent, interpreter.parent):
        if is_environment(directory):
            return directory
    return None


def is_environment(directory: Path) -> bool:
    """Whether the directory is a virtual environment or a conda prefix."""
    return is_file(directory / "pyvenv.cfg") or is_dir(directory / "conda-meta")


def _candidates(environ: Mapping[str, str], passed_over: list[str]) -> Iterator[Patient]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        text = environ.get(variable)
        if not text:
            continue
        patient = _of_directory(Path(text), f"${variable}")
        if patient is None:
            passed_over.append(f"${variable} names {text}, which is no environment with a Python in it")
        else:
            yield patient
    for directory, why in project_environments(working_directory(), environ):
        patient = _of_directory(directory, why)
        if patient is not None:
            yield patient
    for name in ("python", "python3"):
        for path in _on_path(name, environ):
            yield _of_interpreter(path, f"{name} on the PATH")


def _with_reason(patient: Patient, passed_over: list[str]) -> Patient:
    if not passed_over:
        return patient
    return Patient(patient.label, patient.interpreter, patient.prefix, f"{patient.why} ({'; '.join(dict.fromkeys(passed_over))})")


def _named(python: str, environ: Mapping[str, str]) -> Patient:
    place = f"--python {python}"
    path = Path(os.path.expanduser(python))
    if os.path.isdir(path):
        patient = _of_directory(path, "--python")
        if patient is None:
            next_step = "name the environment's own directory or its interpreter"
            raise EnvdoctorError(place, found="a directory without a Python in it", expected=_EXPECTED, next_step=next_step)
        return patient
    if os.path.lexists(path):
        gone = not os.path.exists(path)
        # A link to an interpreter that is gone still says which environment is meant.
        if _runs(path) or (gone and venv_of(path) is not None):
            return _of_interpreter(path, "--python")
        found = "a link to what is not there" if gone else "a file that cannot be executed"
        raise EnvdoctorError(place, found=found, expected=_EXPECTED, next_step="name the interpreter, e.g. .venv/bin/python")
    on_path = next(_on_path(python, environ), None) if os.path.basename(python) == python else None
    if on_path is not None:
        return _of_interpreter(on_path, "--python")
    raise EnvdoctorError(place, found="nothing there", expected=_EXPECTED, next_step="check the path")


def _of_directory(directory: Path, why: str) -> Patient | None:
    """The environment in a directory; None where it is no environment, or has no Python."""
    interpreters = [directory / name for name in _INTERPRETERS]
    interpreter = next((path for path in interpreters if _runs(path)), None)
    if interpreter is None:
        # A virtual environment outlives its base Python, and its packages can still be read.
        if not is_file(directory / "pyvenv.cfg") and not any(map(os.path.lexists, interpreters)):
            return None
        if not is_environment(directory):
            return None
    return Patient(_label(directory), interpreter, directory, why)


def _of_interpreter(path: Path, why: str) -> Patient:
    prefix = venv_of(path)
    return Patient(_label(prefix or path), path if _runs(path) else None, prefix, why)


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    suffixes = ("", ".exe") if os.name == "nt" else ("",)
    for directory in environ.get("PATH", "").split(os.pathsep):
        for suffix in suffixes:
            path = Path(directory, name + suffix)
            # Windows puts an empty file of that name on the PATH, which opens the store.
            if directory and _runs(path) and path.stat().st_size:
                yield path


def _runs(path: Path) -> bool:
    # Not Path.is_file, which raises where a directory on the PATH may not be entered.
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_own(patient: Patient) -> bool:
    if patient.prefix is not None:
        return str(real_path(patient.prefix)) == str(real_path(sys.prefix))
    if patient.interpreter is None or sys.prefix != sys.base_prefix:
        return False
    return str(real_path(patient.interpreter)) == str(real_path(sys.executable))


def _own_stack() -> list[str]:
    """Which of torch and transformers envdoctor itself could import; neither is."""
    return [name for name in _OWN_STACK if any(os.path.isdir(os.path.join(entry, name)) for entry in sys.path if entry)]


def _label(path: Path) -> str:
    """The path as a person in this directory would write it."""
    whole, here = absolute(path), str(working_directory())
    return os.path.relpath(whole, here) if whole.startswith(here.rstrip(os.sep) + os.sep) else whole
