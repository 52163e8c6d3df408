"""How uv is started: the one place that does, for a question in an empty directory and for whatever builds environments."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError

if TYPE_CHECKING:
    import subprocess

ANSWER_SECONDS = 300.0


def uv_command(place: str) -> list[str]:
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


def run_uv(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    seconds: float,
    place: str = "",
    text: str = "",
    directory: str | None = None,
    program: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run uv; ``text`` is its input, ``program`` how it is started where that is known better than by ``uv_command``.

    Raises:
        EnvdoctorError: no uv; ``place`` is that of the error.
        TimeoutExpired: it did not end within the seconds.
    """
    import subprocess

    return subprocess.run(
        [*(program or uv_command(place)), *words],
        input=text,
        env=dict(environ),
        cwd=directory,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=seconds,
    )


def ask_uv(
    words: Sequence[str],
    text: str,
    environ: Mapping[str, str],
    *,
    files: Mapping[str, Sequence[str]] | None = None,
    place: str,
    next_step: str,
) -> subprocess.CompletedProcess[str]:
    """Run uv in an empty directory; ``text`` is its input, ``files`` the lines of files by the option that names them.

    Raises:
        EnvdoctorError: no uv, or no answer in time; ``place`` and ``next_step`` are those of the error.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="envdoctor-uv-") as directory:
        # uv looks for a project in every directory above, and the one for temporary files is everybody's: it ends at this one.
        _write(directory, "pyproject.toml", ("[tool.uv]",))
        given: list[str] = []
        for option, lines in (files or {}).items():
            if lines:
                given += [option, _write(directory, f"{option[2:]}.txt", lines)]
        try:
            # A project in the working directory has settings of its own for uv; the user's still count.
            return run_uv([*words, *given], environ=environ, seconds=ANSWER_SECONDS, place=place, text=text, directory=directory)
        except subprocess.TimeoutExpired as error:
            found = f"no answer from uv within {ANSWER_SECONDS:g} s"
            raise EnvdoctorError(place, found=found, expected="an answer of the index", next_step=next_step) from error


def _write(directory: str, name: str, lines: Sequence[str]) -> str:
    path = os.path.join(directory, name)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def uv_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """uv has names of its own for what pip reads: where wheels are found besides the index, and the index itself."""
    told = {name: value for name, value in environ.items() if name != "VIRTUAL_ENV"}
    if "PIP_FIND_LINKS" in told:
        told.setdefault("UV_FIND_LINKS", ",".join(told["PIP_FIND_LINKS"].split()))
    if "PIP_INDEX_URL" in told:
        told.setdefault("UV_DEFAULT_INDEX", told["PIP_INDEX_URL"])
    return told


def without_downloads(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv where nothing is built: no Python is needed but for its number, and uv would download it."""
    return uv_environ(environ) | {"UV_PYTHON_DOWNLOADS": "never"}
