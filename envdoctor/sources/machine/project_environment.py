"""Where the environment of a project lies: uv's, pixi's and poetry's, found by their files; none of the programs is asked."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import absolute, is_dir, is_file, real_path
from envdoctor.files.toml import read_toml

# Files by which a directory is a project's root; above it nothing is looked for.
_ROOTS = ("pyproject.toml", "pixi.toml", "uv.lock", "poetry.lock", ".git")
_MOST_ABOVE = 16
_LONGEST_NAME = 42


def project_environments(here: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Directories that may be the project's environment, the likeliest first, each with why."""
    root = _root(here)
    named = environ.get("UV_PROJECT_ENVIRONMENT")
    if named:
        yield root / named, "$UV_PROJECT_ENVIRONMENT"
    for directory in dict.fromkeys((here, root)):
        yield directory / ".venv", "the project's .venv"
        yield directory / ".pixi" / "envs" / "default", "the project's pixi environment"
        yield directory / "venv", "the project's venv"
    for found in _poetry(root, environ):
        yield found, "the project's poetry environment"


def _root(here: Path) -> Path:
    """The directory here or above that has a project's settings; else this one."""
    for directory in (here, *here.parents)[:_MOST_ABOVE]:
        if any(is_file(directory / name) or is_dir(directory / name) for name in _ROOTS):
            return directory
    return here


def _poetry(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Poetry's environments outside the project, the newest first.

    Their names: https://github.com/python-poetry/poetry/blob/main/src/poetry/utils/env/env_manager.py (generate_env_name).
    """
    manifest = root / "pyproject.toml"
    if not is_file(manifest):
        return
    try:
        table = read_toml(manifest)
    except EnvdoctorError:
        return
    tool, project = table.get("tool"), table.get("project")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    if not isinstance(poetry, dict) and not is_file(root / "poetry.lock"):
        return
    import base64
    import hashlib

    names = [section.get("name") for section in (poetry, project) if isinstance(section, dict)]
    name = next((name for name in names if isinstance(name, str)), "")
    short = re.sub(r"[ $`!*@\"\\\r\n\t]", "_", name.lower())[:_LONGEST_NAME]
    place = os.path.normcase(str(real_path(absolute(root))))
    digest = base64.urlsafe_b64encode(hashlib.sha256(place.encode("utf-8", "surrogateescape")).digest()).decode()[:8]
    folder = _poetry_cache(environ) / "virtualenvs"
    try:
        there = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (folder / one for one in reversed(there) if one.startswith(f"{short}-{digest}-py"))


def _poetry_cache(environ: Mapping[str, str]) -> Path:
    """Poetry's cache directory: https://python-poetry.org/docs/configuration/#cache-directory."""
    if environ.get("POETRY_CACHE_DIR"):
        return Path(environ["POETRY_CACHE_DIR"])
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "pypoetry"
    if os.name == "nt":
        return Path(environ.get("LOCALAPPDATA", str(home / "AppData" / "Local"))) / "pypoetry" / "Cache"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "pypoetry"
