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
