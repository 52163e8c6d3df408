"""Real environments with given pins, built by uv, to see a rule's harm in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from envdoctor.files.paths import exists
from envdoctor.records import dataclass
from envdoctor.uv.command import run_uv, uv_environ

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


class Venv:
    """A virtual environment in a directory of its own, made and filled by uv.

    ``environ`` is what uv reads (default: ours, with pip's names in uv's), ``seconds`` how long a call may take, ``program`` how uv is
    started where that is known.
    """

    def __init__(
        self, home: Path, *, environ: Mapping[str, str] | None = None, seconds: float = BUILD_SECONDS, program: Sequence[str] = ()
    ) -> None:
        self.home = home
        self.interpreter = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        self.environ = uv_environ(os.environ) if environ is None else environ
        self._seconds, self._program = seconds, program

    def make(self, python: str) -> None:
        """An empty one, in place of whatever was there; ``python`` is a version or an interpreter.

        Raises:
            NotBuiltError: uv cannot.
        """
        shutil.rmtree(self.home, ignore_errors=True)
        self._uv("venv", "--quiet", "--python", python, str(self.home))

    def install(self, *words: str) -> None:
        """Requirements, behind the options of ``uv pip install``.

        Raises:
            NotBuiltError: uv cannot.
        """
        self._uv("pip", "install", "--quiet", "--python", str(self.interpreter), *words)

    def unmet(self) -> list[str]:
        """The declared requirements that are not met, as uv tells them."""
        told = self._run("pip", "check", "--python", str(self.interpreter)).stderr
        return [line.strip() for line in told.splitlines() if line.startswith("The package")]

    def freeze(self) -> dict[str, str]:
        """All that is installed, by normalised name."""
        listed = json.loads(self._uv("pip", "list", "--format", "json", "--python", str(self.interpreter)))
        return {one["name"]: one["version"] for one in listed}

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return run_uv(words, environ=self.environ, seconds=self._seconds, place="rules reproduce", program=self._program)
        except subprocess.TimeoutExpired as error:
            raise NotBuiltError(f"uv {words[0]} took more than {self._seconds:g} s") from error

    def _uv(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode:
            said = " ".join(re.sub(r"^\W+", "", line) for line in done.stderr.splitlines() if line.strip())
            raise NotBuiltError(f"uv {words[0]}: {said or f'exit status {done.returncode}'}")
        return done.stdout


class UvBuilder:
    """Builds with uv below a directory; pins that were built there before are used again.

    uv shares files between environments, so that a second one with the same torch costs seconds and little disk. ``options`` are words
    for every ``uv pip install``.
    """

    def __init__(self, directory: Path, options: Sequence[str] = ()) -> None:
        self.directory = directory
        self.options = tuple(options)

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
        how = (*(["forced"] if forced else []), *(f"bare {name}" for name in sorted(bare)))
        key = hashlib.sha256("\n".join((python, *sorted(pins), *how, *self.options)).encode()).hexdigest()[:16]
        venv = Venv(self.directory / key)
        # Written last: a build that was interrupted is begun anew.
        finished = venv.home / "finished"
        if not exists(finished):
            venv.make(python)
            alone = [pin for pin in pins if _name(pin) in {_name(one) for one in bare}]
            rest = [pin for pin in pins if pin not in alone]
            if rest and forced:
                overrides = venv.home / "overrides.txt"
                overrides.write_text("".join(f"{pin}\n" for pin in rest), encoding="utf-8")
                venv.install(*self.options, "--override", str(overrides), *rest)
            elif rest:
                venv.install(*self.options, *rest)
            if alone:
                venv.install(*self.options, "--no-deps", *alone)
            finished.touch()
        return describe(venv.interpreter)


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
