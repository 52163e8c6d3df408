"""The environment of executed stacks: built as of a day, one package moved, imports tried in a child."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from envdoctor.facts.names import canonical
from envdoctor.uv.command import uv_command
from envdoctor.uv.environments import Venv

# Long, for a machine that has other things to do: a slow import is no hanging one.
INSTALL_SECONDS = 1200.0
IMPORT_SECONDS = 900.0
# Environments without torch, of a hundred MB or two each.
MOST_CACHED = 12
CHILD = Path(__file__).resolve().parent / "stack_child.py"


def _program() -> list[str]:
    """uv itself where it lies beside this interpreter: a start of Python less for each of thousands of calls."""
    beside = Path(sys.executable).with_name("uv")
    return [str(beside)] if beside.exists() else uv_command("executed stacks")


UV = _program()


class TooLongError(Exception):
    """The child did not end in time."""


class Stack:
    """One environment at one place below ``home``, made anew for each base.

    The place stays the same, so that what Python compiled of a file is found again by the next base that holds the same file. ``wheels``
    are directories of wheels that count in addition to the index.
    """

    def __init__(self, home: Path, interpreters: Mapping[str, Path], wheels: Sequence[Path] = ()) -> None:
        self.home, self.interpreters, self.wheels = home, interpreters, wheels
        self.python = ""
        # The files of torch are shared with whatever else uv has installed here; a cache of all others would grow by gigabytes an hour.
        self.own_cache = home / "cache"
        self.venv = self._venv(shares_cache=False)
        self.built = 0
        self.installed_at = 0.0

    def build(self, python: str, day: str, requirements: Sequence[str], constraints: Sequence[str], *, builds: bool, torch: bool) -> None:
        """An environment of what the index had on the day (YYYY-MM-DD, the whole of it).

        Raises:
            NotBuiltError: there is none.
        """
        self._make(python, shares_cache=torch)
        self.built += not torch
        if self.built > MOST_CACHED:
            shutil.rmtree(self.own_cache, ignore_errors=True)
            self.built = 0
        limits = self.home / "constraints.txt"
        limits.write_text("".join(f"{line}\n" for line in constraints), "utf-8")
        until = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
        words = ["--exclude-newer", f"{until}T00:00:00Z", "--constraint", str(limits), *([] if builds else ["--no-build"])]
        self._install(*words, *self._found(constraints), *requirements)

    def rebuild(self, python: str, freeze: Sequence[str]) -> None:
        """An environment of exactly these releases.

        Raises:
            NotBuiltError: there is none.
        """
        pins = [pin.split("+")[0] for pin in freeze]
        self._make(python, shares_cache=any(pin.startswith("torch==") for pin in pins))
        self._install("--no-deps", *self._found(pins), *pins)

    def move(self, *pins: str) -> None:
        """These packages at these releases, nothing else.

        Raises:
            NotBuiltError: one has no wheel for this Python.
        """
        self._install("--no-deps", "--no-build", *self._found(pins), *pins)
        self._forget({canonical(pin.split("==")[0]) for pin in pins})

    def ask(self, question: Mapping[str, object]) -> dict[str, Any]:
        """What the child answers; where it died, the number of its signal (or its exit status) and its last words.

        Raises:
            TooLongError: it took too long.
        """
        answer, nowhere = self.home / "answer.json", self.home / "nowhere"
        answer.unlink(missing_ok=True)
        nowhere.mkdir(exist_ok=True)
        try:
            done = subprocess.run(
                [str(self.venv.interpreter), "-W", "ignore", str(CHILD), str(answer)],
                input=json.dumps(question), cwd=nowhere, env=self._environ(), capture_output=True, text=True, errors="replace", check=False,
                timeout=IMPORT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise TooLongError(f"no answer after {IMPORT_SECONDS:g} s") from error
        if answer.exists():
            told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
            return told
        last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
        return {"exception": "", "signal": -done.returncode, "message": " | ".join(last)[:600], "frames": []}

    @property
    def _compiled(self) -> Path:
        return self.home / "compiled" / self.python

    def _found(self, pins: Sequence[str]) -> list[str]:
        """Directories of wheels count only for what they are meant for: a release that is pinned and lies there for this Python."""
        tag = f"cp{self.python.replace('.', '')}"
        words: list[str] = []
        for place in self.wheels:
            for name, version in (pin.split("==") for pin in pins if "==" in pin):
                if any(place.glob(f"{name}-{version}[+-]*{tag}-*.whl")):
                    words += ["--find-links", str(place)]
        return words

    def _install(self, *words: str) -> None:
        # Python takes a file of the same size and second for the one that it compiled; those of two releases often have the same size.
        while int(time.time()) <= int(self.installed_at):
            time.sleep(0.05)
        try:
            self.venv.install(*words)
        finally:
            self.installed_at = time.time()

    def _forget(self, names: Collection[str]) -> None:
        """What was compiled of these packages before: their files may be of other releases now."""
        place = next((self.venv.home / "lib").glob("python*/site-packages"))
        compiled = self._compiled / place.relative_to(place.anchor)
        for record in place.glob("*.dist-info/RECORD"):
            if canonical(record.parent.name.rsplit("-", 1)[0]) not in names:
                continue
            for top in {line.split(",")[0].split("/")[0] for line in record.read_text("utf-8").splitlines()}:
                shutil.rmtree(compiled / top, ignore_errors=True)
                for file in compiled.glob(f"{top.removesuffix('.py')}.*.pyc"):
                    file.unlink()

    def _make(self, python: str, *, shares_cache: bool) -> None:
        self.python, self.venv = python, self._venv(shares_cache=shares_cache)
        self.venv.make(str(self.interpreters[python]))

    def _venv(self, *, shares_cache: bool) -> Venv:
        told = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_")) and name != "VIRTUAL_ENV"}
        if not shares_cache:
            told["UV_CACHE_DIR"] = str(self.own_cache)
        return Venv(self.home / "environment", environ=told, seconds=INSTALL_SECONDS, program=UV)

    def _environ(self) -> dict[str, str]:
        kept = ("PATH", "LANG", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
        told = {name: os.environ[name] for name in kept if name in os.environ}
        owner = self.home / "owner"
        owner.mkdir(exist_ok=True)
        return told | {
            "HOME": str(owner),
            "PYTHONPYCACHEPREFIX": str(self._compiled),
            "PYTHONIOENCODING": "utf-8",
            "CUDA_VISIBLE_DEVICES": "",
            "NO_ALBUMENTATIONS_UPDATE": "1",
        }
