"""The environment of the project at hand is examined where nobody names or activates another."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import venv
from pathlib import Path

import pytest

from envdoctor.sources.machine.patient import find_patient


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "My_Project"\nversion = "1"\n')
    monkeypatch.chdir(root / "src" / "deep")
    return root


def make(directory: Path) -> Path:
    venv.create(directory, with_pip=False, symlinks=True)
    return directory


@pytest.mark.parametrize("place", [".venv", "venv", ".pixi/envs/default", "src/deep/.venv"])
def test_the_projects_own_environment_comes_before_any_python_on_the_path(project: Path, place: str) -> None:
    made = make(project / place)
    found = find_patient(None, {"PATH": str(Path(sys.executable).parent)})
    assert found.prefix is not None
    assert os.path.samefile(found.prefix, made)


def test_an_active_environment_comes_before_the_projects_own(project: Path, tmp_path: Path) -> None:
    make(project / ".venv")
    active = make(tmp_path / "active")
    assert find_patient(None, {"VIRTUAL_ENV": str(active)}).prefix == active


def test_uvs_environment_elsewhere_is_found_by_its_variable(project: Path, tmp_path: Path) -> None:
    make(project / ".venv")
    named = make(tmp_path / "named")
    assert find_patient(None, {"UV_PROJECT_ENVIRONMENT": str(named)}).prefix == named


def test_poetrys_environment_is_found_by_the_name_that_poetry_gives_it(project: Path, tmp_path: Path) -> None:
    (project / "poetry.lock").write_text("")
    digest = base64.urlsafe_b64encode(hashlib.sha256(os.path.realpath(project).encode()).digest()).decode()[:8]
    made = make(tmp_path / "cache" / "virtualenvs" / f"my_project-{digest}-py3.11")
    make(tmp_path / "cache" / "virtualenvs" / "my_project-AAAAAAAA-py3.12")
    assert find_patient(None, {"POETRY_CACHE_DIR": str(tmp_path / "cache")}).prefix == made


def test_above_the_projects_root_nothing_is_looked_for(project: Path) -> None:
    make(project.parent / ".venv")
    found = find_patient(None, {"PATH": str(Path(sys.base_prefix) / "bin")})
    assert "on the PATH" in found.why
