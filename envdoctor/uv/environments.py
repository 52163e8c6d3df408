"""Real environments with given pins, built by uv, to see a rule's harm in."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import exists
from envdoctor.records import dataclass

BUILD_SECONDS = 1800.0
_ASK = (
    "import json, platform, importlib.metadata as m;"
    "print(json.dumps([platform.python_version(), sorted([d.metadata['Name'] or '', d.version] for d in m.distributions())]))"
)


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that was built: its interpreter, and the versions in it by normalised name."""

    interpreter: Path
    python: str
    installed: Mapping[str, str]


class NotBuiltError(Exception):
    """An environment that could not be made; the message says why."""


class Builder(Protocol):
    """Makes an environment with a Python (``3.11``) and pins (PEP 508).

    ``forced``: the pins hold against what packages declare, as where somebody installed one after the other. ``bare`` are packages
    that are installed without what they require.

    Raises:
        NotBuiltError: it cannot be made here.
    """

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment: ...


class UvBuilder:
    """Builds with uv below a directory; pins that were built there before are used again.

    uv shares files between environments, so that a second one with the same torch costs seconds and little disk.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
        how = (*(["forced"] if forced else []), *(f"bare {name}" for name in sorted(bare)))
        key = hashlib.sha256("\n".join((python, *sorted(pins), *how)).encode()).hexdigest()[:16]
        home = self.directory / key
        interpreter = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        # Written last: a build that was interrupted is begun anew.
        finished = home / "finished"
        if not exists(finished):
            shutil.rmtree(home, ignore_errors=True)
            _uv("venv", "--quiet", "--python", python, str(home))
            alone = [pin for pin in pins if _name(pin) in {_name(one) for one in bare}]
            rest = [pin for pin in pins if pin not in alone]
            install = ("pip", "install", "--quiet", "--python", str(interpreter))
            if rest and forced:
                overrides = home / "overrides.txt"
                overrides.write_text("".join(f"{pin}\n" for pin in rest), encoding="utf-8")
                _uv(*install, "--override", str(overrides), *rest)
            elif rest:
                _uv(*install, *rest)
            if alone:
                _uv(*install, "--no-deps", *alone)
            finished.touch()
        return describe(interpreter)


def _name(requirement: str) -> str:
    """The normalised name that a requirement begins with."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]).lower()


def describe(interpreter: Path) -> Environment:
    """What an interpreter says of itself and of its packages.

    Raises:
        NotBuiltError: it does not answer.
    """
    try:
        done = subprocess.run([str(interpreter), "-I", "-c", _ASK], capture_output=True, text=True, check=False, timeout=60)
        python, distributions = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise NotBuiltError(f"the interpreter does not answer: {error}") from error
    from packaging.utils import canonicalize_name

    return Environment(interpreter, python, {canonicalize_name(name): version for name, version in distributions})


def uv_command(place: str = "rules reproduce") -> list[str]:
    """How uv is started here; ``place`` is what asks for it.

    Raises:
        EnvdoctorError: it is not installed.
    """
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    program = shutil.which("uv")
    if program is None:
        raise EnvdoctorError(place, found="no uv", expected="uv, which resolves and builds", next_step="pip install uv")
    return [program]


def _uv(*words: str) -> None:
    try:
        done = subprocess.run(
            [*uv_command(), *words], env=uv_environ(os.environ), capture_output=True, text=True, check=False, timeout=BUILD_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise NotBuiltError(f"uv {words[0]} took more than {BUILD_SECONDS:g} s") from error
    if done.returncode:
        said = " ".join(re.sub(r"^\W+", "", line) for line in done.stderr.splitlines() if line.strip())
        raise NotBuiltError(f"uv {words[0]}: {said or f'exit status {done.returncode}'}")


def uv_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """uv has names of its own for what pip reads: where wheels are found besides the index, and the index itself."""
    told = {name: value for name, value in environ.items() if name != "VIRTUAL_ENV"}
    if "PIP_FIND_LINKS" in told:
        told.setdefault("UV_FIND_LINKS", ",".join(told["PIP_FIND_LINKS"].split()))
    if "PIP_INDEX_URL" in told:
        told.setdefault("UV_DEFAULT_INDEX", told["PIP_INDEX_URL"])
    return told
