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
from envdoctor.uv.environments import uv_command

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


class NotInstalledError(Exception):
    """uv could not install what was asked; the message is its own."""


class TooLongError(Exception):
    """The child did not end in time."""


class Stack:
    """One environment at one place below ``home``, made anew for each base.

    The place stays the same, so that what Python compiled of a file is found again by the next base that holds the same file. ``wheels``
    are directories of wheels that count in addition to the index.
    """

    def __init__(self, home: Path, interpreters: Mapping[str, Path], wheels: Sequence[Path] = ()) -> None:
        self.home, self.interpreters, self.wheels = home, interpreters, wheels
        self.environment = home / "environment"
        self.python = ""
        # The files of torch are shared with whatever else uv has installed here; a cache of all others would grow by gigabytes an hour.
        self.own_cache = home / "cache"
        self.shares_cache = False
        self.built = 0
        self.installed_at = 0.0

    def build(self, python: str, day: str, requirements: Sequence[str], constraints: Sequence[str], *, builds: bool, torch: bool) -> None:
        """An environment of what the index had on the day (YYYY-MM-DD, the whole of it).

        Raises:
            NotInstalledError: there is none.
        """
        self.python, self.shares_cache = python, torch
        shutil.rmtree(self.environment, ignore_errors=True)
        self._uv("venv", "--quiet", "--python", str(self.interpreters[python]), str(self.environment))
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
            NotInstalledError: there is none.
        """
        pins = [pin.split("+")[0] for pin in freeze]
        self.python, self.shares_cache = python, any(pin.startswith("torch==") for pin in pins)
        shutil.rmtree(self.environment, ignore_errors=True)
        self._uv("venv", "--quiet", "--python", str(self.interpreters[python]), str(self.environment))
        self._install("--no-deps", *self._found(pins), *pins)

    def move(self, *pins: str) -> None:
        """These packages at these releases, nothing else.

        Raises:
            NotInstalledError: one has no wheel for this Python.
        """
        self._install("--no-deps", "--no-build", *self._found(pins), *pins)
        self._forget({canonical(pin.split("==")[0]) for pin in pins})

    def freeze(self) -> dict[str, str]:
        """All that is installed, by normalised name."""
        listed: list[dict[str, str]] = json.loads(self._uv("pip", "list", "--format", "json", "--python", str(self._interpreter)))
        return {one["name"]: one["version"] for one in listed}

    def unmet(self) -> list[str]:
        """The declared requirements that are not met, as uv tells them."""
        done = subprocess.run(
            [*UV, "pip", "check", "--python", str(self._interpreter)], capture_output=True, text=True, check=False, timeout=60
        )
        return [line.strip() for line in done.stderr.splitlines() if line.startswith("The package")]

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
                [str(self._interpreter), "-W", "ignore", str(CHILD), str(answer)],
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

    @property
    def _interpreter(self) -> Path:
        return self.environment / "bin" / "python"

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
            self._uv("pip", "install", "--quiet", "--python", str(self._interpreter), *words)
        finally:
            self.installed_at = time.time()

    def _forget(self, names: Collection[str]) -> None:
        """What was compiled of these packages before: their files may be of other releases now."""
        place = next((self.environment / "lib").glob("python*/site-packages"))
        compiled = self._compiled / place.relative_to(place.anchor)
        for record in place.glob("*.dist-info/RECORD"):
            if canonical(record.parent.name.rsplit("-", 1)[0]) not in names:
                continue
            for top in {line.split(",")[0].split("/")[0] for line in record.read_text("utf-8").splitlines()}:
                shutil.rmtree(compiled / top, ignore_errors=True)
                for file in compiled.glob(f"{top.removesuffix('.py')}.*.pyc"):
                    file.unlink()

    def _uv(self, *words: str) -> str:
        told = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_")) and name != "VIRTUAL_ENV"}
        if not self.shares_cache:
            told["UV_CACHE_DIR"] = str(self.own_cache)
        try:
            done = subprocess.run([*UV, *words], env=told, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise NotInstalledError(f"more than {INSTALL_SECONDS:g} s") from error
        if done.returncode:
            raise NotInstalledError(" ".join(done.stderr.split())[-600:])
        return done.stdout

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
