"""A target is told apart by what it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.targets import read_target


def test_each_kind(tmp_path: Path, fixtures: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    assert read_target(str(tmp_path / "requirements.txt")).kind == "requirements"
    assert read_target(str(fixtures / "chatglm3-6b")).kind == "model"
    assert read_target(str(fixtures / "plans" / "chatglm3-lora.json")).kind == "plan"


@pytest.mark.parametrize("name", ["notes.md", "weights.bin", "no-suffix"])
def test_a_file_of_no_known_kind_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text")
    with pytest.raises(EnvdoctorError, match="no known kind"):
        read_target(str(tmp_path / name))


def test_what_is_neither_file_nor_directory(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(EnvdoctorError, match="neither a file nor a directory"):
        read_target(str(tmp_path / "dangling"))


def test_a_hub_id_is_looked_up_in_the_local_cache_alone(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    absent = read_target("zai-org/chatglm3-6b")
    assert [(fact.name, fact.value) for fact in absent.collected.facts] == [("model.id", "zai-org/chatglm3-6b")]
    assert "the network was not asked" in absent.collected.skips[0].why
    snapshot = tmp_path / "models--zai-org--chatglm3-6b" / "snapshots" / ("a" * 40)
    shutil.copytree(fixtures / "chatglm3-6b", snapshot)
    refs = tmp_path / "models--zai-org--chatglm3-6b" / "refs"
    refs.mkdir()
    (refs / "main").write_text("a" * 40)
    there = {fact.name: fact.value for fact in read_target("zai-org/chatglm3-6b").collected.facts}
    assert there["model.type"] == "chatglm"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("pyproject.toml", "[project]\nname = 'x'\nversion = '1'\ndependencies = ['peft']\n", "requirements"),
        ("setup.cfg", "[options]\ninstall_requires = peft\n", "requirements"),
        ("setup.py", "from setuptools import setup\nsetup(install_requires=['peft'])\n", "requirements"),
        ("Pipfile", "[packages]\npeft = '*'\n", "requirements"),
        ("environment.yml", "dependencies:\n  - numpy\n", "requirements"),
        ("Pipfile.lock", '{"default": {"peft": {"version": "==0.13.2"}}}', "lock"),
        ("uv.lock", "version = 1\n", "lock"),
        ("train.py.lock", "version = 1\n", "lock"),
        ("poetry.lock", "[metadata]\nlock-version = '2.1'\n", "lock"),
        ("pdm.lock", "[metadata]\nlock_version = '4.5.0'\n", "lock"),
        ("pdm.py310.lock", "[metadata]\nlock_version = '4.5.0'\n", "lock"),
        ("pylock.toml", "lock-version = '1.0'\ncreated-by = 'x'\npackages = []\n", "lock"),
        ("pylock.gpu.toml", "lock-version = '1.0'\ncreated-by = 'x'\npackages = []\n", "lock"),
        ("Dockerfile", "FROM python:3.11\n", "image"),
        ("train.Dockerfile", "FROM python:3.11\n", "image"),
        ("train.py", "import torch\n", "script"),
        ("train.ipynb", '{"cells": [], "nbformat": 4}', "script"),
        ("train.sh", "python train.py\n", "script"),
        ("launch", "#!/usr/bin/env bash\npython train.py\n", "script"),
        ("launch", "#!/usr/bin/env python3\nimport torch\n", "script"),
        ("plan.yaml", "output_dir: out\nper_device_train_batch_size: 2\n", "plan"),
        ("config.json", "{}", "plan"),
    ],
)
def test_every_kind_of_file_is_told_by_its_name_or_its_first_line(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_target(str(tmp_path / name)).kind == kind
